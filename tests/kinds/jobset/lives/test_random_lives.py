"""Random lives of random JobSets: what holds whatever their pods do."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from tests.kinds.jobset.jobsets import job, jobset
from tests.kinds.jobset.lives.cluster import Cluster

ACTIONS = ["RestartJobSet", "RestartJobSetAndIgnoreMaxRestarts", "RestartJob", "RestartJobAndIgnoreMaxRestarts"]
DISRUPTED = {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}]}


@st.composite
def jobs(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """A replicated job of any kind that Muster runs."""
    pods = draw(st.integers(1, 3))
    inside: dict[str, Any] = {"backoffLimit": draw(st.integers(0, 2))}
    kind = draw(st.sampled_from(["together", "in turn", "policy"]))
    inside |= {"completions": pods, "parallelism": 1 if kind == "in turn" else pods}
    if kind == "policy":
        inside |= {"podFailurePolicy": DISRUPTED}
    never = kind == "policy" or draw(st.booleans())
    return job(name, replicas=draw(st.integers(1, 2)), job=inside, pod={"restartPolicy": "Never"} if never else {})


@st.composite
def objects(draw: st.DrawFn) -> dict[str, Any]:
    first, second = draw(jobs("a")), draw(jobs("b"))
    if wait := draw(st.sampled_from(["", "Ready", "Complete"])):
        second["dependsOn"] = [{"name": "a", "status": wait}]
    rules = [{"action": action} for action in draw(st.lists(st.sampled_from(ACTIONS), max_size=1))]
    if draw(st.booleans()) and not any("RestartJob" in rule["action"].partition("Set")[0] for rule in rules):
        first["template"]["spec"]["activeDeadlineSeconds"] = 300
    return jobset(first, second, failurePolicy={"maxRestarts": draw(st.integers(0, 2)), "rules": rules})


EVENTS = st.lists(
    st.tuples(
        st.sampled_from(["run", "succeed", "fail", "disrupt", "lose", "wait", "suspend", "resume"]),
        st.sampled_from(["a", "b"]),
        st.integers(0, 1),
        st.integers(0, 2),
    ),
    max_size=25,
)


def play(seen: Cluster, what: str, group: str, number: int, index: int) -> None:
    """One event; nothing where there is no such pod."""
    match what:
        case "run":
            seen.run(group, number)
        case "succeed":
            seen.succeed(group, number, index)
        case "fail":
            seen.fail(group, number, index)
        case "disrupt":
            seen.fail(group, number, index, code=143, disruption="PreemptionByScheduler")
        case "lose":
            seen.lose(group, number, index)
        case "wait":
            seen.step(60.0)
        case _:
            seen.edit(suspend=what == "suspend")


@given(objects(), EVENTS)
def test_a_jobset_keeps_its_budget_ends_once_and_never_runs_two_epochs(
    manifest: dict[str, Any], events: list[tuple[str, str, int, int]]
) -> None:
    seen = Cluster(manifest)
    most = manifest["spec"]["failurePolicy"]["maxRestarts"]
    for event in events:
        over = seen.kept.finished
        made = len(seen.created)
        play(seen, *event)
        assert seen.kept.restarts <= most, "no more counted restarts than maxRestarts"
        assert len({pod.epoch for pod in seen.pods.values() if pod.live}) <= 1
        assert not over or len(seen.created) == made, "nothing is created after the end"
        assert over is False or seen.status["terminalState"]
        rows = {row["name"]: row for row in seen.status["replicatedJobsStatus"]}
        for group in seen.plan.groups:
            assert rows[group.name]["succeeded"] + rows[group.name]["failed"] <= group.replicas


def in_turn_then_another() -> dict[str, Any]:
    """Both pods of the first job were there when none of the second had begun: the second is not lost."""
    inside = {"backoffLimit": 0, "completions": 2, "parallelism": 1}
    first = job("a", replicas=1, job=inside, pod={"restartPolicy": "Never"})
    second = job("b", replicas=1, job=inside | {"completions": 1}, pod={"restartPolicy": "Never"})
    second["dependsOn"] = [{"name": "a", "status": "Complete"}]
    rules = [{"action": "RestartJobSetAndIgnoreMaxRestarts"}]
    return jobset(first, second, failurePolicy={"maxRestarts": 0, "rules": rules})


@example(in_turn_then_another(), [])
@given(objects(), EVENTS)
def test_a_jobset_whose_pods_all_succeed_in_the_end_ends(
    manifest: dict[str, Any], events: list[tuple[str, str, int, int]]
) -> None:
    seen = Cluster(manifest)
    for event in events:
        play(seen, *event)
    seen.edit(suspend=False)
    for _ in range(40):
        if seen.kept.finished:
            break
        for group in ("a", "b"):
            for pod in seen.of(group):
                if pod.live:
                    seen.succeed(group, pod.job, pod.index)
        seen.step(30.0)
    assert seen.kept.finished, seen.kept.message
