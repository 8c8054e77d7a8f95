"""What a row of the table of situations is, and the ways in which situations are induced.

Rows are played on the state of the daemon, event by event, with objects as the API server sends them and answers as the
probes give them. tests/real/situations induces most of them with real processes and a real control plane.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from muster.api.causes import Blocked, Stuck
from muster.state.facts.causes.cause import MissingCause
from muster.state.view.probe_result import LOST_AFTER
from muster.state.view.roll import CoordinatorState, RankState
from muster.state.vocabulary.record import Cause as Ended
from muster.state.vocabulary.record import Condition, ConditionType, Phase
from tests.diagnosis.gang import NOW, STAMP, Gang

PULL = 'Back-off pulling image "registry/typo:1"'
Induce = Callable[[Gang], None]


@dataclass(frozen=True, slots=True)
class Situation:
    """One row."""

    name: str
    operator: str
    cause: MissingCause
    ranks: tuple[int, ...]
    induce: Induce
    first: bool = True
    """It is the decisive one: the sentence begins with it."""


def running(gang: Gang) -> None:
    gang.start()
    gang.set(phase=Phase.RUNNING, assembled_at=NOW)
    gang.hear()


def gathering(*missing: int, **more: Any) -> Induce:
    def induce(gang: Gang) -> None:
        gang.start()
        gang.hear(*missing, **more)

    return induce


def one(induce: Induce, *, missing: tuple[int, ...] = (2,)) -> Induce:
    """All others have arrived."""

    def done(gang: Gang) -> None:
        gathering(*missing)(gang)
        induce(gang)

    return done


def at_work(induce: Induce) -> Induce:
    """All have arrived, and then it happens."""

    def done(gang: Gang) -> None:
        running(gang)
        induce(gang)

    return done


def started(induce: Induce) -> Induce:
    """All programs run."""

    def done(gang: Gang) -> None:
        gang.start()
        induce(gang)

    return done


def no_coordinator(gang: Gang) -> None:
    gang.start(1, 2, 3)
    gang.wait(0, "ImagePullBackOff", PULL)


def unheard(state: CoordinatorState, detail: str = "") -> Induce:
    def induce(gang: Gang) -> None:
        gang.start()
        gang.silent(state, detail)

    return induce


def without_dashboard() -> Induce:
    def induce(gang: Gang) -> None:
        gang.start()
        lacks = "Ray's GCS serves, but its dashboard does not (port 8265: connection refused)"
        gang.hear(states=(RankState.CONNECTED,), expected=None, lacks=lacks, partial=f"{lacks}; who is unknown")

    return induce


def falls_silent(state: CoordinatorState, detail: str = "") -> Induce:
    def induce(gang: Gang) -> None:
        running(gang)
        gang.now = NOW + 1
        gang.silent(state, detail)
        gang.now = NOW + 1 + LOST_AFTER

    return induce


def init(name: str, state: dict[str, Any], **more: Any) -> Induce:
    def induce(gang: Gang) -> None:
        gang.wait(2, "PodInitializing", init={"name": name, "state": state}, **more)

    return induce


def node_not_ready(*ranks: int) -> Induce:
    def induce(gang: Gang) -> None:
        marked = {"Ready": ("False", "", ""), "ContainersReady": ("True", "", "")}
        for rank in ranks:
            gang.start(rank, node="n7", conditions=marked)

    return induce


def runs_on(gang: Gang) -> None:
    """A container runs on beside the program."""
    ended = {"terminated": {"exitCode": 0, "reason": "Completed"}}
    beside = {"name": "istio-proxy", "state": {"running": {"startedAt": STAMP}}}
    gang.report(2, ended, phase="Running", spec={"restartPolicy": "OnFailure"}, others=(beside,),
                conditions={"Ready": ("False", "", "")})  # fmt: skip


def left_over(gang: Gang) -> None:
    pod = gang.seen.pop(0)
    gang.set(epoch=1, phase=Phase.RESTARTING, scheduled_at=None, assembling_at=None)
    gang.seen[0] = pod


def back_off(gang: Gang) -> None:
    for rank in list(gang.seen):
        gang.vanish(rank)
    cause = Ended(epoch=0, reason="Error", message="", at=NOW, pod="train-worker-0-1", uid="u", group="worker", rank=1,
                  container="main", node="n1", exit_code=1, signal=0, disruption=False)  # fmt: skip
    gang.set(epoch=1, phase=Phase.RESTARTING, scheduled_at=None, assembling_at=None, resume_at=NOW + 5, cause=cause)


def not_created(gang: Gang) -> None:
    gang.set(phase=Phase.PENDING, scheduled_at=None, assembling_at=None)
    gang.never_made(3)


def unsandboxed(gang: Gang) -> None:
    gang.report(2, conditions={"PodReadyToStartContainers": ("False", "", "")})


def other_count(gang: Gang) -> None:
    gang.start()
    gang.hear(size=2, states=(RankState.ARRIVED, RankState.MISSING))


def without_names(gang: Gang) -> None:
    gang.start()
    gang.wait(2, "ErrImagePull", 'failed to pull image "registry/x:1": not found')
    gang.hear(states=(RankState.ARRIVED,), expected=None, joined=3, partial="the store counts its processes")


def crash_loop(gang: Gang) -> None:
    last = {"lastState": {"terminated": {"exitCode": 1, "reason": "Error"}}, "restartCount": 4}
    gang.report(2, {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s"}}, phase="Running",
                spec={"restartPolicy": "OnFailure"}, main=last)  # fmt: skip


def ray(*missing: int, dead: int | None = None) -> Induce:
    def induce(gang: Gang) -> None:
        gang.start()
        gang.hear(*missing)
        if dead is not None:
            gang.give_up(dead, 0, "health check failed due to missing too many heartbeats")

    return induce


def ended_early(gang: Gang) -> None:
    running(gang)
    gang.end(1, 0, "Completed")
    gang.set(blocked=Blocked("RanksEnded", NOW))


def recorded(reason: str, message: str, known: str = "", ranks: str = "") -> Induce:
    """A daemon that has just taken over, or a client: it knows the record, with the cause that is known."""

    def induce(gang: Gang) -> None:
        gang.start()
        stuck = Condition(ConditionType.STUCK, True, reason, message, 1, NOW)
        kept = Stuck(known, message, ranks, NOW) if known else None
        gang.set(phase=Phase.RUNNING, assembled_at=NOW, conditions=(stuck,), stuck=kept)

    return induce
