"""A row of the table of causes.

A row has the way in which a cause is read from a pod, a refusal or a coordinator's port, and its consequences: words,
count, obstacle, runbook, next step, and who is charged. So a new cause is one row (``causes.table``).

A pod is sorted by its stage (``view.stage``) and the reason that it shows. Of the rows of its stage the first
one holds that

1. names the reason in ``reasons``,
2. has no ``reasons`` and a ``when`` that holds,
3. has neither: every stage has one such row.

The tally counts members by stage and reason. So a row that depends on ``when`` has no count of its own: it is counted
as the row of the third kind is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from muster.state.facts.context import Context
from muster.state.view.probe_result import ProbeResult
from muster.state.view.roll import CoordinatorState, RankState
from muster.state.view.stage import Stage
from muster.state.vocabulary.group import Coordinator
from muster.state.vocabulary.pod import Pod

Say = str | Callable[[Context, Pod], str]
"""Words, or a function that makes them from a member's pod."""


class Charge(NamedTuple):
    """The side that is charged for the end of a gang that gave up waiting (``policies.failures.restart_reasons``).

    ``reason`` is that of the cause in the status and in metrics.
    """

    reason: str
    platform: bool


@dataclass(frozen=True, slots=True, eq=False)
class MissingCause:
    """The cause of a rank that has not arrived, or is lost to its gang. Each member has one cause at a time."""

    value: str
    """The name, as in metrics, documents and the record."""
    meaning: str
    next_step: str
    """The step of a person. NAME, NAMESPACE, POD, CONTAINER, RANK and NODE are replaced by those of the member."""
    watched: str = ""
    """The next step in a run of another controller, if it differs."""
    step: Callable[[Context], str] | None = None
    """A next step that depends on more than the member; empty if it has none to add."""

    stages: tuple[Stage, ...] = ()
    reasons: tuple[str, ...] = ()
    """Reasons that such a pod shows (``view.stage``)."""
    when: Callable[[Context, Pod], bool] | None = None
    """A further condition on such a pod."""
    refusals: tuple[str, ...] = ()
    """Reasons of refusals of its pod (``reconcilers.requests.refusals``)."""
    ports: tuple[CoordinatorState, ...] = ()
    """States of the port of a coordinator that has this cause."""

    what: Say = ""
    """A few words for findings, after the ranks. Members with equal ``what`` are one finding, so it has only what the
    pod shows (``diagnosis.diagnose``), and its node if ``names_node``."""
    evidence: Say = ""
    """The words after the pod and its node in the evidence, if they differ from those usual for its stage."""
    words: Say = ""
    """The words of a sentence about a single member, if not ``what``. For a pod that waits: the reason why it waits."""
    without_pod: str = "no pod yet"
    names_node: bool = False
    """True if the node is the cause: members on one node are one finding."""
    looks_well: bool = False
    """True if the pods of these members are ready in spite of it."""

    counted_as: str = ""
    """The wider cause as which the metric counts it: each counted cause is a series of every experiment. A row with
    ``when`` is counted as that of its stage."""
    in_roll: bool = False
    """True if these members have arrived: they are not missing from the roll, and so in no metric of missing ranks."""
    stuck_as: str = ""
    """The reason of the condition Stuck, if Muster names it; else it is the reason that the pod shows."""
    patience: float | None = None
    """Seconds after which it is called Stuck; None if its stage's patience holds, or it is no obstacle by itself."""
    runbook: str = ""
    """The runbook about it; empty for a step of a start or of an end, and if it follows from another cause."""
    charge: Charge | None = None
    """The charge; None if the cause ends a member by itself, or follows from another one."""

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return self.value


def say(words: Say, context: Context, pod: Pod) -> str:
    """Return the words about that pod."""
    return words if isinstance(words, str) else words(context, pod)


def by_platform(reason: str) -> Charge:
    """Charge the platform: a restart is a disruption, and costs nothing of the budget."""
    return Charge(reason, platform=True)


def by_user(reason: str) -> Charge:
    """Charge the user: a restart uses one unit of ``restartPolicy.backoffLimit``."""
    return Charge(reason, platform=False)


def passive(context: Context) -> bool:
    """Return True if the run has no coordinator that can be asked."""
    return context.plan.asked is None


def is_coordinator(context: Context, pod: Pod) -> bool:
    """Return True if the pod is that of the coordinator."""
    coordinator = context.plan.coordinator
    return coordinator is not None and coordinator.rank == pod.rank


def serves(context: Context) -> bool:
    """Return True if the coordinator has served in this epoch, as far as is known."""
    record = context.record
    if context.probe is not None and context.probe.served:
        return True
    return record.assembled_at is not None or (record.roll is not None and record.roll.arrived > 0)


def needs_no_port(coordinator: Coordinator, probe: ProbeResult) -> bool:
    """Return True if a closed port is no alarm: the run ends, or the rendezvous no longer needs the port."""
    closed = probe.answer.coordinator is CoordinatorState.REFUSED
    return probe.leaving or (coordinator.may_close and probe.passed and closed)


def is_stale(context: Context, pod: Pod) -> bool:
    """Return True if only the coordinator that ran before this one knows the member."""
    roll = context.tally.roll
    return pod.rank < len(roll) and roll[pod.rank] is RankState.STALE


def uncalled(context: Context, pod: Pod) -> str:
    """Return the words about a member whose program runs and has not registered."""
    if is_stale(context, pod):
        return "running, but it belongs to the life of the coordinator before this one"
    return "running, but not ready" if passive(context) else "running, but it has not called the coordinator"
