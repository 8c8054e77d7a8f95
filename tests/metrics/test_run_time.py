"""Where the time of all runs went: what the counters have of runs that begin, change, end and are forgotten."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from muster.api.goodput import Bucket, Goodput, micros
from muster.api.values.owners import Owners
from muster.metrics.catalogue import LOST_CAUSES, OTHER, lost_to
from muster.metrics.run_time import NOTHING, SUMS, RunTime
from muster.state.facts.audience import CATALOGUE
from muster.state.policies import queueing
from muster.state.policies.failures.restart_reasons import REASONS
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.record import Cause, Condition, ConditionType, Phase, Record
from tests.builders import NOW, edited, plan, record

GPUS: Mapping[str, int] = {"nvidia.com/gpu": 8}


def having(
    bucket: Bucket | str = Bucket.PRODUCTIVE, at: float = NOW, phase: Phase = Phase.RUNNING, **ms: int
) -> Record:
    return record(phase=phase, goodput=replace(Goodput(counted_at=at, bucket=bucket), **ms))


def run(name: str = "run", namespace: str = "team") -> Plan:
    return edited(plan(), name=name, namespace=namespace, uid=f"uid-{name}")


def look(
    times: RunTime, mine: Plan, now: Record, passed: float, held: Mapping[str, int] = NOTHING, owners: Owners = ()
) -> None:
    """Walk over the one run, so many seconds later."""
    times.begin()
    times.count(mine, now, micros(NOW + passed), owners, held)
    times.end()


def seconds(times: RunTime, namespace: str = "team") -> dict[str, float]:
    found = (each for each in times.read() if each[0].name == "muster_namespace_seconds_total")
    return {labels["bucket"]: value for _, labels, value in found if labels["namespace"] == namespace and value}


def held(times: RunTime) -> dict[str, float]:
    found = (each for each in times.read() if each[0].name == "muster_namespace_accelerator_seconds_total")
    return {labels["bucket"]: value for _, labels, value in found if value}


def begun(bucket: Bucket = Bucket.PRODUCTIVE) -> tuple[RunTime, Plan]:
    times = RunTime()
    times.changed(run(), None, having(bucket))
    return times, run()


def test_a_second_of_a_run_counts_once_however_often_it_is_looked_at() -> None:
    times, mine = begun()
    for passed in (1, 1, 5, 10):
        look(times, mine, having(), passed)
    assert seconds(times) == {"productive": 10}


def test_a_change_of_the_bucket_counts_the_time_before_it_as_the_record_says() -> None:
    times, mine = begun()
    look(times, mine, having(), 10)
    stuck = having(Bucket.STUCK, NOW + 30, productive=30_000, taken_back=25_000, stuck=25_000)
    look(times, mine, stuck, 40)
    assert seconds(times) == {"productive": 30, "taken_back": 25, "stuck": 35}


def test_a_run_that_another_daemon_has_counted_counts_from_now_on() -> None:
    times = RunTime()
    look(times, run(), having(productive=900_000), 100)
    assert seconds(times) == {}
    look(times, run(), having(productive=900_000), 115)
    assert seconds(times) == {"productive": 15}


def test_a_run_that_begins_and_ends_between_two_looks_counts_whole_by_what_it_asks_for() -> None:
    times, mine = begun(Bucket.SCHEDULING)
    ended = having("", NOW + 9, Phase.SUCCEEDED, scheduling=2_000, assembly=1_000, productive=6_000)
    times.changed(mine, having(), ended, (), GPUS)
    assert seconds(times) == {"scheduling": 2, "assembly": 1, "productive": 6}
    assert held(times) == {"assembly": 8, "productive": 48}, "nothing was held before it had nodes"


def test_time_is_weighed_by_what_the_run_held_then() -> None:
    """A run of many accelerators that ended yesterday counts by what it held yesterday."""
    times, mine = begun()
    look(times, mine, having(), 10, GPUS)
    look(times, mine, having(), 20, {"nvidia.com/gpu": 2})
    look(times, mine, having(), 30)
    times.changed(mine, having(), having("", NOW + 40, Phase.SUCCEEDED, productive=40_000), (), GPUS)
    assert held(times) == {"productive": 80 + 80 + 20}
    assert seconds(times) == {"productive": 40}


def test_what_was_counted_too_early_is_not_counted_again() -> None:
    """A status that was decided before, and is persisted now, has put a second into another bucket."""
    times, mine = begun()
    look(times, mine, having(), 10)
    later = having(Bucket.PRODUCTIVE, NOW + 20, productive=15_000, stuck=5_000)
    look(times, mine, having(Bucket.STUCK, NOW + 9, productive=9_000), 10)
    look(times, mine, later, 20)
    assert seconds(times) == {"productive": 15, "stuck": 5}


def test_a_run_that_is_gone_is_forgotten_and_its_time_stays() -> None:
    times, mine = begun()
    look(times, mine, having(), 10)
    times.begin()
    times.end()
    look(times, mine, having(), 500)
    assert seconds(times) == {"productive": 10}, "another daemon led meanwhile"


def test_each_counter_of_a_namespace_begins_at_zero() -> None:
    """Prometheus does not count the value with which a series begins: an hour lost at once would be left out."""
    times = RunTime()
    look(times, run(), having(productive=900_000), 100)
    assert [value for row, _, value in times.read()] == [0] * len(SUMS)
    look(times, run(), having(productive=900_000), 100, GPUS)
    times.changed(run(), None, having())
    look(times, run(), having(), 100, {"google.com/tpu": 4})
    zeros = [labels for _, labels, value in times.read() if value == 0]
    assert {labels["cause"] for labels in zeros if "cause" in labels} == {*LOST_CAUSES}
    found = {(labels.get("resource"), labels["bucket"]) for labels in zeros if "bucket" in labels}
    assert found == {(name, bucket) for name in (None, "nvidia.com/gpu", "google.com/tpu") for bucket in SUMS}


def lost(times: RunTime) -> dict[str, float]:
    found = (each for each in times.read() if each[0].name == "muster_namespace_accelerator_lost_seconds_total")
    return {labels["cause"]: value for _, labels, value in found if value}


def stuck(reason: str, holds: bool = True) -> dict[str, tuple[Condition, ...]]:
    return {"conditions": (Condition(ConditionType.STUCK, holds, reason, "", 1, NOW),)}


def test_wasted_time_of_accelerators_is_counted_by_what_it_was_lost_to() -> None:
    """The hang began before it was known, and its end is seen after it."""
    times, mine = begun()
    look(times, mine, having(), 10, GPUS)
    hung = having(Bucket.STUCK, NOW + 60, productive=60_000, taken_back=40_000, stuck=40_000)
    look(times, mine, replace(hung, **stuck("Hung")), 70, GPUS)
    assert lost(times) == {"hang": 50 * 8}
    again = having(Bucket.RECOVERY, NOW + 90, productive=60_000, taken_back=45_000, stuck=70_000, lost=5_000)
    failed = Cause(0, "OOMKilled", "", NOW + 90)
    look(times, mine, replace(again, cause=failed, **stuck("NotStuck", holds=False)), 100, GPUS)
    assert lost(times) == {"hang": 70 * 8, "program": 15 * 8}
    wasted = {bucket: held(times)[bucket] for bucket in ("stuck", "recovery", "lost")}
    assert sum(lost(times).values()) == sum(wasted.values())


def test_a_reason_that_muster_does_not_name_is_lost_to_other() -> None:
    times, mine = begun(Bucket.STUCK)
    look(times, mine, replace(having(Bucket.STUCK), **stuck("vendor.example/Weather")), 5, GPUS)
    assert lost(times) == {"other": 40}


def test_every_reason_of_stuck_that_holds_accelerators_has_a_cause_of_its_own() -> None:
    """Reasons of queues hold none; those of a spec that nobody can run are few."""
    other = {reason for reason in (*CATALOGUE, *REASONS) if lost_to(reason) == "other"}
    assert other <= {
        *queueing.LOST,
        *("ContainerRunsOn", "InitContainerRuns", "RequestUnmet", "Requested", "Other"),
        *("ExceedsMaxQuota", "FlavorMissing", "Inadmissible", "Misconfigured", "QueueSilent", "QueuedTwice"),
        *("ServiceAltered", "PersistentVolumeClaimAltered"),
    }


def test_namespaces_without_end_are_counted_together() -> None:
    times = RunTime(limit=2)
    for name in "abcd":
        times.changed(run(name, name), None, having())
        look(times, run(name, name), having(), 1)
    assert (seconds(times, "a"), seconds(times, "b")) == ({"productive": 1}, {"productive": 1})
    assert seconds(times, OTHER) == {"productive": 2}


def of_owners(times: RunTime, kind: str = "") -> dict[tuple[str, ...], float]:
    found = (each for each in times.read() if each[0].name == f"muster_owner_accelerator_{kind}seconds_total")
    return {tuple(v for k, v in labels.items() if k != "resource"): value for _, labels, value in found if value}


def test_hours_and_what_they_were_lost_to_are_counted_by_each_label_of_owners() -> None:
    times = RunTime(("label_team", "label_unit"))
    red, both = (("label_team", "red"),), (("label_team", "blue"), ("label_unit", "b1"))
    times.changed(run(), None, having(), red)
    look(times, run(), having(), 0, GPUS, red)
    zeros = [labels for row, labels, value in times.read() if "owner" in labels and value == 0]
    assert {(labels["label"], labels["owner"]) for labels in zeros} == {("label_team", "red"), ("label_unit", "")}
    hung = replace(having(Bucket.STUCK, NOW + 60, productive=60_000, taken_back=40_000, stuck=40_000), **stuck("Hung"))
    look(times, run(), hung, 70, GPUS, red)
    team, unit = ("label_team", "red"), ("label_unit", "")
    assert of_owners(times, "lost_") == {(*team, "hang"): 50 * 8, (*unit, "hang"): 50 * 8}
    assert {key[2]: value for key, value in of_owners(times).items() if key[:2] == team} == held(times)
    look(times, run(), hung, 80, GPUS, both)
    look(times, run(), hung, 90, GPUS, both)
    assert of_owners(times, "lost_") == {
        (*team, "hang"): 60 * 8,
        (*unit, "hang"): 60 * 8,
        ("label_team", "blue", "hang"): 10 * 8,
        ("label_unit", "b1", "hang"): 10 * 8,
    }


def test_owners_without_end_are_counted_together() -> None:
    times = RunTime(("label_team",), limit=2)
    for name in "abcd":
        owners = (("label_team", name),)
        times.changed(run(name, name), None, having(), owners)
        look(times, run(name, name), having(), 1, GPUS, owners)
        ended = having("", NOW + 2, Phase.FAILED, productive=2_000)
        times.changed(run(name, name), having(), ended, owners)
    assert {key[1]: value for key, value in of_owners(times).items()} == {"a": 16, "b": 16, OTHER: 32}


@given(st.lists(st.tuples(st.sampled_from(Bucket), st.integers(0, 9_000), st.booleans()), max_size=12))
def test_at_its_end_a_run_has_counted_what_its_status_says(moves: list[tuple[Bucket, int, bool]]) -> None:
    times, now, sums = RunTime(), NOW, Goodput(counted_at=NOW, bucket=Bucket.QUEUED)
    times.changed(run(), None, having(Bucket.QUEUED))
    for bucket, ms, looked in moves:
        now += ms / 1000
        if looked:
            look(times, run(), record(phase=Phase.RUNNING, goodput=sums), now - NOW)
        sums = replace(sums.at(now), bucket=bucket)
    end = replace(sums.at(now + 1), bucket="")
    times.changed(run(), having(), record(phase=Phase.FAILED, goodput=end))
    wanted = {name: getattr(end, name) / 1000 for name in SUMS}
    assert seconds(times) == {name: value for name, value in wanted.items() if value}
