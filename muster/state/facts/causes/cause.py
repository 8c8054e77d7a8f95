"""What a row of the table of causes has.

A row says how the cause is read from a pod, a refusal or a coordinator's port, and all that follows from it: words,
count, obstacle, runbook, next step, and who is charged. So a new cause is one row (``causes.table``).

A pod is sorted by its stage (``view.stage``) and the reason that it shows. Of the rows of its stage the first
one holds that

1. names the reason in ``reasons``,
2. has no ``reasons`` and a ``when`` that is true,
3. has neither: every stage has one such row.

The tally counts members by stage and reason. So a row that is read from ``when`` has no count of its own: it is counted
as the row of the third kind is.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from muster.state.facts.context import Context
from muster.state.view.roll import CoordinatorState
from muster.state.view.stage import Stage
from muster.state.vocabulary.pod import Pod

Say = str | Callable[[Context, Pod], str]
"""Words, or what makes them of a member's pod."""


class Charge(NamedTuple):
    """Who is charged for the end of a gang that gave up waiting (``policies.failures.restart_reasons``).

    ``reason`` is that of the cause in the status and in metrics.
    """

    reason: str
    platform: bool


@dataclass(frozen=True, slots=True, eq=False)
class MissingCause:
    """Why a rank has not arrived, or is lost to its gang. Each member has one cause at a time."""

    value: str
    """Its name, as in metrics, documents and the record."""
    meaning: str
    shown_by: str
    """Where the evidence comes from, for people."""
    next_step: str
    """What a person does. NAME, NAMESPACE, POD, CONTAINER, RANK and NODE stand for those of the member."""
    watched: str = ""
    """The next step in a run that another controller carries out, where it is another one."""
    step: Callable[[Context], str] | None = None
    """A next step that depends on more than the member; empty where it has none to add."""

    stages: tuple[Stage, ...] = ()
    """Stages of pods that have this cause."""
    reasons: tuple[str, ...] = ()
    """Reasons that such a pod shows (``view.stage``)."""
    when: Callable[[Context, Pod], bool] | None = None
    """What else such a pod shows."""
    refusals: tuple[str, ...] = ()
    """Reasons of refusals of its pod (``reconcilers.requests.refusals``)."""
    ports: tuple[CoordinatorState, ...] = ()
    """What is behind the port of a coordinator that has this cause."""

    what: Say = ""
    """A few words: what findings say after the ranks. Members with equal ``what`` are one finding: of the pod it says
    what it shows (``diagnosis.grouping``), and its node if ``names_node``."""
    evidence: Say = ""
    """What follows the pod and its node in the evidence, where it is not what is usual for its stage."""
    words: Say = ""
    """What a sentence says of a single member, where it is not ``what``. Of a pod that waits it says for what."""
    without_pod: str = "no pod yet"
    """The same of a member without a pod."""
    names_node: bool = False
    """The node is the cause: members on one node are one finding."""
    looks_well: bool = False
    """The pods of these members are ready all the same."""

    counted_as: str = ""
    """The wider cause that the metric counts it as: each one that it counts is a series of every experiment."""
    in_roll: bool = False
    """These members have arrived: they are not missing from the roll, and so in no metric of missing ranks."""
    stuck_as: str = ""
    """Its reason of the condition Stuck, where Muster names it; else it is the reason that the pod shows."""
    patience: float | None = None
    """Seconds after which it is called Stuck; None where it is as patient as its stage, or no obstacle by itself."""
    runbook: str = ""
    """The runbook about it; empty where it is a moment of a start or of an end, or follows from another cause."""
    charge: Charge | None = None
    """None where the cause ends a member by itself, or follows from another one."""

    def __str__(self) -> str:
        return self.value

    def __repr__(self) -> str:
        return self.value


def say(words: Say, context: Context, pod: Pod) -> str:
    """The words about that pod."""
    return words if isinstance(words, str) else words(context, pod)


def by_platform(reason: str) -> Charge:
    """A restart for it is a disruption: it costs nothing of the budget."""
    return Charge(reason, platform=True)


def by_user(reason: str) -> Charge:
    """A restart for it uses one unit of ``restartPolicy.backoffLimit``."""
    return Charge(reason, platform=False)
