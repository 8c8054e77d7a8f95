"""The roll call of an experiment as a document, for page, SDK and command line.

Names of fields are in camel case and times are RFC 3339, as in the Kubernetes API. Every text in it may come from a
program of the experiment or from another person's object; ``made`` makes each printable and short, by the type of its
field, so that no reader need do so.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache, partial
from typing import Annotated, Any, TypeVar, get_type_hints
from urllib.parse import quote

from msgspec import Meta, Struct

from muster.api.values.printable import WORD, printable
from muster.api.values.rank_ranges import RANGES, from_ranges
from muster.state.facts.causes.table import LOOKS_WELL

TEXT = 1000
"""Most characters of a message."""

T = TypeVar("T", bound=Struct)


def made(kind: type[T], source: object, /, **given: object) -> T:
    """Return a document of that kind: each field is a given value, or else the source's attribute of its name."""
    rules = _rules(kind)
    return kind(**{name: rule(given[name] if name in given else getattr(source, name)) for name, rule in rules.items()})


@lru_cache(maxsize=32)
def _rules(kind: type[Struct]) -> Mapping[str, Callable[[Any], object]]:
    """Return the function that cleans the value, by field."""
    hints = get_type_hints(kind, include_extras=True)
    return {
        name: next(filter(callable, getattr(hint, "__metadata__", ())), lambda value: value)
        for name, hint in hints.items()
    }


def path_of(namespace: str, name: str) -> str:
    """Return the path of the page of an experiment; that of its document ends in ``.json``."""
    return f"/experiments/{quote(namespace, safe='')}/{quote(name)}"


def stamp(seconds: float | None) -> str:
    """Return a wall time as RFC 3339 with milliseconds; empty for None, and for one beyond the calendar."""
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return ""


Word = Annotated[str, partial(printable, limit=WORD)]
Text = Annotated[str, partial(printable, limit=TEXT)]
Time = Annotated[str, stamp]
Ranks = Annotated[str, Meta(pattern=RANGES)]
"""Ranks as ``0-3,7``."""
Size = Annotated[int, Meta(ge=0, le=1_000_000)]
"""A number of ranks that a reader makes a list of."""


class ProgressReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """The progress of the gang, by the reports of its programs. ``state.view.progress`` explains the words."""

    sentence: Text
    """The progress in one line: ``step 1,840, 9.8 steps/s, slowest rank 37 at 1,702``."""
    step: int
    """The step that half of the reporting ranks have reached."""
    per_second: float | None
    slowest_rank: int | None
    stragglers: Ranks
    """The first 64 stragglers."""
    reporting: int
    """Number of reporting ranks."""
    moved_at: Time
    """The time at which the last step was seen."""
    longest: float
    """The longest time between two reports in this epoch, in seconds."""
    hangs_after: float
    """Seconds without a report after which the gang counts as hung."""
    hung: bool
    scalars: dict[str, float]
    """The numbers that the lowest reporting rank reports beside its step."""


class ArrivalReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """Ranks that the others wait for in collectives while the gang moves (``state.view.recorder.arrivals``)."""

    sentence: Text
    ranks: Ranks
    """The ranks of the pods."""


class Summary(Struct, frozen=True, kw_only=True, rename="camel"):
    """One experiment in one row. ``arrived`` and ``missing`` are None while they are not known."""

    namespace: Word
    name: Word
    kind: str
    operator: Word
    engine: str
    """``native`` for what Muster runs, ``observe`` for what another controller runs."""
    phase: str
    since: Time
    reason: Word
    message: Text
    stuck: Word
    """The reason of a true condition Stuck; empty if the condition is not true."""
    epoch: int
    restarts: int
    disruptions: int
    size: Size
    ready: int
    arrived: int | None
    missing: int | None
    clocks: dict[str, float]
    """Seconds each running clock has left; negative once it has run out."""
    devices: dict[str, int]
    """Extended resources that the pods hold: those of pods on a node that have not ended."""
    progress: ProgressReport | None
    """None if no program reports, and while the gang does not run."""
    problems: list[str]
    """The problems, the worst first (``muster.rollcall.make``)."""
    hint: str
    """The time without a step of any rank, if it is longer than usual and the run is not Stuck. It is no verdict."""


class Listing(Struct, frozen=True, kw_only=True, rename="camel"):
    """Some of the experiments, in order of namespace and name. ``after`` asks for the next ones; empty at the end."""

    total: int
    matching: int
    """Number that pass the filters; ``total`` and ``phases`` count all."""
    phases: dict[str, int]
    experiments: list[Summary]
    after: str


class IncidentReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """The runs that one subject blocks, as far as the reader may see them."""

    kind: str
    subject: Word
    cause: str
    """The present cause of most of the ranks."""
    namespace: Word
    """The namespace of all runs; empty if they have several."""
    since: Time
    sentence: Text
    remedy: Text
    """The next step."""
    ranks: int | None
    """The ranks of all runs; None if the report comes from Events, which do not have them."""
    devices: dict[str, int]
    runs: list[str]
    """The runs, as ``namespace/name``."""
    phases: list[str] = []
    """The causes that most of the ranks had, one after another."""
    flaps: int = 0
    """The number of times that it ended and returned in the last 20 minutes."""


class IncidentListing(Struct, frozen=True, kw_only=True, rename="camel"):
    """The incidents, the most urgent first. ``hidden`` counts those that no reader sees."""

    incidents: list[IncidentReport]
    hidden: int
    looked: bool
    """False if this daemon does not lead, or has just begun to: it does not know whether there are any."""
    shard: Word = ""
    """The name of this daemon among several (``settings.shard``)."""


class NodeFailureReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """A run that failed on a node: how often, first and last, and the last cause."""

    namespace: Word
    run: Word
    cause: Word
    certain: bool
    """True if Kubernetes reports the cause of the node itself."""
    times: int
    first: Time
    last: Time


class NodeReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """The failures on a node, the latest first, as far as the reader may see them."""

    node: Word
    suspect: Text = ""
    """The reason why the node is suspect; empty if it is not."""
    advice: Text = ""
    """The next step for a suspect."""
    failures: list[NodeFailureReport]


class NodeListing(Struct, frozen=True, kw_only=True, rename="camel"):
    """The nodes that failed runs, suspects first and then by runs. ``hidden`` counts those beyond what is shown."""

    nodes: list[NodeReport] = []
    hidden: int = 0
    dropped: int = 0
    """Failures that were dropped for lack of room: at most 32 runs of a node are kept, 4,000 in all, and 7 days."""
    looked: bool = False
    """False if this daemon does not lead, or has just begun to."""
    shard: Word = ""
    """The name of this daemon among several."""


class CoordinatorReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """The last answer of the coordinator."""

    address: Word
    state: str
    detail: Text
    at: Time
    latency: float
    protocol: Word
    expected: int | None
    """The number of processes the coordinator waits for."""


class CauseReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """The reason why the last epoch ended."""

    epoch: int
    at: Time
    sentence: Text
    reason: Word
    message: Text
    pod: Word
    rank: int
    container: Word
    node: Word
    exit_code: int | None
    signal: int
    disruption: bool


class MissingRank(Struct, frozen=True, kw_only=True, rename="camel"):
    """A missing rank and why it is missing."""

    rank: int
    group: Word = ""
    pod: Word = ""
    node: Word = ""
    why: Text = ""


class FindingReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """Members that share one cause. ``ranks`` is empty if only their number is known."""

    cause: str
    ranks: Ranks
    count: int
    sentence: Text
    what: Text
    """The cause in a few words: the sentence without its members."""
    evidence: Text
    next_step: str
    group: Word
    node: Word


class ConditionReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """A condition."""

    type: str
    status: bool
    reason: Word
    message: Text
    since: Time
    reason_since: Time


class StoryReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """One line of the story."""

    at: Time
    epoch: int
    reason: Word
    message: Text
    warning: bool


class DeadlineReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """A running clock: it runs out at ``until``, ``limit`` seconds after it began, and then ``action`` follows."""

    clock: str
    until: Time
    limit: float
    action: str


class TimeReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """The time since the start, in whole seconds by bucket; buckets without time are left out.

    The buckets add up to the rounded sum.
    """

    basis: str
    """``steps`` if programs report them; with ``phase`` lost work, pauses and program startup are not known."""
    seconds: dict[str, int]
    counting: str = ""
    """The bucket that the present counts to; empty if there is none."""


class GroupReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """A group: ``jobs`` of ``pods`` each, and its first rank."""

    name: Word
    role: str
    first_rank: int
    jobs: int
    pods: int


class Detail(Summary, frozen=True, kw_only=True, rename="camel"):
    """Everything about one experiment. ``ranks`` has the ranks in each state.

    ``ranks`` is the coordinator's answer; ``members`` has every rank, by the coordinator and its pod.
    """

    started_at: Time
    finished_at: Time
    delete_at: Time
    """The time at which it will be deleted; empty if it stays."""
    retention: int | None
    """Seconds for which the installation keeps it after its end, if that, and not its spec, sets ``delete_at``."""
    groups: list[GroupReport]
    members: dict[str, Ranks]
    deadlines: list[DeadlineReport]
    time: TimeReport | None
    """None before a status was written."""
    dashboard: Word
    """Host and port of the coordinator's web page inside the cluster; empty if it has none."""
    coordinator: CoordinatorReport | None
    ranks: dict[str, Ranks]
    missing_ranks: list[MissingRank]
    """The first 64 missing ranks."""
    findings: list[FindingReport]
    """The causes why members are missing or not at work, the most decisive first."""
    slow: ArrivalReport | None
    """The ranks that come last to collectives; None if there are none, or if that is not known."""
    cause: CauseReport | None
    conditions: list[ConditionReport]
    story: list[StoryReport]

    @property
    def unseen(self) -> dict[int, FindingReport]:
        """The finding of each rank whose pod looks well despite it."""
        well = [each for each in self.findings if each.cause in LOOKS_WELL]
        return {rank: each for each in well for rank in from_ranges(each.ranks, self.size)}
