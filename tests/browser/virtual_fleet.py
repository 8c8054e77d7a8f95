"""A fleet that no cluster runs: experiments in every state that the page shows, as the daemon would know them.

Its sentences are those of Muster for such states. Every object is made by ``tests.builders``.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from msgspec.structs import replace as changed

from muster.api.names import name_suffix, pod_name
from muster.metrics.collector import Subject
from muster.state.facts.incidents.grouping import Places
from muster.state.facts.incidents.signs import signs_of
from muster.state.facts.incidents.subjects import LABELS
from muster.state.facts.incidents.tracking import Tracking
from muster.state.view.progress import StepReport
from muster.state.view.roll import RankState, RollAnswer
from muster.state.view.view import View
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Exit, Pod, PodPhase, PodSpec
from muster.state.vocabulary.record import Cause, Condition, ConditionType, Phase, StoryLine
from muster.state.vocabulary.rules import ClockAction, ClockName
from tests.builders import Clock, answer, plan, pod, record, sure
from tests.daemon.web.subjects import Daemon
from tests.state.facts.incidents.fleet import follow

NAMESPACES = ("vision", "speech", "robots", "genomics")
BIG = 10_000
RACKS = Places({f"r{rack}-n{node}": {LABELS["rack"][0]: f"r{rack}"} for rack in range(6) for node in range(8)})
HOUR = 3600.0


class VirtualFleet(Daemon):
    """A daemon with these experiments."""

    def tracking(self) -> Tracking:
        """The incidents of now, as a daemon that has seen them for a minute shows them."""
        now = max((each.record.phase_at for each in self.here), default=0.0)
        signs = [sign for each in self.here for sign in signs_of(each.at(now))]
        return follow(follow(Tracking(), signs, now - 60, RACKS), signs, now, RACKS)

    def put(self, subject: Subject) -> str:
        """Add it, or let it take the place of the one of its name; its uid."""
        self.here = [each for each in self.here if each.plan.uid != subject.plan.uid] + [subject]
        return subject.plan.uid

    def role(self) -> str:
        return "leading as musterd-7d9f"


def made(
    namespace: str,
    name: str,
    *,
    size: int = 8,
    pods: Sequence[Pod] | None = None,
    heard: RollAnswer | None = None,
    clocks: Mapping[ClockName, Clock] | None = None,
    groups: tuple[Group, ...] = (),
    **facts: Any,
) -> Subject:
    """An experiment whose record has these facts; by default all its pods run."""
    usual: dict[str, Any] = {"groups": groups} if groups else {}
    of = plan(
        uid=f"uid-{namespace}-{name}",
        namespace=namespace,
        name=name,
        size=size,
        clocks=clocks or {ClockName.TOTAL: Clock(48 * HOUR, ClockAction.FAIL)},
        operator=facts.pop("operator", "jax"),
        **usual,
    )
    stated = record(size=of.size, ready=of.size, **facts)
    seen = View()
    for each in pods if pods is not None else [member(of, rank) for rank in range(of.size)]:
        seen.change(None, each)
    if heard:
        seen.observe_probe(heard, stated.epoch)
    return Subject(of, stated, seen)


def member(of: Plan, rank: int, epoch: int = 0, **overrides: Any) -> Pod:
    """The pod of that rank, as the plan names it."""
    place = sure(of.member(rank))
    name = pod_name(of.name, place.group, place.job, place.pod, name_suffix(of.uid, epoch))
    usual = {"namespace": of.namespace, "owner": of.uid, "name": name, "group": place.group, "job": place.job}
    node = {"index": place.pod, "node": f"gpu-{rank // 8:03d}", "epoch": epoch}
    return pod(rank, **usual | node | overrides)


def stuck(reason: str, message: str, now: float) -> tuple[Condition, ...]:
    return (Condition(ConditionType.STUCK, True, reason, message, 1, now - 300),)


def rank_missing(now: float) -> Subject:
    """64 ranks on 8 nodes: one image cannot be pulled, one node is NotReady, one rank runs and does not call."""
    groups = (Group("worker", 8, 8, PodSpec("example.org/train:1", "python train.py"), 0),)
    bare = made("vision", "vit-huge", groups=groups).plan
    pods = [member(bare, rank) for rank in range(64)]
    pods[13] = member(
        bare, 13, ready=False, started=False, phase=PodPhase.PENDING, waiting_reason="ImagePullBackOff",
        waiting_message='Back-off pulling image "example.org/train:2"',
    )  # fmt: skip
    for rank in range(40, 48):
        pods[rank] = member(bare, rank, cut_off=True, ready=False)
    states = [RankState.ARRIVED] * 64
    for rank in (13, 37, *range(40, 48)):
        states[rank] = RankState.MISSING
    says = (
        "54/64 ranks arrived; missing rank 13 (vit-huge-worker-1-5-x7k2p, Pending: ImagePullBackOff); 37 (running, but "
        "it has not called the coordinator); 40 (node gpu-005 is not ready) and 7 more"
    )
    story = (
        StoryLine(now - 1500, 0, "Started", "starting 64 members"),
        StoryLine(now - 1440, 0, "Assembling", "the first process runs"),
        StoryLine(now - 1380, 0, "Running", "64/64 ranks arrived"),
        StoryLine(
            now - 640,
            1,
            "GangRestart",
            "epoch 0 ended, restart 1 of 3: rank 5 ended with exit code 137, OOMKilled",
            True,
        ),
        StoryLine(now - 600, 1, "Restarted", "epoch 1 begins"),
        StoryLine(now - 540, 1, "Assembling", "the first process runs"),
        StoryLine(now - 300, 1, "Stuck", f"RanksMissing: {says}", True),
    )
    pods = [replace_epoch(each, bare, 1) for each in pods]
    return made(
        "vision", "vit-huge", groups=groups, pods=pods, epoch=1, restarts=1, phase=Phase.ASSEMBLING,
        phase_at=now - 540, started_at=now - 1500, epoch_at=now - 600, scheduled_at=now - 550,
        assembling_at=now - 540, message=says, conditions=stuck("RanksMissing", says, now), story=story,
        heard=answer(*states, at=now),
        cause=Cause(0, "OOMKilled", "", now - 640, pod="vit-huge-worker-0-5-d9nxw", rank=5, exit_code=137, signal=9),
        clocks={
            ClockName.TOTAL: Clock(12 * HOUR, ClockAction.FAIL),
            ClockName.ASSEMBLY: Clock(600, ClockAction.RESTART),
        },
    )  # fmt: skip


def replace_epoch(each: Pod, of: Plan, epoch: int) -> Pod:
    """The same pod in another epoch."""
    return changed(each, epoch=epoch, name=member(of, each.rank, epoch).name)


def training(now: float) -> Subject:
    """128 ranks that train; two of them lag."""
    size = 128
    one = made(
        "speech", "conformer", size=size, phase=Phase.RUNNING, phase_at=now - 5 * HOUR, started_at=now - 5.1 * HOUR,
        epoch_at=now - 5.1 * HOUR, scheduled_at=now - 5.08 * HOUR, assembling_at=now - 5.05 * HOUR,
        assembled_at=now - 5 * HOUR, message="128/128 ranks arrived",
        heard=answer(*[RankState.CONNECTED] * size, at=now),
        story=(
            StoryLine(now - 5.1 * HOUR, 0, "Started", "starting 128 members"),
            StoryLine(now - 5.05 * HOUR, 0, "Assembling", "the first process runs"),
            StoryLine(now - 5 * HOUR, 0, "Running", "128/128 ranks arrived"),
        ),
    )  # fmt: skip
    for look in range(6):
        at = now - 60 + 10 * look
        reports = [
            StepReport(r, 18_000 + 40 * look - (700 if r in (37, 90) else 0), 900 + look, at, 2.5, (("loss", 1.8324),))
            for r in range(size)
        ]
        heard = replace(answer(*[RankState.CONNECTED] * size, at=at), reports=tuple(reports))
        one.view.observe_probe(heard, 0)
    return one


def hung(now: float) -> Subject:
    says = "no rank has reported a step for 6m12s, the longest time between two was 4s"
    return made(
        "robots", "grasp-rl", size=32, phase=Phase.RUNNING, phase_at=now - 3 * HOUR, started_at=now - 3 * HOUR,
        message=says, conditions=stuck("Hung", says, now), heard=answer(*[RankState.CONNECTED] * 32, at=now),
    )  # fmt: skip


def failed(now: float) -> Subject:
    bare = made("genomics", "fold-small").plan
    end = Exit("main", 1, 0, "Error", "", now - 902)
    pods = [member(bare, rank, phase=PodPhase.FAILED, ready=False, exit=end) for rank in range(8)]
    says = "rank 3 ended with exit code 1: ValueError: shape (512, 64) does not fit; restart limit reached (3 of 3)"
    return made(
        "genomics", "fold-small", pods=pods, phase=Phase.FAILED, phase_at=now - 900, started_at=now - 2 * HOUR,
        finished_at=now - 900, epoch=0, restarts=3, reason="BackoffLimitExceeded", message=says,
        cause=Cause(0, "Error", "", now - 902, pod=pods[3].name, rank=3, container="main", exit_code=1),
    )  # fmt: skip


def others(now: float) -> Iterator[Subject]:
    """Experiments in the usual states."""
    for number in range(24):
        namespace = NAMESPACES[number % 4]
        at = now - HOUR * (1 + number)
        if number % 6 == 0:
            yield made(
                namespace, f"sweep-{number:02d}", phase=Phase.SUCCEEDED, phase_at=at, started_at=at - HOUR,
                finished_at=at, message="all 8 members succeeded", reason="AllMembersSucceeded",
            )  # fmt: skip
        elif number % 6 == 1:
            yield made(
                namespace, f"sweep-{number:02d}", pods=(), phase=Phase.QUEUED, phase_at=at, started_at=at,
                message="waits for the admission of queue gpu-large", operator="pytorch",
            )  # fmt: skip
        elif number % 6 == 2:
            yield made(
                namespace, f"sweep-{number:02d}", phase=Phase.RESTARTING, phase_at=now - 20, started_at=at, pods=(),
                epoch=2, restarts=1, disruptions=1, operator="kuberay",
                message="epoch 1 ended: node gpu-017 was drained; the next epoch begins in 10 s",
            )  # fmt: skip
        else:
            yield made(
                namespace, f"sweep-{number:02d}", phase=Phase.RUNNING, phase_at=at, started_at=at,
                message="8/8 ranks arrived", heard=answer(*[RankState.CONNECTED] * 8, at=now),
                operator=("jax", "pytorch", "xgboost")[number % 3],
            )  # fmt: skip


def big(now: float) -> Subject:
    """10,000 ranks; some of them are missing, for four different causes."""
    bare = made("vision", "ten-thousand", size=BIG, pods=()).plan
    pods, states = [], []
    for rank in range(BIG):
        trouble = rank % 997
        if trouble == 3:
            pods.append(member(bare, rank, started=False, ready=False, scheduled=False, node="",
                               phase=PodPhase.PENDING, waiting_reason="Unschedulable"))  # fmt: skip
        elif trouble == 5:
            pods.append(member(bare, rank, started=False, ready=False, phase=PodPhase.PENDING,
                               waiting_reason="ErrImagePull"))  # fmt: skip
        elif trouble != 7:
            pods.append(member(bare, rank))
        states.append(RankState.MISSING if trouble in (3, 5, 7, 9) else RankState.ARRIVED)
    missing = sum(state is RankState.MISSING for state in states)
    says = f"{BIG - missing}/{BIG} ranks arrived; missing ranks 3, 5, 7 and {missing - 3} more"
    return made(
        "vision", "ten-thousand", size=BIG, pods=pods, phase=Phase.ASSEMBLING, phase_at=now - 200,
        started_at=now - 400, epoch_at=now - 400, scheduled_at=now - 250, assembling_at=now - 200, message=says,
        heard=answer(*states, at=now),
    )  # fmt: skip


def dead_rack(now: float) -> Iterator[Subject]:
    """Runs of four namespaces whose nodes are those of one rack, which is away."""
    for number in range(12):
        namespace, name = NAMESPACES[number % 4], f"pretrain-{number:02d}"
        pods = [
            member(
                made(namespace, name, size=2).plan,
                rank,
                node=f"r3-n{(2 * number + rank) % 8}",
                cut_off=True,
                ready=False,
            )
            for rank in range(2)
        ]
        says = f"2/2 ranks arrived; node {pods[0].node} of rank 0 is not ready"
        yield made(
            namespace, name, size=2, pods=pods, phase=Phase.RUNNING, phase_at=now - 3 * HOUR, started_at=now - 3 * HOUR,
            message=says, conditions=stuck("NodeNotReady", says, now), heard=answer(*[RankState.CONNECTED] * 2, at=now),
        )  # fmt: skip


def fleet(now: float) -> VirtualFleet:
    """All of them but the biggest."""
    return VirtualFleet([rank_missing(now), training(now), hung(now), failed(now), *others(now)])
