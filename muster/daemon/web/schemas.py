"""The documents of the JSON endpoints and of the page; ``muster.daemon.web.rollcall`` makes them.

Names of fields are in camel case and times are RFC 3339, as in the Kubernetes API. Every text is printable and short.
"""

from msgspec import Struct


class ProgressReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """How far the gang has come, by what its programs report. ``state.view.progress`` explains the words."""

    sentence: str
    """All of it in one line: ``step 1,840, 9.8 steps/s, slowest rank 37 at 1,702``."""
    step: int
    """That half of the reporting ranks have reached."""
    per_second: float | None
    slowest_rank: int | None
    stragglers: str
    """The first 64, as ``0-3,7``."""
    reporting: int
    """How many ranks report."""
    moved_at: str
    """When the last step was seen."""
    longest: float
    """The longest time between two reports in this epoch, in seconds."""
    hangs_after: float
    """Seconds without a report after which the gang counts as hung."""
    hung: bool
    scalars: dict[str, float]
    """What the lowest reporting rank reports beside its step."""


class Summary(Struct, frozen=True, kw_only=True, rename="camel"):
    """One experiment in one row. ``arrived`` and ``missing`` are None while they are not known."""

    namespace: str
    name: str
    kind: str
    operator: str
    engine: str
    """``native`` for what Muster runs, ``observe`` for what another controller runs."""
    phase: str
    since: str
    reason: str
    message: str
    stuck: str
    """Reason of a true condition Stuck; empty if it is not."""
    epoch: int
    restarts: int
    disruptions: int
    size: int
    ready: int
    arrived: int | None
    missing: int | None
    clocks: dict[str, float]
    """Seconds each running clock has left; negative once it has run out."""
    progress: ProgressReport | None
    """None where no program reports, and while the gang does not run."""
    hurts: list[str]
    """What hurts, the worst first (``muster.daemon.web.hurts``)."""


class Listing(Struct, frozen=True, kw_only=True, rename="camel"):
    """Some of the experiments, in order of namespace and name. ``after`` asks for the next ones; empty at the end."""

    total: int
    matching: int
    """How many pass the filters; ``total`` and ``phases`` are of all."""
    phases: dict[str, int]
    experiments: list[Summary]
    after: str


class CoordinatorReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the coordinator answered last."""

    address: str
    state: str
    detail: str
    at: str
    latency: float
    protocol: str
    told: int | None
    """The number of processes the coordinator waits for."""


class CauseReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """Why the last epoch ended."""

    epoch: int
    at: str
    sentence: str
    reason: str
    message: str
    pod: str
    rank: int
    container: str
    node: str
    exit_code: int | None
    signal: int
    disruption: bool


class MissingRank(Struct, frozen=True, kw_only=True, rename="camel"):
    """A missing rank and why it is missing."""

    rank: int
    group: str
    pod: str
    node: str
    why: str


class FindingReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """Members that share one cause. ``ranks`` is as ``0-3,7``, or empty where only their number is known."""

    cause: str
    ranks: str
    count: int
    sentence: str
    evidence: str
    next_step: str
    group: str
    node: str


class ConditionReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """A condition."""

    type: str
    status: bool
    reason: str
    message: str
    since: str


class StoryReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """One line of the story."""

    at: str
    epoch: int
    reason: str
    message: str
    warning: bool


class DeadlineReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """A running clock: it runs out at ``until``, ``limit`` seconds after it began, and then ``action`` follows."""

    clock: str
    until: str
    limit: float
    action: str


class GroupReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """A group: ``jobs`` of ``pods`` each, and its first rank."""

    name: str
    role: str
    first_rank: int
    jobs: int
    pods: int


class Detail(Summary, frozen=True, kw_only=True, rename="camel"):
    """Everything about one experiment. ``ranks`` has the ranks in each state, as ``0-3,7``.

    It holds what the coordinator says; ``members`` has every rank, by what the coordinator and its pod show.
    """

    started_at: str
    finished_at: str
    groups: list[GroupReport]
    members: dict[str, str]
    deadlines: list[DeadlineReport]
    dashboard: str
    """Host and port of the coordinator's web page inside the cluster; empty where it has none."""
    coordinator: CoordinatorReport | None
    ranks: dict[str, str]
    missing_ranks: list[MissingRank]
    """The first 64."""
    findings: list[FindingReport]
    """Why members are missing or not at work, the most decisive cause first."""
    cause: CauseReport | None
    conditions: list[ConditionReport]
    story: list[StoryReport]
