"""The end of a gang that waited: what it waited for is the cause, and the members that gave up are its evidence.

Each row is a life of a gang, decision for decision: what was known, how its members gave up, and which cause, charge
and sentence follow. ``tests/e2e/test_known_causes.py`` has the same with real programs.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product
from typing import Any, NamedTuple

import pytest

from muster.api.manifest.experiment import parse_experiment
from muster.api.values.termination_message import words
from muster.kinds.experiments import plan_of
from muster.state.facts.context import Context
from muster.state.facts.sentences import sentence
from muster.state.policies.failures import culprit, known, restart_reasons
from muster.state.policies.verdicts import Fail
from muster.state.view.engine_facts import Refusal
from muster.state.view.progress import StepReport
from muster.state.view.roll import CoordinatorState
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Exit, PodPhase
from muster.state.vocabulary.record import Cause, Condition, ConditionType, Phase
from muster.state.vocabulary.rules import CLOCKS, ClockAction, ClockName
from tests.builders import NOW, Clock, clock_rules, edited, plan, record, sure, view
from tests.state.story import Story

MINUTES = 250.0
"""Seconds for which a gang waits in these lives: longer than every patience before Stuck."""

NATIVE = """
*** Check failure stack trace: ***
    @     0x7fcba6440634  absl::lts_20260107::log_internal::LogMessage::SendToLog()
"""
REGISTER = (
    "F1122 04:48:57.736753 271 client.h:80] Terminating process because the JAX distributed service detected fatal "
    "errors. absl::Status: DEADLINE_EXCEEDED: Deadline Exceeded\nRPC: /xla.coordination.CoordinationService/"
    f"RegisterTask{NATIVE}"
)
HEARTBEATS = (
    "F1122 04:48:57.736753 271 client.h:80] Terminating process. absl::Status: UNAVAILABLE: failed to connect to all "
    f"addresses; RPC: /xla.coordination.CoordinationService/PollForError{NATIVE}"
)
UNHEALTHY = (
    "F1122 04:48:57.736753 271 client.h:80] Terminating process. absl::Status: UNAVAILABLE: The following tasks are "
    f"unhealthy (stopped sending heartbeats): 2 The tasks have crashed.\nRPC: PollForError coordination service{NATIVE}"
)
BARRIER = (
    "F1122 04:48:57.736753 271 client.h:80] Terminating process. absl::Status: INTERNAL: Shutdown barrier has failed. "
    "Barrier result: 'DEADLINE_EXCEEDED: Barrier timed out. # of tasks that reached the barrier: 2/4. The first task "
    f"at the barrier: 0.'{NATIVE}"
)


def raised(line: str) -> str:
    return f'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n    step()\n{line}\n'


GLOO = raised("jaxlib.XlaRuntimeError: UNKNOWN: Gloo all-reduce failed: Timed out waiting 1800000ms for recv operation")
CLOSED = raised("RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection closed by peer")
STORE = raised("torch.distributed.DistStoreError: Timed out after 301 seconds waiting for clients. 1/4 clients joined.")
SOCKET = raised(
    "torch.distributed.DistNetworkError: The client socket has timed out after 300000ms while trying to connect"
)
GCS = raised("RuntimeError: Failed to connect to GCS at address 10.0.0.1:6379 within 60 seconds.")
XGBOOST = raised("xgboost.core.XGBoostError: [04:48:57] /workspace/src/collective/result.cc:78: - [tracker.cc:286]")
STOPPED = "hello from 0/4"


def planned(operator: str) -> Plan:
    resources = {"cpus": 1, "memory": 1}
    ray = {"Head": {"resources": resources}, "Workers": [{"name": "small", "count": 3, "resources": resources}]}
    types = ray if operator == "kuberay" else {"worker": {"count": 4, "resources": resources}}
    metadata = {"uid": "uid-1", "name": "run", "namespace": "team", "generation": 1, "resourceVersion": "1"}
    spec = {"operator": operator, "image": "demo:1", "command": "python3 train.py", "types": types}
    return plan_of(parse_experiment({"metadata": metadata, "spec": {**spec, "restartPolicy": {"backoffLimit": 2}}}))


def life(operator: str = "jax") -> Story:
    return Story(planned(operator))


def ended(story: Story, rank: int, code: int, text: str, reason: str = "Error") -> None:
    """A member ends with that log."""
    quoted = words(text)
    exit_ = Exit("main", code, 0, reason, quoted.text, story.now, quoted.explains, quoted.last_line)
    story.set(rank, phase=PodPhase.FAILED, ready=False, exit=exit_)


def waits(story: Story, seconds: float = MINUTES) -> Story:
    """Time passes, with a look at each thing that may change the decision."""
    until = story.now + seconds
    story.look()
    while story.last is not None and story.last.wake_at is not None and story.last.wake_at < until:
        story.look(max(0.1, story.last.wake_at - story.now))
    story.look(max(0.0, until - story.now))
    return story


# What is known. Each leaves the gang Stuck.


def kept_by_pod(story: Story, *ranks: int, **pod: Any) -> Story:
    """These ranks have no program, the others wait for them at the coordinator."""
    story.launch()
    others = [rank for rank in range(4) if rank not in ranks]
    story.start(*others)
    for rank in ranks:
        story.set(rank, **pod)
    story.look(1)
    if story.plan.coordinator and not story.plan.coordinator.probe.passive and 0 not in ranks:
        story.observe_probe(*others)
    return waits(story)


def no_node(story: Story, rank: int = 2) -> Story:
    quoted = "0/3 nodes are available: 3 Insufficient cpu."
    return kept_by_pod(story, rank, waiting_reason="Unschedulable", waiting_message=quoted)


def no_container(story: Story, reason: str, quoted: str) -> Story:
    return kept_by_pod(story, 2, scheduled=True, node="b", waiting_reason=reason, waiting_message=quoted)


def started(story: Story) -> Story:
    """Every program runs."""
    story.bring_up()
    return story


def never_calls(story: Story) -> Story:
    started(story)
    if story.plan.operator == "pytorch":
        story.observe_probe(0, joined=3, partial="its members leave no names")
    else:
        story.observe_probe(0, 1, 3)
    return waits(story)


def never_serves(story: Story) -> Story:
    started(story).silence()
    return waits(story)


def other_count(story: Story) -> Story:
    started(story).observe_probe(0, 1, 2, 3, expected=5)
    return waits(story)


def at_work(story: Story) -> Story:
    if story.plan.operator != "kuberay":
        story.assemble()
        return story
    for _ in range(3):  # the workers come when the head serves, and the submitter when they have joined
        story.launch()
        ranks = [rank for _, rank in story.pods]
        story.start(*ranks)
        story.look(1)
        story.observe_probe(*ranks, passed=True)
        story.look(1)
    assert story.kept.phase is Phase.RUNNING, story.kept.message
    return story


def frozen(story: Story) -> Story:
    at_work(story)
    story.silence(CoordinatorState.SILENT)
    return waits(story, 80)


def node_not_ready(story: Story, rank: int = 2) -> Story:
    at_work(story)
    story.set(rank, ready=False, cut_off=True, node="b")
    return waits(story, 80)


def ended_early(story: Story) -> Story:
    at_work(story)
    story.end(1)
    return waits(story, 400)


def hung(story: Story, behind: int | None = 2) -> Story:
    at_work(story)
    roll = sure(story.view.probe)
    for seconds, step in ((3, 3), (3, 5), (100, 5), (3, 5)):
        story.now += seconds
        steps = {rank: 4 if rank == behind and step == 5 else step for rank in range(4)}
        reports = tuple(StepReport(rank, each, each, 1000.0 + each, 1.0) for rank, each in steps.items())
        story.view.observe_probe(replace(roll.answer, at=story.now, reports=reports), story.kept.epoch)
        story.look()
    return story


def refused(story: Story) -> Story:
    """The quota has room for three of four pods."""
    story.create(2)
    story.start(0, 1, 3)
    story.view.engine.refusal = Refusal("QuotaExceeded", "exceeded quota: small", final=False)
    story.look(1)
    story.observe_probe(0, 1, 3)
    return waits(story)


class Row(NamedTuple):
    known: Callable[[Story], Story]
    ends: tuple[tuple[int, int, str], ...]
    """Rank, exit code and log of the members that give up."""
    rank: int
    reason: str
    charged: bool
    says: str


ROWS = {
    "jax: no node for a rank": Row(
        no_node, ((0, 134, REGISTER),), 2, "Unschedulable", False,
        "no node fits; 0/3 nodes are available: 3 Insufficient cpu.); then rank 0 "),
    "jax: no node for the coordinator": Row(
        lambda story: no_node(story, 0), ((1, 134, REGISTER), (3, 134, REGISTER)), 0, "Unschedulable", False,
        "no node fits; 0/3 nodes are available: 3 Insufficient cpu.); then rank 1 "),
    "jax: a rank never calls the coordinator": Row(
        never_calls, ((0, 134, REGISTER), (1, 134, REGISTER)), 2, "RanksMissing", True,
        "running, but not registered with the coordinator); then rank 0 "),
    "jax: an image with a typo": Row(
        lambda story: no_container(story, "ImagePullBackOff", 'Back-off pulling image "demo:typo"'),
        ((0, 134, REGISTER),), 2, "ImagePull", True, "the image demo:typo cannot be pulled; Back-off pulling"),
    "jax: a Secret that is missing": Row(
        lambda story: no_container(story, "CreateContainerConfigError", 'secret "token" not found'),
        ((0, 134, REGISTER),), 2, "ContainerCannotStart", True,
        'the container cannot start: CreateContainerConfigError; secret "token" not found); then'),
    "jax: a scheduling gate": Row(
        lambda story: kept_by_pod(story, 2, waiting_reason="SchedulingGated", waiting_message="example.org/gate"),
        ((0, 134, REGISTER),), 2, "Queued", False, "held by scheduling gates of the pod"),
    "jax: a quota for a part of the gang": Row(
        refused, ((0, 134, REGISTER),), 2, "Refused", False, "refuses what the pod needs"),
    "jax: the coordinator never opens its port": Row(
        never_serves, ((1, 134, REGISTER), (2, 134, REGISTER)), 0, "CoordinatorNotServing", True,
        "its port is closed); then rank 1 "),
    "jax: another number of processes": Row(
        other_count, ((1, 124, STOPPED),), 0, "ProcessCountMismatch", True,
        "the coordinator waits for 5 processes, the gang has 4); then rank 1 "),
    "jax: a frozen coordinator": Row(
        frozen, ((1, 134, HEARTBEATS), (2, 134, HEARTBEATS), (3, 134, HEARTBEATS)), 0, "CoordinatorLost", False,
        "the coordinator's process is frozen); then rank 1 "),
    "jax: a node that is not ready": Row(
        node_not_ready, ((0, 134, UNHEALTHY), (1, 134, UNHEALTHY)), 2, "NodeNotReady", False,
        "node b is not ready); then rank 0 "),
    "jax: a rank that is behind in a hang": Row(
        hung, ((0, 1, GLOO), (1, 1, CLOSED), (3, 1, CLOSED)), 2, "Hung", True, "stopped at step 4"),
    "jax: a hang, and no rank is behind": Row(
        lambda story: hung(story, None), ((1, 1, GLOO),), -1, "Hung", True, "no step since "),
    "jax: a rank ended before the others": Row(
        ended_early, ((0, 134, BARRIER), (2, 134, BARRIER)), 1, "RanksEnded", True,
        "ended with exit code 0); then rank 0 "),
    "pytorch: no node for a rank": Row(no_node, ((0, 1, STORE),), 2, "Unschedulable", False, "no node fits"),
    "pytorch: members that are counted and not named": Row(
        never_calls, ((0, 1, STORE),), -1, "RanksMissing", True, "); then rank 0 "),
    "pytorch: a node that is not ready": Row(
        node_not_ready, ((0, 1, CLOSED), (1, 1, CLOSED)), 2, "NodeNotReady", False, "node b is not ready"),
    "pytorch: a frozen store": Row(
        frozen, ((1, 1, SOCKET),), 0, "CoordinatorLost", False, "the coordinator's process is frozen"),
    "kuberay: a frozen head": Row(
        frozen, ((1, 1, GCS),), 0, "CoordinatorLost", False, "the coordinator's process is frozen); then rank 1 "),
    "kuberay: the head's node is not ready": Row(
        lambda story: node_not_ready(story, 0), ((1, 1, GCS),), 0, "NodeNotReady", False, "node b is not ready"),
    "xgboost: no node for a rank": Row(no_node, ((0, 1, XGBOOST),), 2, "Unschedulable", False, "no node fits"),
}  # fmt: skip


def lived(name: str) -> Story:
    """The life of that row, with the operator that its name begins with."""
    return ROWS[name].known(life(name.partition(":")[0]))


def finish(story: Story, *ends: tuple[int, int, str]) -> Cause:
    """The members end; the cause of the epoch, once nothing better is waited for."""
    story.now, epoch = story.now + 1, story.kept.epoch
    for rank, code, text in ends:
        ended(story, rank, code, text)
    story.look()
    if story.kept.cause is None or story.cause.epoch != epoch:
        story.look(culprit.WAIT)
    assert story.cause.epoch == epoch, story.kept.message
    return story.cause


@pytest.mark.parametrize("name", ROWS)
@pytest.mark.parametrize("another_daemon", [False, True], ids=["one daemon", "another daemon"])
def test_what_the_gang_waited_for_is_the_cause_of_its_end(name: str, another_daemon: bool) -> None:
    """Another daemon knows the pods and the record, and has heard no coordinator."""
    row, story = ROWS[name], lived(name)
    if another_daemon:
        story.take_over()
        story.look(5)
        before = sure(story.kept.known)
        after = known.track(Context.at(story.plan, story.kept, story.view, story.now), before.reason, before.evidence)
        assert (sure(after).cause, sure(after).ranks) == (before.cause, before.ranks)
    cause = finish(story, *row.ends)
    assert (cause.rank, cause.reason, cause.disruption) == (row.rank, row.reason, not row.charged)
    assert (cause.exit_code, cause.known_for > 0) == (None, True)
    assert (story.kept.restarts, story.kept.disruptions) == (int(row.charged), int(not row.charged))
    rank, code, _ = row.ends[0]
    quoted = sentence(cause)
    assert quoted.startswith(f"rank {row.rank} " if row.rank >= 0 else "the gang was blocked")
    assert any(quoted in line.message for line in story.kept.story if line.reason == "GangRestart")
    assert re.search(rf" blocked (the gang )?for \w+ \({row.reason}: ", quoted)
    assert row.says in quoted
    assert f"rank {rank} (" in cause.evidence
    assert f"ended with exit code {code}" in cause.evidence
    more = len(row.ends) - 1
    assert cause.evidence.endswith(f" and {more} more") is bool(more)
    assert "absl" not in quoted
    assert [(each.reason, each.count) for each in story.kept.restart_reasons] == [(row.reason, 1)]
    assert row.reason in restart_reasons.REASONS
    assert story.kept.known is None, "the next epoch knows nothing of this one"


def test_a_daemon_that_has_heard_no_step_keeps_the_rank_that_was_behind() -> None:
    story = hung(life())
    story.take_over()
    story.observe_probe(0, 1, 2, 3, passed=True)
    story.look(5)
    after = sure(known.track(Context.at(story.plan, story.kept, story.view, story.now), "Hung", ""))
    assert (after.cause, after.ranks) == ("Hung", "2")


@pytest.mark.parametrize("waiting", [no_node, never_calls, hung, frozen, ended_early])
@pytest.mark.parametrize(
    ("code", "text", "reason"),
    [
        (1, raised("ValueError: bad batch 20"), "Error"),
        (3, "hello from 3/4", "Error"),
        (137, "hello from 3/4", "OOMKilled"),
        (139, "hello from 3/4", "Error"),
        (134, "terminate called after throwing std::bad_alloc", "Error"),
    ],
)
def test_a_failure_of_its_own_keeps_its_cause(
    waiting: Callable[[Story], Story], code: int, text: str, reason: str
) -> None:
    story = waiting(life())
    ended(story, 3, code, text, reason)
    cause = finish(story, (0, 134, REGISTER))
    assert (cause.rank, cause.reason, cause.exit_code, cause.disruption) == (3, reason, code, False)
    assert story.kept.restarts == 1


@pytest.mark.parametrize("waiting", [no_node, never_calls, hung, frozen])
@pytest.mark.parametrize(
    ("code", "text"),
    [
        (1, raised("TimeoutError: the driver did not answer")),
        (137, "hello from 3/4"),
        (143, "hello from 3/4"),
        (139, HEARTBEATS),
        (1, HEARTBEATS),
    ],
)
def test_a_kill_a_time_out_and_words_of_a_survivor_are_the_evidence_of_what_was_known(
    waiting: Callable[[Story], Story], code: int, text: str
) -> None:
    story = waiting(life())
    before = sure(story.kept.known)
    cause = finish(story, (3, code, text))
    assert (cause.message, cause.exit_code) == (before.evidence, None)
    assert re.match(rf"rank 3 \(run-worker-0-3-\w+\) ended with exit code {code} ", cause.evidence)


def test_of_the_last_words_of_a_survivor_a_part_is_kept() -> None:
    cause = finish(hung(life()), (3, 1, raised(f"TimeoutError: {'x' * 900}")))
    assert cause.message == "stopped at step 4"
    assert 100 < cause.evidence.count("x") <= known.WORDS < len(cause.evidence) < 3 * known.WORDS


ENDS: dict[str, dict[str, Any]] = {
    "DeadlineExceeded": {"clocks": (replace(CLOCKS[0], after=1.0),)},
    "Cancelled": {"cancel": True},
}
NO_CLOCK = "jax: a scheduling gate"
"""A gang whose pods are held back by gates has no running clock."""


@pytest.mark.parametrize(
    ("name", "reason"), [each for each in product(ROWS, ENDS) if each != (NO_CLOCK, "DeadlineExceeded")]
)
def test_an_end_that_no_member_caused_names_what_was_known(name: str, reason: str) -> None:
    row, story = ROWS[name], lived(name)
    story.plan = edited(story.plan, **ENDS[reason])
    story.look(1)
    assert (story.kept.phase, story.kept.reason) == (Phase.FAILED, reason)
    cause = story.cause
    assert (cause.rank, cause.reason, cause.known_for > 0) == (row.rank, row.reason, True)
    assert cause.evidence
    assert story.kept.message.startswith(cause.evidence)
    assert cause.message in story.kept.message
    assert f"rank {row.rank} " in story.kept.message or row.rank < 0


def test_several_ranks_that_blocked_the_gang_are_all_named() -> None:
    waiting = {"waiting_reason": "Unschedulable", "waiting_message": "0/3 nodes are available: 3 Insufficient cpu."}
    story = kept_by_pod(life(), 1, 2, **waiting)
    cause = finish(story, (0, 134, REGISTER))
    assert (cause.rank, cause.ranks) == (1, "1-2")
    assert sentence(cause).startswith("ranks 1-2 (first: run-worker-0-1-")


def test_an_end_that_names_the_rank_itself_does_not_name_it_again() -> None:
    story = never_calls(life())
    story.plan = edited(story.plan, clocks=clock_rules({ClockName.ASSEMBLY: Clock(1, ClockAction.FAIL)}))
    story.look(1)
    assert (story.kept.reason, story.cause.rank, story.cause.reason) == ("AssemblyDeadlineExceeded", 2, "RanksMissing")
    assert "missing rank 2 (" in story.kept.message
    assert "blocked the gang" not in story.kept.message


def test_the_end_of_a_gang_that_nothing_blocked_has_no_cause() -> None:
    story = at_work(life())
    story.plan = edited(story.plan, **ENDS["Cancelled"])
    story.look(1)
    assert (story.kept.reason, story.kept.cause) == ("Cancelled", None)


def test_what_was_known_stands_beside_the_own_cause_that_ends_the_experiment() -> None:
    plan = planned("jax")
    story = Story(edited(plan, restarts=replace(plan.restarts, limit=0)))
    hung(story)
    cause = finish(story, (0, 1, raised("ValueError: bad batch 20")))
    assert (cause.rank, cause.reason) == (0, "Error")
    assert story.kept.phase is Phase.FAILED
    assert re.search(r"ValueError: bad batch 20.*; before that, rank 2 .* blocked the gang for", story.kept.message)


def not_stuck(**pod: Any) -> Story:
    """The other ranks have called the coordinator, and no patience is over yet."""
    story = life()
    story.launch()
    story.start(0, 1, 3)
    story.set(2, **pod)
    story.look(1)
    story.observe_probe(0, 1, 3)
    story.look(1)
    assert story.kept.known is None
    return story


def port_closed() -> Story:
    """The coordinator gives up: its port closes seconds before the end of its process is reported."""
    story = never_calls(life())
    story.silence()
    return waits(story, 20)


UNPLACED = {"waiting_reason": "Unschedulable", "waiting_message": "0/3 nodes are available"}
PULLS = {"scheduled": True, "node": "b", "waiting_reason": "ContainerCreating"}


@pytest.mark.parametrize(
    ("gang", "end", "rank", "reason", "charged"),
    [
        (lambda: not_stuck(**UNPLACED), (0, 134, REGISTER), 2, "Unschedulable", False),
        (lambda: kept_by_pod(life(), 2, **PULLS), (0, 134, REGISTER), 2, "RanksNotStarted", False),
        (lambda: not_stuck(**PULLS), (0, 134, ""), 0, "Error", True),
        (port_closed, (0, 134, REGISTER), 2, "RanksMissing", True),
        (lambda: never_calls(life()), (2, 134, REGISTER), 2, "Error", True),
    ],
    ids=[
        "members that time out before any patience is over",
        "an image that takes longer than jax waits",
        "an abort without a word of a time-out",
        "the coordinator gives up",
        "the missing rank gives up alone: it called another address",
    ],
)
def test_the_cause_is_what_is_seen_where_the_gang_is_not_stuck_and_what_was_known_where_its_coordinator_gives_up(
    gang: Callable[[], Story], end: tuple[int, int, str], rank: int, reason: str, charged: bool
) -> None:
    story = gang()
    cause = finish(story, end)
    assert (cause.rank, cause.reason, cause.disruption) == (rank, reason, not charged)
    assert story.kept.restarts == int(charged)


@pytest.mark.parametrize("code", [1, 137, 138], ids=["an exception", "a kill", "a signal of its own"])
def test_members_that_ended_before_the_coordinator_was_lost_have_not_waited_for_it(code: int) -> None:
    """A daemon whose watch was silent sees the pods of a gang that has ended once it is Stuck for that."""
    story = life().assemble()
    end = story.now
    story.look(0.5)
    story.silence()
    waits(story, 60)
    assert sure(story.kept.known).cause == "CoordinatorNotServing"
    for rank in (0, 1, 2):
        story.end(rank, 134, at=end + 0.1, signal=6)
    story.end(3, code, at=end)
    story.look()
    assert (story.cause.rank, story.cause.evidence) == (3, "")


def test_what_was_known_is_forgotten_when_the_ranks_have_come() -> None:
    story = never_calls(life())
    assert story.kept.known is not None
    story.observe_probe(0, 1, 2, 3, passed=True)
    story.look(1)
    assert story.kept.known is None
    assert finish(story, (1, 134, HEARTBEATS)).rank == 1


def test_a_rank_that_came_too_late_was_kept_by_the_platform() -> None:
    story = no_node(life())
    story.start(2)
    story.set(2, waiting_reason="", waiting_message="")
    story.observe_probe(0, 1, 3)
    story.look(1)
    story.look(2)
    assert sure(story.kept.known).until is not None
    cause = finish(story, (0, 134, REGISTER))
    assert (cause.rank, cause.reason, cause.disruption) == (2, "Unschedulable", True)


def test_a_ray_worker_that_gives_up_did_not_wait_for_another_worker() -> None:
    story = node_not_ready(life("kuberay"), 2)
    cause = finish(story, (1, 1, GCS))
    assert (cause.rank, cause.exit_code, story.kept.epoch) == (1, 1, 0)


def test_a_row_of_disruptions_waits_and_ends() -> None:
    """A node that hangs again and again costs no restart of the user's, and not the cluster's time forever."""
    story = Story(edited(planned("jax"), max_disruptions=2))
    for epoch in range(3):
        frozen(story)
        finish(story, *((rank, 134, HEARTBEATS) for rank in (1, 2, 3)))
        if epoch < 2:
            assert (story.kept.restarts, story.kept.consecutive_disruptions) == (0, epoch + 1)
            story.obey()
            story.look(600)
    assert (story.kept.phase, story.kept.reason) == (Phase.FAILED, "MaxDisruptionsExceeded")
    assert "CoordinatorLost" in story.kept.message


def test_a_gang_whose_reason_of_stuck_changed_was_blocked_by_the_last_one_for_its_own_time() -> None:
    stuck = Condition(ConditionType.STUCK, True, "ProgressDeadline", "its clock has passed", 1, NOW - 13, NOW - 2)
    case = Context.at(plan(), record(phase=Phase.RUNNING, conditions=(stuck,)), view(), NOW)
    end = known.remembered(case, Fail("DeadlineExceeded", "the experiment did not finish within 130 s"))
    assert end.cause is not None
    assert (end.cause.reason, end.cause.known_for) == ("ProgressDeadline", 2)
