"""A walk over the Experiment spec: every leaf takes every kind of value.

Two things must hold for each value. The spec gives a plan or an error for its author (``SpecError``, ``PlanError``) and
nothing else. And an index that held a plan keeps it through the bad spec, and has the same plan after the good one is
back (except generation and resourceVersion).
"""

import copy
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from muster.api.manifest.experiment import parse_experiment
from muster.api.manifest.problems import SpecError
from muster.daemon.experiments.index import ExperimentIndex
from muster.kinds.declaration import PlanError
from muster.kinds.experiments import plan_of
from muster.state.vocabulary.plan import Plan
from muster.watchers.experiments import DECODER
from tests.fuzz.mutation import places
from tests.fuzz.samples import SPECS, VICTIM, experiment
from tests.fuzz.values import deep
from tests.fuzz.world import check_words, line_of

ANYTHING: tuple[Any, ...] = (None, True, 0, -1, 1.5, "", "x", [], {}, [None], {"x": 1}, deep(200, mapping=True))
NUMBERS: tuple[Any, ...] = (1, 2, 1_000, 100_000, 100_001, 2**31, 2**63, 10**30, 0.5, 1e-9, 1e308, -(2**63))
TEXTS: tuple[Any, ...] = (
    "0", "é", "🔥" * 300, "a" * 63, "a" * 64, "a" * 254, "a" * 70_000, "\x00", "a\nb", "\ud800", "..", "/", "/etc/../x",
    "-1s", "0s", "1s", "999999w", "1h1h", "Restart", "Alert", "Fail", "gpu", "0x0", "9999x9999x9999", "1x1", "A_B",
    "-a",
)  # fmt: skip


def values_for(leaf: Any) -> Iterator[Any]:
    """Bounds, empty values, Unicode, wrong types, and well-formed nonsense."""
    yield from ANYTHING
    if isinstance(leaf, bool):
        yield not leaf
    elif isinstance(leaf, int | float):
        yield from NUMBERS
    elif isinstance(leaf, str):
        yield from TEXTS
        yield leaf.upper()
        yield leaf * 100
        yield f" {leaf}"
        yield f"{leaf}\n"
    elif isinstance(leaf, list):
        yield leaf * 2
        yield leaf * 1_000
    else:
        yield {f"k{n}": value for n in range(100) for value in leaf.values()}
        yield {**leaf, "unknown": 1}
        yield {key.upper(): value for key, value in leaf.items()}


def walk(every: int = 1) -> tuple[int, list[str]]:
    """Try all values, or every ``every``-th; returns their number and what went wrong."""
    count, stops, wrong = 0, 0, list[str]()
    for spec in SPECS:
        index = ExperimentIndex(wanted=lambda _: None, gone=lambda _: None)
        plan = _plan_after(index, spec, 1)
        if plan is None:
            wrong.append(
                f"walk: {spec['operator']}: the spec to start from gives no plan: {index.entries[VICTIM].problem}"
            )
            continue
        for number in range(len(places(spec))):
            for value in values_for(_leaf(spec, number)):
                count += 1
                if count % every:
                    continue
                stops += 1
                mutated = copy.deepcopy(spec)
                node, key = places(mutated)[number]
                node[key] = value
                if problem := _stop(index, spec, plan, mutated, 2 * stops):
                    wrong.append(f"walk: {spec['operator']}: {key!r} = {str(value)[:80]!r}: {problem}")
    return stops, wrong


def _leaf(spec: Any, number: int) -> Any:
    node, key = places(spec)[number]
    return node[key]


def _stop(index: ExperimentIndex, good: dict[str, Any], before: Plan, bad: dict[str, Any], version: int) -> str:
    try:
        plan_of(parse_experiment(experiment(VICTIM, "victim", bad, 2)))
    except (SpecError, PlanError) as error:
        check_words(str(error), 100_000)
    _plan_after(index, bad, version)
    after = _plan_after(index, good, version + 1)
    return "" if before == after else "the plan differs once the spec is good again"


def _plan_after(index: ExperimentIndex, spec: dict[str, Any], version: int) -> Plan | None:
    tree = experiment(VICTIM, "victim", spec, version)
    tree["metadata"]["generation"] = version
    event = DECODER.event(line_of("MODIFIED", tree))
    if event.obj is not None:  # the API server never sends bytes that are not JSON
        index.experiment_changed(None, event.obj)
    plan = index.entries[VICTIM].plan
    return plan and replace(plan, generation=0)
