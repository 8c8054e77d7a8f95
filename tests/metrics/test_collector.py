"""What a scrape says about experiments, and what hostile ones can do to it."""

from collections.abc import Iterable, Mapping
from dataclasses import replace as edit

import pytest
from msgspec.structs import replace
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from muster.api.causes import ContainerRestarts
from muster.api.gang import RestartReason, RollCall
from muster.api.goodput import BADPUT, Bucket, Goodput
from muster.metrics.catalogue import FRESH, MOST_FRESH, SERIES
from muster.metrics.collector import NAMESPACES_NOW, RESOURCES, ExperimentCollector, Known, Subject
from muster.metrics.exposition import OPENMETRICS, look, write
from muster.metrics.series import FEWEST, OF_FINISHED
from muster.state.facts.causes.table import CAUSES
from muster.state.policies.failures.restart_reasons import EXPORTED
from muster.state.summary.history import refuse
from muster.state.view.membership import Membership
from muster.state.view.progress import StepReport
from muster.state.view.recorder.arrivals import CollectiveReport, Share
from muster.state.view.roll import CoordinatorState, RankState
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import PodSpec
from muster.state.vocabulary.record import FINISHED, Condition, ConditionType, Phase, Record, StoryLine
from muster.state.vocabulary.rules import ClockAction, ClockName, ClockRule
from muster.tracking.entry import Entry
from muster.watchers.experiments import ExperimentRecord
from tests.builders import NOW, Clock, answer, plan, pod, record, view, worker_group

ARRIVED, MISSING = RankState.ARRIVED, RankState.MISSING
ONE = {"namespace": "team", "experiment": "run"}
Scrape = dict[tuple[str, frozenset[tuple[str, str]]], float]


def scrape(subjects: Iterable[Known], cap: int = SERIES) -> Scrape:
    """Everything an OpenMetrics scraper understands; a duplicate or a syntax error fails the test."""
    collector = ExperimentCollector(lambda: subjects, lambda: NOW, cap)
    body, _ = write(look(collector), OPENMETRICS)
    found: Scrape = {}
    for family in text_string_to_metric_families(body.decode()):
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in found
            found[key] = sample.value
    return found


def value(found: Scrape, name: str, labels: Mapping[str, str]) -> float | None:
    return found.get((name, frozenset(labels.items())))


def unplanned(name: str, seen: Record, *, unreadable: bool = False) -> Entry:
    """Return an experiment whose spec cannot be planned."""
    of = ExperimentRecord(name, "team", name, 1, 1, deleting=False, spec=b"{}", status=b"null")
    return Entry(of, Membership(), record=seen, unreadable=unreadable)


def names(found: Scrape, experiment: str = "run") -> set[str]:
    return {name.removeprefix("muster_experiment_") for name, labels in found if ("experiment", experiment) in labels}


@pytest.mark.parametrize("phase", [Phase.RUNNING, Phase.SUCCEEDED])
def test_the_info_has_the_labels_of_owners(phase: Phase) -> None:
    owners = (("label_cost_center", "a1"), ("label_team", "_other"))
    found = scrape([Subject(plan(), record(phase=phase), view(), owners=owners)])
    assert value(found, "muster_experiment_info", ONE | {"operator": "jax", "engine": "native"} | dict(owners)) == 1


def test_an_assembling_gang_shows_which_members_arrived() -> None:
    clocks = {ClockName.ASSEMBLY: Clock(60, ClockAction.FAIL), ClockName.TOTAL: Clock(600, ClockAction.FAIL)}
    stuck = Condition(ConditionType.STUCK, True, "RanksMissing", "3/4 ranks arrived", 1, NOW)
    now = record(
        phase=Phase.ASSEMBLING,
        epoch=2,
        started_at=NOW - 100,
        assembling_at=NOW - 70,
        conditions=(stuck,),
        restarts=2,
        disruptions=2,
        gang_restarts=3,
        in_place=ContainerRestarts(8, 3),
    )
    heard = answer(ARRIVED, ARRIVED, MISSING, ARRIVED)
    seen = view(pod(0, epoch=2), pod(1, epoch=2), pod(3, epoch=2), pod(2), heard=heard, epoch=2)
    found = scrape([Subject(plan(clocks=clocks), now, seen)])

    def gauge(name: str, **labels: str) -> float | None:
        return value(found, f"muster_experiment_{name}", ONE | labels)

    assert gauge("info", operator="jax", engine="native") == 1
    assert {phase: gauge("phase", phase=phase) for phase in Phase} == dict.fromkeys(Phase, 0) | {Phase.ASSEMBLING: 1}
    assert (gauge("ranks_expected"), gauge("ranks_arrived"), gauge("ranks_missing")) == (4, 3, 1)
    assert gauge("first_missing_rank") == 2
    assert gauge("members_ready") == 3  # the pod of an older epoch is none of this gang
    assert gauge("epoch") == 2
    assert gauge("coordinator_up") == 1
    assert gauge("coordinator_state", state="serving") == 1
    assert gauge("coordinator_state", state="refused") == 0
    assert gauge("coordinator_probe_latency_seconds") == 0.004
    assert gauge("ranks_missing_by_cause", cause="HeldBack") == 1  # by that pod
    assert sum(gauge("ranks_missing_by_cause", cause=cause.value) or 0 for cause in CAUSES) == 1
    assert gauge("stuck") == 1
    assert gauge("stuck_reason", reason="RanksMissing", audience="researcher") == 1
    assert gauge("stuck_since_timestamp_seconds") == NOW
    assert gauge("container_restarts_total") == 8
    assert gauge("gang_restarts_total") == 3, "one of the four losses ran a member again alone"
    assert gauge("disruptions_total") == 2
    assert gauge("clock_remaining_seconds", clock="total") == 500
    follows = {action: gauge("clock_action", clock="total", action=action) for action in ClockAction}
    assert follows == dict.fromkeys(ClockAction, 0) | {ClockAction.FAIL: 1}
    assert gauge("clock_limit_seconds", clock="total") == 600
    assert gauge("clock_remaining_seconds", clock="assembly") == -10  # passed, and seen to be
    assert gauge("clock_remaining_seconds", clock="terminating") is None
    assert gauge("clock_action", clock="terminating", action="Alert") is None
    assert value(found, "muster_experiments", {"operator": "jax", "phase": "Assembling"}) == 1
    assert value(found, "muster_experiments", {"operator": "jax", "phase": "Failed"}) == 0


def test_the_message_of_a_hang_is_a_label_that_no_chat_takes_for_a_mention() -> None:
    said = 'no progress: rank 1 is in <!channel> (a&b.py:4)\n"' + "x" * 300

    def messages(reason: str, *, holds: bool = True) -> list[str]:
        stuck = Condition(ConditionType.STUCK, holds, reason, said, 1, NOW)
        found = scrape([Subject(plan(), record(phase=Phase.RUNNING, conditions=(stuck,)), view())])
        return [dict(labels)["message"] for name, labels in found if name == "muster_experiment_hang_info"]

    (message,) = messages("Hung")
    assert message.startswith("no progress: rank 1 is in (!channel) (a+b.py:4) ")
    assert len(message) <= 253
    assert len(messages("CollectiveStuck")) == 1
    assert messages("RanksMissing") == messages("Hung", holds=False) == []


def test_no_label_of_a_series_changes_while_its_experiment_lasts() -> None:
    """An edit of what follows a clock, a restart, another phase, another answer of the coordinator, another reason."""

    def found(action: ClockAction, phase: Phase, reason: str, heard: RankState, epoch: int) -> Scrape:
        stuck = Condition(ConditionType.STUCK, True, reason, "", 1, NOW)
        story = (StoryLine(NOW, 0, "Stuck", "RanksMissing: 3/4 ranks arrived", warning=True, about="RanksMissing"),)
        now = record(phase=phase, epoch=epoch, conditions=(stuck,), story=story, started_at=NOW, gang_restarts=epoch)
        seen = view(pod(0, epoch=epoch), heard=answer(ARRIVED, ARRIVED, ARRIVED, heard), epoch=epoch)
        every = scrape([Subject(plan(clocks={ClockName.TOTAL: Clock(600, action)}), now, seen)])
        return {key: one for key, one in every.items() if ("experiment", "run") in key[1]}

    before = found(ClockAction.FAIL, Phase.ASSEMBLING, "RanksMissing", MISSING, 0)
    after = found(ClockAction.RESTART, Phase.RUNNING, "NodeNotReady", ARRIVED, 1)
    assert value(before, "muster_experiment_clock_action", ONE | {"clock": "total", "action": "Fail"}) == 1
    assert value(after, "muster_experiment_clock_action", ONE | {"clock": "total", "action": "Restart"}) == 1
    named = {name for name, _ in after}
    gone = {key for key in before.keys() - after.keys() if key[0] in named}
    assert gone == set(), "each goes on under the labels that it had"
    begun = {key[0] for key in after.keys() - before.keys()}
    assert begun == {"muster_experiment_stuck_reason"}, "a reason that is new has a series from then on"


def test_before_the_first_probe_no_member_has_arrived_and_the_coordinator_has_no_series() -> None:
    found = scrape([Subject(plan(), record(), view())])
    assert value(found, "muster_experiment_ranks_missing", ONE) == 4
    assert value(found, "muster_experiment_stuck", ONE) == 0
    absent = {"coordinator_up", "coordinator_state", "coordinator_probe_latency_seconds", "stuck_reason"}
    assert not (absent | {"stuck_since_timestamp_seconds"}) & names(found)


def test_queued_seconds_go_on_while_queued_and_are_absent_without_a_queue() -> None:
    name = "muster_experiment_queued_seconds_total"
    now = record(phase=Phase.QUEUED, goodput=Goodput(NOW - 30, Bucket.QUEUED, queued=60_000))
    assert value(scrape([Subject(plan(), now, view())]), name, ONE) == 90
    assert not any(key[0] == name for key in scrape([Subject(plan(), record(), view())]))


def test_wall_and_productive_seconds_go_on_between_writes_and_leave_a_clock_step_out() -> None:
    sums = Goodput(NOW - 30, Bucket.PRODUCTIVE, productive=10_000, recovery=50_000)
    now = record(phase=Phase.RUNNING, goodput=sums)
    found = scrape([Subject(plan(), now, view())])
    assert value(found, "muster_experiment_wall_seconds_total", ONE) == 90
    assert value(found, "muster_experiment_productive_seconds_total", ONE) == 40
    set_ahead = replace(
        now, goodput=replace(sums, counted_at=NOW - 30 - 3600)
    )  # as persisted, before the clock was set an hour ahead
    found = scrape([Subject(plan(), set_ahead, view(), step=3600.0)])
    assert value(found, "muster_experiment_wall_seconds_total", ONE) == 90


def test_the_parts_of_the_wall_time_add_up_in_each_scrape() -> None:
    sums = Goodput(NOW - 30, Bucket.PRODUCTIVE, 90_001, 20_000, *range(1, 12))
    found = scrape([Subject(plan(), record(phase=Phase.RUNNING, goodput=sums), view())])
    badput = "muster_experiment_badput_seconds_total"
    parts = [value(found, badput, {**ONE, "source": bucket.value}) for bucket in BADPUT]
    wall, productive, taken_back = (
        value(found, f"muster_experiment_{name}_seconds_total", ONE) for name in ("wall", "productive", "taken_back")
    )
    assert productive == 120.001
    assert round(1000 * (productive - taken_back + sum(map(float, parts)))) == round(1000 * wall)  # type: ignore[arg-type, operator]
    assert value(found, "muster_experiment_goodput_basis", {**ONE, "basis": "phase"}) == 1
    assert value(found, "muster_experiment_goodput_basis", {**ONE, "basis": "steps"}) == 0


def test_time_is_not_counted_beyond_a_status_write_whose_outcome_is_not_known() -> None:
    """It may count the time after it into another bucket: a counter that was ahead would fall."""
    now = record(phase=Phase.RUNNING, goodput=Goodput(NOW - 30, Bucket.PRODUCTIVE))
    found = scrape([Subject(plan(), now, view(), pending_at=NOW - 10)])
    assert value(found, "muster_experiment_productive_seconds_total", ONE) == 20
    assert value(found, "muster_experiment_wall_seconds_total", ONE) == 20


def test_a_reason_of_stuck_stays_at_0_when_another_one_holds_or_none() -> None:
    story = (
        StoryLine(NOW, 0, "Started", "starting 4 members"),
        StoryLine(NOW, 0, "Stuck", "ImagePullBackOff: no such image: latest", warning=True, about="ImagePullBackOff"),
        StoryLine(NOW, 0, "Stuck", "RanksMissing: 3/4 ranks arrived", warning=True, about="RanksMissing"),
    )

    def reasons(status: bool, reason: str) -> dict[str, float]:
        now = record(conditions=(Condition(ConditionType.STUCK, status, reason, "", 1, NOW),), story=story)
        found = scrape([Subject(plan(), now, view())])
        return {dict(key)["reason"]: one for (name, key), one in found.items() if name.endswith("_stuck_reason")}

    assert reasons(True, "RanksMissing") == {"ImagePullBackOff": 0, "RanksMissing": 1}
    assert reasons(True, "ImagePullBackOff") == {"ImagePullBackOff": 1, "RanksMissing": 0}
    assert reasons(False, "NotStuck") == {"ImagePullBackOff": 0, "RanksMissing": 0}


def restarts(now: Record) -> dict[str, float]:
    found = scrape([Subject(plan(), now, view())])
    return {
        dict(key)["reason"]: one for (name, key), one in found.items() if name == "muster_experiment_restarts_total"
    }


def test_restarts_begin_at_0_for_every_reason_and_their_labels_do_not_change() -> None:
    assert restarts(record()) == dict.fromkeys(EXPORTED, 0)
    now = record(
        restarts=2,
        disruptions=1,
        gang_restarts=3,
        restart_reasons=(RestartReason("Error", 2), RestartReason("NodeLost", 1)),
    )
    assert restarts(now) == dict.fromkeys(EXPORTED, 0) | {"Error": 2, "NodeLost": 1}


def test_restarts_for_a_hostile_reason_or_from_before_they_were_counted_by_reason_are_other() -> None:
    now = record(restarts=5, gang_restarts=5, restart_reasons=(RestartReason('x",y="\n', 1), RestartReason("Error", 1)))
    assert restarts(now) == dict.fromkeys(EXPORTED, 0) | {"Error": 1, "Other": 4}


def test_a_silent_coordinator_keeps_the_last_arrivals() -> None:
    seen = view(heard=answer(ARRIVED, ARRIVED, ARRIVED, MISSING))
    seen.observe_probe(answer(coordinator=CoordinatorState.TIMEOUT, expected=None), 0)
    found = scrape([Subject(plan(), record(phase=Phase.ASSEMBLING), seen)])
    assert value(found, "muster_experiment_ranks_arrived", ONE) == 3
    assert value(found, "muster_experiment_coordinator_state", ONE | {"state": "timeout"}) == 1


def test_an_answer_of_an_older_epoch_is_not_exported() -> None:
    seen = view(heard=answer(*[RankState.CONNECTED] * 4), epoch=0)
    found = scrape([Subject(plan(), record(epoch=1), seen)])
    assert value(found, "muster_experiment_ranks_arrived", ONE) == 0
    assert "coordinator_state" not in names(found)


def test_an_answer_for_rank_0_only_exports_no_arrival_counts() -> None:
    heard = answer(ARRIVED, partial="this version of jax reports rank 0 only", expected=None)
    found = scrape([Subject(plan(), record(phase=Phase.ASSEMBLING), view(heard=heard))])
    assert "ranks_expected" in names(found)
    assert not {"ranks_arrived", "ranks_missing"} & names(found)


def test_the_first_missing_rank_is_the_records_until_this_daemon_has_asked() -> None:
    said = record(phase=Phase.ASSEMBLING, roll=RollCall(expected=4, arrived=2, missing=(1, 3)))
    assert value(scrape([Subject(plan(), said, view())]), "muster_experiment_first_missing_rank", ONE) == 1
    complete = view(heard=answer(ARRIVED, ARRIVED, ARRIVED, ARRIVED))
    assert "first_missing_rank" not in names(scrape([Subject(plan(), said, complete)]))


def test_more_ranks_than_members_never_make_a_negative_count() -> None:
    found = scrape([Subject(plan(size=1), record(), view(heard=answer(ARRIVED, ARRIVED)))])
    assert value(found, "muster_experiment_ranks_arrived", ONE) == 1
    assert value(found, "muster_experiment_ranks_missing", ONE) == 0


def test_a_suspended_experiment_has_no_rank_series() -> None:
    suspended = names(scrape([Subject(plan(), record(phase=Phase.SUSPENDED), view())]))
    assert not {name for name in suspended if "rank" in name}


@pytest.mark.parametrize("phase", sorted(FINISHED))
def test_a_finished_experiment_costs_two_series_and_goes_on_under_labels_that_it_had(phase: Phase) -> None:
    def of_runs(found: Scrape) -> Scrape:
        return {key: one for key, one in found.items() if "experiment" in dict(key[1])}

    before = of_runs(scrape([Subject(plan(), record(), view())]))
    ended = [Subject(plan(name=f"run-{n}"), record(phase=phase), view()) for n in range(1_000)]
    after = of_runs(scrape([Subject(plan(), record(phase=phase), view()), *ended]))
    assert len(after) == 2 * 1_001
    left = {key: one for key, one in after.items() if ("experiment", "run") in key[1]}
    assert left.keys() <= before.keys(), "a query over both sees one series: no label begins with the end"
    assert {dict(labels).get("phase"): one for (name, labels), one in left.items()} == {None: 1, phase.value: 1}


def of_ended(found: Scrape) -> int:
    return sum(name == "muster_experiment_info" for name, _ in found)


def test_a_finished_experiment_has_its_series_for_an_hour_and_so_do_2_000_of_them() -> None:
    def ended(count: int, ago: float) -> list[Subject]:
        over = record(phase=Phase.SUCCEEDED, phase_at=NOW - ago)
        return [Subject(plan(name=f"done-{ago:.0f}-{n}"), over, view()) for n in range(count)]

    assert of_ended(scrape(ended(3, FRESH - 1))) == 3
    assert of_ended(scrape(ended(3, FRESH))) == 0
    assert of_ended(scrape(ended(MOST_FRESH + 5, 10))) == MOST_FRESH
    late = [unplanned(f"bad-{n}", record(phase=Phase.FAILED, phase_at=NOW - FRESH * n)) for n in range(3)]
    assert of_ended(scrape(late)) == 1


def test_a_cap_of_two_series_for_each_finished_experiment_leaves_none_out() -> None:
    ended = [Subject(plan(name=f"done-{n}"), record(phase=Phase.SUCCEEDED), view()) for n in range(1_000)]
    live = len([key for key in scrape([Subject(plan(), record(), view())]) if ("experiment", "run") in key[1]])
    subjects = [*ended, Subject(plan(), record(), view())]
    for cap, there in ((2 * 1_000 + live, 1_001), (2 * 1_000 + live - 2, 1_000)):
        found = scrape(subjects, cap)
        assert of_ended(found) == there
        assert value(found, "muster_experiments_unreported", {"reason": "cap"}) == 0, "no alert is missing"


def test_experiments_are_counted_in_their_namespace_whether_they_have_series_or_not() -> None:
    stuck = Condition(ConditionType.STUCK, True, "RanksMissing", "", 1, NOW)
    held_up = record(phase=Phase.RUNNING, conditions=(stuck,))
    runs = [Subject(plan(name=f"run-{n}", namespace="red"), held_up, view()) for n in range(3)]
    runs.append(Subject(plan(name="later", namespace="blue"), record(phase=Phase.QUEUED), view()))
    runs.append(Subject(plan(name="over", namespace="white"), record(phase=Phase.FAILED), view()))
    found = scrape(runs, cap=0)
    counted = {tuple(sorted(dict(of).values())): n for (name, of), n in found.items() if "namespace_exp" in name}
    assert counted == {("Running", "red"): 3, ("red",): 3, ("Queued", "blue"): 1, ("blue",): 0}


def test_the_series_of_a_deleted_experiment_are_gone_with_the_next_scrape() -> None:
    here = {"a": Subject(plan(name="a"), record(), view()), "b": Subject(plan(name="b"), record(), view())}
    subjects = here.values()
    assert names(scrape(subjects), "a")
    del here["a"]
    after = scrape(subjects)
    assert not names(after, "a")
    assert names(after, "b")
    assert value(after, "muster_experiments", {"operator": "jax", "phase": "Pending"}) == 1


@pytest.mark.parametrize("evil", ["\ud800", "a\0b", "\x1b[31m", 'a"b\\c\n# EOF\n', "x" * 100_000, "\u202etxt", ""])
def test_no_name_breaks_the_scrape(evil: str) -> None:
    stuck = Condition(ConditionType.STUCK, True, evil, "", 1, NOW)
    hostile = plan(namespace=evil, name=evil, operator=evil)
    found = scrape([Subject(hostile, record(conditions=(stuck,)), view()), Subject(plan(), record(), view())])
    assert value(found, "muster_experiment_epoch", ONE) == 0
    for _, labels in found:
        assert all(text.isprintable() and len(text) <= 253 for _, text in labels)


def test_names_that_print_alike_are_counted_and_not_doubled() -> None:
    twins = [Subject(plan(name=name), record(), view()) for name in ("a\0", "a\1")]
    found = scrape(twins)
    assert value(found, "muster_experiments_unreported", {"reason": "duplicate"}) == 1
    assert value(found, "muster_experiments", {"operator": "jax", "phase": "Pending"}) == 2


def test_an_experiment_that_cannot_be_read_is_left_out_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def poisoned(plan: Plan, record: Record) -> list[tuple[ClockRule, float]]:
        if plan.name == "bad":
            raise KeyError(plan.name)
        return []

    subjects = [Subject(plan(name=name), record(), view()) for name in ("bad", "run")]
    subjects.append(Subject(plan(name="huge"), record(epoch=10**400), view()))
    monkeypatch.setattr("muster.metrics.series.running", poisoned)
    collector = ExperimentCollector(lambda: subjects, lambda: NOW)
    body, _ = write(look(collector), "")
    assert b'muster_experiments_unreported{reason="unreadable"} 2.0' in body
    assert b'experiment="run"' in body
    assert b'experiment="bad"' not in body


@pytest.mark.parametrize(("phase", "fewest"), [(Phase.SUSPENDED, FEWEST), (Phase.FAILED, OF_FINISHED)])
def test_no_experiment_has_fewer_lines_than_a_scrape_reckons_with(phase: Phase, fewest: int) -> None:
    """Else a scrape would look at fewer experiments than fit into it."""
    found = scrape([Subject(plan(), record(phase=phase), view())])
    assert sum(("experiment", "run") in labels for _, labels in found) >= fewest


def test_the_cap_keeps_whole_experiments_and_the_unfinished_first() -> None:
    done = [Subject(plan(name=f"done-{n}"), record(phase=Phase.SUCCEEDED), view()) for n in range(5)]
    live = [Subject(plan(name=f"live-{n}"), record(), view()) for n in range(5)]
    each = sum(("experiment", "live-0") in labels for _, labels in scrape(live[:1]))
    found = scrape([*done, *live], cap=3 * each + each // 2)
    for n in range(3):
        assert sum(("experiment", f"live-{n}") in labels for _, labels in found) == each
    assert not names(found, "live-3")
    assert not names(found, "done-0")
    assert value(found, "muster_experiments_unreported", {"reason": "cap"}) == 2


@pytest.mark.parametrize("count", [20, 2_000])
def test_of_more_than_the_cap_those_that_are_stuck_are_reported(count: int) -> None:
    stuck = Condition(ConditionType.STUCK, True, "RanksMissing", "3/4 ranks arrived", 1, NOW)
    live = [Subject(plan(name=f"live-{n}"), record(), view()) for n in range(count)]
    late = [Subject(plan(name=f"late-{n}"), record(conditions=(stuck,)), view()) for n in range(3)]
    each = sum(("experiment", "late-0") in labels for _, labels in scrape(late[:1]))
    found = scrape([*live, *late], cap=4 * each + each // 2)
    assert all(names(found, f"late-{n}") for n in range(3))
    assert value(found, "muster_experiments_unreported", {"reason": "cap"}) == count - 1


@pytest.mark.slow
def test_100_000_hostile_experiments_stay_under_the_cap() -> None:
    base, now, seen = plan(), record(), view(heard=answer(*[ARRIVED] * 4))
    subjects = [
        Subject(edit(base, namespace=f"n\0{n}", name=f"\ud800{n}\x1b", operator=f"op-{n}\udfff"), now, seen)
        for n in range(100_000)
    ]
    found = scrape(subjects, cap=20_000)
    each = [key for key in found if any(name == "experiment" for name, _ in key[1])]
    assert 19_000 < len(each) <= 20_000
    assert len(found) - len(each) <= 33 * 8 + 3 + 2 * (NAMESPACES_NOW + 1)
    assert sum(count for (name, _), count in found.items() if name == "muster_experiments") == 100_000
    reported = len({labels for name, labels in each if name == "muster_experiment_epoch"})
    assert value(found, "muster_experiments_unreported", {"reason": "cap"}) == 100_000 - reported


def test_an_experiment_that_ended_as_invalid_spec_is_counted_and_has_its_info() -> None:
    over = refuse(1, "spec.operator: kuberay experiments are not run by this release", NOW)
    found = scrape([unplanned("ray", over)])
    assert value(found, "muster_experiments", {"operator": "_invalid", "phase": "Failed"}) == 1
    one = {"experiment": "ray", "namespace": "team"}
    assert value(found, "muster_experiment_info", one | {"engine": "native", "operator": "_invalid"}) == 1
    assert value(found, "muster_experiment_phase", one | {"phase": "Failed"}) == 1
    assert of_ended(scrape([unplanned("ray", over, unreadable=True)])) == 0


def reported(*steps: int, epoch: int = 0) -> Subject:
    seen = view()
    for nth, step in enumerate(steps):
        said = (StepReport(0, step, nth + 1, nth * 3.0, 3.0),)
        seen.observe_probe(answer(RankState.CONNECTED, at=NOW + 3.0 * nth, reports=said), epoch)
    return Subject(plan(), record(phase=Phase.RUNNING, epoch=epoch), seen)


def test_steps_that_a_program_reports_are_series_of_its_experiment() -> None:
    found = scrape([reported(10, 40, 70)])
    assert value(found, "muster_experiment_step", ONE) == 70
    assert value(found, "muster_experiment_steps_per_second", ONE) == 10
    assert value(found, "muster_experiment_straggler_ranks", ONE) == 0
    assert value(found, "muster_experiment_last_step_timestamp_seconds", ONE) == NOW + 6
    assert value(found, "muster_experiment_hung_after_seconds", ONE) == 60


def test_a_rank_that_comes_last_to_collectives_counts_without_reports_of_steps() -> None:
    seen = view()
    for nth in range(7):
        said = tuple(
            CollectiveReport(rank, rank, 1, nth, nth, 0.0, 0.0, None, (share_of(nth, 80 * nth * rank),))
            for rank in range(2)
        )
        seen.observe_probe(answer(RankState.CONNECTED, at=NOW + 60.0 * nth, collectives=said), 0)
    found = scrape([Subject(plan(), record(phase=Phase.RUNNING), seen)])
    assert value(found, "muster_experiment_straggler_ranks", ONE) == 1
    assert "step" not in names(found)


def share_of(nth: int, inside: int) -> Share:
    return Share("0", "default_pg", "gloo", 2, "0-1", 100 * nth, 120 * nth, inside, 0)


def test_steps_that_are_not_known_are_no_series() -> None:
    once, before = names(scrape([reported(10)])), reported(10, 40)
    assert "step" in once
    assert "steps_per_second" not in once, "a rate takes two reports"
    silent = names(scrape([Subject(plan(), record(phase=Phase.RUNNING), view())]))
    assert not {"step", "steps_per_second", "straggler_ranks", "last_step_timestamp_seconds"} & silent
    assert "step" not in names(scrape([edit(before, record=replace(before.record, epoch=1))])), "of the epoch before"


def test_accelerators_are_shown_of_each_run_and_in_all_with_those_of_stuck_runs() -> None:
    gpus = (worker_group(4, pod=PodSpec(limits={"nvidia.com/gpu": "8", "rdma/hca": "1"})),)
    stuck = Condition(ConditionType.STUCK, True, "RanksMissing", "", 1, NOW)
    held_up = Subject(plan(groups=gpus), record(phase=Phase.ASSEMBLING, conditions=(stuck,)), view(pod(0), pod(1)))
    well = Subject(plan(groups=gpus, name="well"), record(phase=Phase.RUNNING), view(pod(0)))
    found = scrape([held_up, well])
    assert value(found, "muster_experiment_accelerators", ONE | {"resource": "nvidia.com/gpu"}) == 16
    assert value(found, "muster_accelerators", {"resource": "nvidia.com/gpu", "state": "held"}) == 24
    assert value(found, "muster_accelerators", {"resource": "nvidia.com/gpu", "state": "stuck"}) == 16
    assert not any(("resource", "rdma/hca") in labels for _, labels in found)


def test_resource_names_without_end_are_counted_together() -> None:
    def runs() -> Iterable[Subject]:
        for n in range(100):
            groups = (worker_group(4, pod=PodSpec(limits={f"vendor-{n}.com/gpu": "1"})),)
            yield Subject(plan(groups=groups, name=f"run-{n}"), record(phase=Phase.RUNNING), view(pod(0)))

    found = scrape(runs())
    resources = {dict(labels)["resource"] for name, labels in found if name.endswith("accelerators")}
    assert len(resources) == RESOURCES + 1
    assert value(found, "muster_accelerators", {"resource": "_other", "state": "held"}) == 100 - RESOURCES
