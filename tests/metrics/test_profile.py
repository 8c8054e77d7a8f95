"""What of a run is exported: all while it is in trouble, little while it is well, and always what alerts read."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from muster.api.gang import RestartReason
from muster.api.goodput import Bucket, Goodput
from muster.metrics.catalogue import LEAN_RUNS, SERIES, SETTLED, WHOLE_RUNS
from muster.metrics.collector import Subject
from muster.metrics.rows.experiment import ROWS, STUCK_REASON
from muster.metrics.rows.row import Lean
from muster.state.view.progress import StepReport
from muster.state.view.roll import CoordinatorState, RankState
from muster.state.view.view import View
from muster.state.vocabulary.pod import PodSpec
from muster.state.vocabulary.record import Condition, ConditionType, Phase, Record, StoryLine
from muster.state.vocabulary.rules import ClockAction, ClockName
from tests.builders import NOW, Clock, answer, plan, pod, record, view, worker_group
from tests.metrics.test_collector import Scrape, scrape

MARKED = {row.name: row.lean for row in ROWS if row.lean is not Lean.NEVER}
CLOCKS = {ClockName.TOTAL: Clock(86_400, ClockAction.FAIL)}
GPUS = (worker_group(4, pod=PodSpec(limits={"nvidia.com/gpu": "8"})),)
BEGAN = NOW - SETTLED


def seen(*, ready: int = 4, **answered: Any) -> View:
    """Four pods of which some are ready, and a coordinator that serves; rank 0 reports steps."""
    found = view(*(pod(rank, ready=rank < ready) for rank in range(4)))
    for step in (1, 2):
        said = {"reports": (StepReport(0, step, step, float(step)),), **answered}
        found.observe_probe(answer(*[RankState.CONNECTED] * 4, **said), 0)
    return found


def going(**changed: Any) -> Record:
    sums = Goodput(BEGAN, Bucket.PRODUCTIVE, scheduling=1_000, startup=2_000, assembly=3_000)
    settled = record(phase=Phase.RUNNING, phase_at=BEGAN, started_at=BEGAN - 6, epoch_at=BEGAN - 6, goodput=sums)
    return replace(settled, **changed)


def run(now: Record, shown: View | None = None, name: str = "run") -> Subject:
    return Subject(plan(name=name, clocks=CLOCKS, groups=GPUS), now, shown or seen())


def of_run(found: Scrape, name: str = "run") -> Counter[str]:
    return Counter(metric for metric, labels in found if ("experiment", name) in labels)


def condition(reason: str, since: float = NOW, *, holds: bool = True) -> dict[str, Any]:
    said = StoryLine(since, 0, "Stuck", "x", warning=True, about=reason)
    return {"conditions": (Condition(ConditionType.STUCK, holds, reason, "x", 1, since),), "story": (said,)}


TROUBLES: Mapping[str, tuple[Record, View | None]] = {
    "stuck": (going(**condition("RanksMissing")), None),
    "hung": (going(**condition("Hung")), None),
    "stuck five minutes ago": (going(**condition("Hung", NOW - 300, holds=False)), None),
    "restarting": (going(phase=Phase.RESTARTING), None),
    "assembling": (going(phase=Phase.ASSEMBLING), None),
    "young": (going(phase_at=NOW - SETTLED + 1), None),
    "of the future, by a clock that was set": (going(phase_at=NOW + 9_000), None),
    "with a member that is not ready": (going(), seen(ready=3)),
    "with a rank that is missing": (going(), seen(states=(*[RankState.ARRIVED] * 3, RankState.MISSING))),
    "with a coordinator that refuses": (going(), seen(coordinator=CoordinatorState.REFUSED)),
}


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """One run is many."""
    monkeypatch.setattr("muster.metrics.collector.LEAN_RUNS", 0)


def test_a_run_that_is_well_has_about_25_series_and_no_zero_of_what_is_one_of_several() -> None:
    found = scrape([run(going())])
    assert 22 <= of_run(found).total() <= 31
    several = {row.name for row in ROWS if len(row.labels) > 2}
    assert all(value for (name, _), value in found.items() if name in several)
    assert of_run(found).keys() == of_run(scrape([run(going(phase_at=NOW))])).keys() - {
        "muster_experiment_ranks_missing_by_cause",
        "muster_experiment_restarts_total",
    }


def test_of_many_a_run_that_is_well_has_only_what_the_catalogue_marks(many: None) -> None:
    found = scrape([run(going())])
    assert 7 <= of_run(found).total() <= 12, "5,000 runs and 100 in trouble have 60,000"
    assert of_run(found).keys() <= MARKED.keys()
    for name, mark in MARKED.items():
        if mark < Lean.ALWAYS:
            assert all(value for (metric, _), value in found.items() if metric == name), name
    assert of_run(found)["muster_experiment_gang_restarts_total"] == 1, "a query must find the 0 before the first"


@pytest.mark.parametrize("trouble", TROUBLES.values(), ids=TROUBLES)
def test_a_run_that_is_no_longer_well_has_all_of_its_series_with_the_next_scrape(
    many: None, trouble: tuple[Record, View | None]
) -> None:
    here = [run(going(), name=f"well-{n}") for n in range(3)]
    before = of_run(scrape([*here, run(going())]))
    after = scrape([*here, run(*trouble)])
    assert of_run(after).total() > 60 > 12 >= before.total()
    assert of_run(after).keys() >= before.keys(), "no series ends because trouble begins"
    assert of_run(after) == of_run(scrape([run(*trouble)])), "as if it were alone"
    assert of_run(after, "well-1") == before


def test_every_row_that_is_marked_is_written_of_a_run_beyond_those_that_have_all(
    many: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So an alert finds what it reads, also where a rack dies under thousands."""
    monkeypatch.setattr("muster.metrics.collector.WHOLE_RUNS", 0)
    hung = going(**condition("Hung"), disruptions=1, gang_restarts=2, restart_reasons=(RestartReason("Error", 2),))
    assert hung.goodput is not None
    hung = replace(hung, goodput=replace(hung.goodput, taken_back=500))
    silent = seen(coordinator=CoordinatorState.REFUSED)
    lost = view(*(pod(rank) for rank in range(4)), heard=answer(*[RankState.ARRIVED] * 3, RankState.MISSING))
    found = of_run(scrape([run(hung, silent)])) | of_run(scrape([run(hung, lost)]))
    assert found.keys() == MARKED.keys()
    assert found.total() <= 30


def test_the_first_runs_in_trouble_have_all_of_their_series_the_stuck_before_the_others() -> None:
    young = [run(going(phase_at=NOW), name=f"young-{n}") for n in range(WHOLE_RUNS)]
    stuck = run(going(**condition("RanksMissing")), name="stuck")
    found = scrape([*young, stuck])
    whole = of_run(found, "stuck").total()
    assert whole > 60
    assert of_run(found, f"young-{WHOLE_RUNS - 2}").total() > 60
    assert of_run(found, f"young-{WHOLE_RUNS - 1}").total() < 35


def test_5_000_runs_of_which_each_is_in_trouble_are_all_reported_with_what_alerts_read() -> None:
    waiting = view(*(pod(rank) for rank in range(4)), heard=answer(*[RankState.ARRIVED] * 3, RankState.MISSING))
    now = going(phase=Phase.ASSEMBLING, assembling_at=NOW - 60, **condition("RanksMissing"))
    found = scrape([run(now, waiting, f"run-{n}") for n in range(LEAN_RUNS + 1)])
    whole, lean = (of_run(found, f"run-{n}").total() for n in (0, LEAN_RUNS))
    assert lean < whole / 3
    assert WHOLE_RUNS * whole + (5_000 - WHOLE_RUNS) * lean <= SERIES


@pytest.mark.parametrize("now", ["Unschedulable", "none"])
def test_a_run_in_trouble_beyond_those_that_have_all_has_zeros_of_what_kept_it_before(
    many: None, monkeypatch: pytest.MonkeyPatch, now: str
) -> None:
    """Else an alert of the reason before goes on: a series that ends is read for as long as a lost scrape."""
    monkeypatch.setattr("muster.metrics.collector.WHOLE_RUNS", 0)
    before = StoryLine(NOW - 60, 0, "Stuck", "x", warning=True, about="PodsMissing")
    lasting = Condition(ConditionType.STUCK, now != "none", now, "x", 1, NOW)
    found = scrape([run(going(conditions=(lasting,), story=(before,)))])
    reasons = {dict(each)["reason"]: value for (name, each), value in found.items() if name == STUCK_REASON.name}
    assert reasons == {"PodsMissing": 0, **({now: 1} if now != "none" else {})}


def test_a_run_in_trouble_beyond_those_that_have_all_says_that_it_does_not_assemble(
    many: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one that assembles again within the time of MusterAssemblyOverdue seems never to have left that phase."""
    monkeypatch.setattr("muster.metrics.collector.WHOLE_RUNS", 0)
    for each in (going(phase_at=NOW), going(**condition("Hung")), going(phase=Phase.SUSPENDED)):
        found = scrape([run(each)])
        (value,) = (
            value
            for (name, labels), value in found.items()
            if name == "muster_experiment_phase" and dict(labels)["phase"] == "Assembling"
        )
        assert value == 0
