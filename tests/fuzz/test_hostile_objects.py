"""A hostile object harms no other experiment. ``make fuzz`` is the long run."""

import functools
import gc
import pkgutil
import tracemalloc
from importlib import import_module
from inspect import signature

import msgspec
import pytest

from muster.api.values.printable import small_number, word
from muster.watchers.pods.decode import DECODER
from tests.fuzz.runner import Runner
from tests.fuzz.samples import troubled
from tests.fuzz.world import NEIGHBOUR, Harm, World, line_of

OURS = ("muster",)


@pytest.mark.slow
def test_thousands_of_hostile_objects_do_no_harm() -> None:
    runner = Runner(seed=20_261_121)
    assert "\n".join(map(str, runner.run(range(4_000)))) == ""
    assert min(runner.played.values()) > 40


def test_harm_to_the_neighbour_is_detected() -> None:
    """The fuzzer's own check: any change of the neighbour is a violation."""
    world = World()
    entry = world.entry
    entry.view.change(next(iter(entry.view.of(0).members.values())), None)
    with pytest.raises(Harm, match="view has changed"):
        world.check_neighbour()
    world = World()
    world.entry.record = None
    with pytest.raises(Harm, match="record"):
        world.check_neighbour()
    world = World()
    del world.index.entries[NEIGHBOUR]
    with pytest.raises(Harm, match="gone"):
        world.check_neighbour()


def test_every_cache_is_bounded() -> None:
    """Hostile text could fill an unbounded cache. A cache of a function without arguments holds one value."""
    for room in OURS:
        for module in pkgutil.walk_packages(import_module(room).__path__, f"{room}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    caches = [held for held in gc.get_objects() if isinstance(held, functools._lru_cache_wrapper)]  # noqa: SLF001 - the type has no public name
    ours = [cache for cache in caches if cache.__module__.partition(".")[0] in OURS]
    endless = [cache for cache in ours if cache.cache_info().maxsize is None and signature(cache).parameters]
    assert ours
    assert [f"{cache.__module__}.{cache.__qualname__}" for cache in endless] == []


def test_long_texts_of_many_pods_are_not_cached() -> None:
    """Ten thousand pods with texts of 20,000 characters: 1.6 GB, if they were kept."""
    tracemalloc.start()
    try:
        for number in range(10_000):
            word(f"{number} " + "x" * 20_000)
            small_number(f"{number}" * 5_000)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 12 * 2**20


def test_a_pod_with_long_texts_becomes_a_small_record() -> None:
    tree = troubled("uid-1", 2, 7)
    for status in (*tree["status"]["containerStatuses"], *tree["status"]["initContainerStatuses"]):
        status["name"] = "n" * 100_000
    tree["status"] |= {"reason": "r" * 100_000, "message": "m" * 100_000}
    tree["spec"]["nodeName"] = "N" * 100_000
    event = DECODER.event(line_of("ADDED", tree))
    assert event.obj is not None
    assert len(msgspec.json.encode(event.obj)) < 4_000
