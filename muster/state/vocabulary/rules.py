"""The rules of a plan: gates of groups, success, actions after failures, and deadlines.

Rules are data. An operator has them (``muster.kinds``), the policies apply them (``state.policies``), and no
policy asks which operator a rule came from.
"""

from dataclasses import dataclass
from enum import StrEnum

from muster.api.causes import Cause
from muster.api.values.patterns import found_in


class GateCondition(StrEnum):
    """The state that the awaited pods must reach (JobSet v1alpha2: ``dependsOn.status``; Serving is Muster's)."""

    CREATED = "Created"
    """Every awaited pod exists."""
    READY = "Ready"
    """Every awaited pod is ready, or has succeeded."""
    COMPLETE = "Complete"
    """Every awaited pod has succeeded."""
    SERVING = "Serving"
    """The coordinator has served in this epoch, with all its parts."""
    ARRIVED = "Arrived"
    """Every member that does not wait for such a gate itself has arrived in the coordinator's roll."""


@dataclass(frozen=True, slots=True)
class Gate:
    """A condition that a group awaits before its pods are created. The coordinator never waits for itself."""

    condition: GateCondition
    group: str = ""
    """The awaited group; empty: the coordinator."""


class Quantifier(StrEnum):
    """The number of target jobs that must succeed (JobSet v1alpha2: ``successPolicy.operator``)."""

    ALL = "All"
    ANY = "Any"


@dataclass(frozen=True, slots=True)
class SuccessRule:
    """The condition of success: all jobs, or any job, of the target groups. No target means every group."""

    quantifier: Quantifier = Quantifier.ALL
    groups: tuple[str, ...] = ()
    after_failures: bool = False
    """True if, of a failure and a success seen together, the failure counts; else the success."""


EVERY_JOB = SuccessRule()
"""The experiment succeeds when every job of every group has."""


class FailureAction(StrEnum):
    """The action after a failure.

    In JobSet v1alpha2 an action that ends in ``AndIgnoreMaxRestarts`` is one whose rule is not ``counted``.
    """

    RESTART_GANG = "RestartGang"
    """End the epoch, delete every pod and start the next epoch."""
    RESTART_JOB = "RestartJob"
    """Run every pod of the failed member's job again as the next attempt, in the same epoch."""
    RESTART_MEMBER = "RestartMember"
    """Run the failed member's pod again as the next attempt, in the same epoch."""
    IGNORE = "Ignore"
    """The member counts as ended without success, and is not run again in this epoch."""
    FAIL_EXPERIMENT = "FailExperiment"
    """End the experiment as Failed."""

    @property
    def partial(self) -> bool:
        """Return True if the epoch continues: the action concerns a member or a job."""
        return self in (FailureAction.RESTART_JOB, FailureAction.RESTART_MEMBER, FailureAction.IGNORE)


@dataclass(frozen=True, slots=True)
class Escalation:
    """The new reason of a failure for the rules after one that is used up; these are about more than a member.

    ``message`` may name ``{pod}``, ``{namespace}``, ``{container}``, ``{exit_code}`` and ``{message}`` of the failure.
    """

    reason: str
    message: str = "{message}"


@dataclass(frozen=True, slots=True)
class FailureRule:
    """The action for the failures it matches. An empty matcher matches everything; the first matching rule applies."""

    action: FailureAction
    disruption: bool | None = None
    """Match only disruptions (True) or only failures of the program (False)."""
    groups: tuple[str, ...] = ()
    exit_codes: tuple[int, ...] = ()
    except_codes: tuple[int, ...] = ()
    """Match only exits with a code other than these."""
    container: str = ""
    """Match only failures of that container."""
    reasons: tuple[str, ...] = ()
    counted: bool = True
    """True if a restart uses one unit of the restart budget."""
    name: str = ""
    messages: tuple[str, ...] = ()
    """Regular expressions (RE2); one of them must be found in the failure's message."""
    limit: int | None = None
    """Uses of the rule in the life of the experiment. After them the experiment fails, and names the rule."""
    per_job: int | None = None
    """Uses of the rule for members of one job in one life of that job (batch/v1 Job: ``backoffLimit``).
    After them the rule is skipped, and the failure counts as ``becomes`` for the rules after it."""
    becomes: Escalation | None = None
    backoff: "Backoff | None" = None
    """The wait of each member, by the failures in this life of its job (``per_job``); None: that of the gang."""

    def matches(self, failure: Cause) -> bool:
        """Return True if every matcher that is set holds."""
        code = failure.exit_code
        return (
            (self.disruption is None or self.disruption == failure.disruption)
            and (not self.groups or failure.group in self.groups)
            and (not self.exit_codes or code in self.exit_codes)
            and (not self.except_codes or bool(code and code not in self.except_codes))
            and (not self.container or failure.container == self.container)
            and (not self.reasons or failure.reason in self.reasons)
            and (not self.messages or any(found_in(pattern, failure.message) for pattern in self.messages))
        )


@dataclass(frozen=True, slots=True)
class CulpritRule:
    """A pattern by which survivors, or their coordinator, name the lost member."""

    pattern: str
    """Regular expression of the text; its first group is the rank."""
    sentence: str
    """Muster's words about that rank."""


GANG_FAILURE_RULES = (
    FailureRule(FailureAction.RESTART_GANG, disruption=True, counted=False),
    FailureRule(FailureAction.RESTART_GANG),
)
"""The rules of a gang whose members cannot be replaced one by one: every failure restarts all of them, and a
disruption of a member (preemption, eviction, node loss) costs nothing of the budget."""


class ClockName(StrEnum):
    """The deadlines that can run over an experiment; ``CLOCKS`` has a row for each."""

    TOTAL = "total"
    PENDING = "pending"
    STARTING = "starting"
    ASSEMBLY = "assembly"
    RUN = "run"
    PROGRESS = "progress"
    TERMINATING = "terminating"


class ClockAction(StrEnum):
    """The action when a clock has run out."""

    FAIL = "Fail"
    RESTART = "Restart"
    ALERT = "Alert"


class Moment(StrEnum):
    """A persisted time that starts or stops a clock; the value is the field of the record that holds it."""

    STARTED = "started_at"
    EPOCH_STARTED = "epoch_at"
    SCHEDULED = "scheduled_at"
    ASSEMBLING = "assembling_at"
    ASSEMBLED = "assembled_at"
    PROGRESSED = "progressed_at"
    ENDING = "ending_at"
    FINISHED = "finished_at"


@dataclass(frozen=True, slots=True)
class ClockRule:
    """One deadline: it runs from ``begins`` until ``ends`` and acts ``after`` seconds.

    ``sentence`` describes the missed event. It may hold the placeholders of ``state.policies.deadline``, such as
    ``{scheduled}``, which are filled in when the clock runs out.
    """

    name: ClockName
    begins: Moment
    ends: Moment | None
    """The moment that stops the clock; None: the record clears ``begins`` itself when the clock must stop."""
    reason: str
    sentence: str
    after: float = 0.0
    action: ClockAction = ClockAction.ALERT
    while_idle: bool = False
    """True if the clock also runs while the experiment is suspended or finished."""
    groups: frozenset[str] = frozenset()
    """The groups that the clock is for: it stops when every member of them has succeeded, and acts on their jobs.
    Empty: the gang."""


CLOCKS = (
    ClockRule(
        ClockName.TOTAL,
        Moment.STARTED,
        Moment.FINISHED,
        "DeadlineExceeded",
        "the experiment did not finish {within}",
        action=ClockAction.FAIL,
    ),
    ClockRule(
        ClockName.PENDING,
        Moment.EPOCH_STARTED,
        Moment.SCHEDULED,
        "PendingDeadlineExceeded",
        "only {scheduled}/{size} members got a node {within}",
    ),
    ClockRule(
        ClockName.STARTING,
        Moment.SCHEDULED,
        Moment.ASSEMBLING,
        "StartingDeadlineExceeded",
        "no program started {within}: {idle}",
        after=600.0,
    ),
    ClockRule(ClockName.ASSEMBLY, Moment.ASSEMBLING, Moment.ASSEMBLED, "AssemblyDeadlineExceeded", "{roll}"),
    ClockRule(
        ClockName.RUN,
        Moment.ASSEMBLED,
        Moment.FINISHED,
        "RunDeadlineExceeded",
        "only {done} of {size} members ended {within}",
    ),
    ClockRule(
        ClockName.PROGRESS,
        Moment.PROGRESSED,
        Moment.FINISHED,
        "ProgressDeadlineExceeded",
        "{done} of {size} members have ended; no sign of progress {within}",
    ),
    ClockRule(
        ClockName.TERMINATING,
        Moment.ENDING,
        None,
        "TerminatingDeadlineExceeded",
        "{lingering} did not end {within}",
        after=120.0,
        while_idle=True,
    ),
)
"""The clocks: one row for each deadline, with when it runs, its reason and its sentence.

``total`` starts again after a suspension, and restarts do not stop it. ``run`` stops at the end of its epoch, too. Each
sign of progress restarts ``progress``. ``terminating`` runs from when pods that must go are asked to until they are
gone. The ``run`` clock of a JobSet (``kinds.jobset.status``) runs from the epoch's launch until some groups have
succeeded.

A spec sets ``after`` and ``action`` of a row under its name in ``spec.clocks``; a clock that is not set does not run.
The order of the rows is the order in which clocks that have run out are judged.

Two rows have a default, with the action Alert. ``terminating``, 120 s: old pods that take this long to end block the
next epoch. ``starting``, 600 s: a volume that cannot be mounted shows nowhere else, and few images take as long.
"""


@dataclass(frozen=True, slots=True)
class Backoff:
    """Seconds to wait before restart number k: ``initial * factor**(k-1)``, at most ``maximum``."""

    initial: float = 1.0
    maximum: float = 300.0
    factor: float = 2.0

    def delay(self, restart: int) -> float:
        """Return the wait before the ``restart``-th restart (counted from 1)."""
        exponent = min(max(restart - 1, 0), 64)  # factor 2 to the 64 exceeds every maximum; the cap keeps it finite
        return float(min(self.maximum, self.initial * self.factor**exponent))


DEFAULT_BACKOFF = Backoff()
