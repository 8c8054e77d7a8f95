"""No object can hurt anybody but itself. The long run is ``make fuzz``."""

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
from tests.fuzz.world import NEIGHBOUR, Poisoned, World, line_of

OURS = ("muster", "state", "watchers", "reconcilers", "metrics", "daemon")


@pytest.mark.timeout(300)
def test_thousands_of_hostile_objects_do_no_harm() -> None:
    runner = Runner(seed=20_261_121)
    assert "\n".join(map(str, runner.run(range(4_000)))) == ""
    assert min(runner.played.values()) > 40


def test_a_case_can_be_played_again_alone() -> None:
    first, again = Runner(seed=3), Runner(seed=3)
    list(first.run(range(40)))
    list(again.run(range(39, 40)))
    assert sum(again.played.values()) == 1


def test_harm_to_the_neighbour_does_not_go_unseen() -> None:
    """The fuzzer's own alarm: whatever is changed of the neighbour is noticed."""
    world = World()
    entry = world.entry
    entry.view.change(next(iter(entry.view.of(0).members.values())), None)
    with pytest.raises(Poisoned, match="view has changed"):
        world.unharmed()
    world = World()
    world.entry.record = None
    with pytest.raises(Poisoned, match="record"):
        world.unharmed()
    world = World()
    del world.roster.entries[NEIGHBOUR]
    with pytest.raises(Poisoned, match="gone"):
        world.unharmed()


def test_every_cache_is_bounded() -> None:
    """A cache without a bound is one that hostile words can fill; what takes no argument holds one thing."""
    for room in OURS:
        for module in pkgutil.walk_packages(import_module(room).__path__, f"{room}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    caches = [held for held in gc.get_objects() if isinstance(held, functools._lru_cache_wrapper)]
    ours = [cache for cache in caches if cache.__module__.partition(".")[0] in OURS]
    endless = [cache for cache in ours if cache.cache_info().maxsize is None and signature(cache).parameters]
    assert ours
    assert [f"{cache.__module__}.{cache.__qualname__}" for cache in endless] == []


def test_long_words_of_many_pods_are_not_remembered() -> None:
    """Ten thousand pods whose every word has 20,000 characters: 1.6 GB, if somebody kept them."""
    tracemalloc.start()
    try:
        for number in range(10_000):
            word(f"{number} " + "x" * 20_000)
            small_number(f"{number}" * 5_000)
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert held < 12 * 2**20


def test_a_pod_with_endless_words_becomes_a_small_record() -> None:
    tree = troubled("uid-1", 2, 7)
    for status in (*tree["status"]["containerStatuses"], *tree["status"]["initContainerStatuses"]):
        status["name"] = "n" * 100_000
    tree["status"] |= {"reason": "r" * 100_000, "message": "m" * 100_000}
    tree["spec"]["nodeName"] = "N" * 100_000
    event = DECODER.event(line_of("ADDED", tree))
    assert event.obj is not None
    assert len(msgspec.json.encode(event.obj)) < 4_000
