"""The roll call of an experiment as a document: what page, SDK and command line show of it.

Names of fields are in camel case and times are RFC 3339, as in the Kubernetes API. Every text in it may come from a
program of the experiment or from a stranger's object; ``made`` makes each printable and short, as its field says, so
that no reader has to think of it.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Annotated, Any, TypeVar, get_type_hints

from msgspec import Struct

from muster.api.values.printable import WORD, printable
from muster.api.values.rank_ranges import from_ranges
from muster.state.facts.causes.table import LOOKS_WELL

TEXT = 1000
"""Characters of any message."""

T = TypeVar("T", bound=Struct)


def made(kind: type[T], source: object, /, **given: object) -> T:
    """The document of that kind: each field is what is given, or else the source's attribute of its name."""
    rules = _rules(kind)
    return kind(**{name: rule(given[name] if name in given else getattr(source, name)) for name, rule in rules.items()})


@lru_cache(maxsize=32)
def _rules(kind: type[Struct]) -> Mapping[str, Callable[[Any], object]]:
    """What makes the value of each field fit to be read."""
    hints = get_type_hints(kind, include_extras=True)
    return {name: next(iter(getattr(hint, "__metadata__", ())), _as_it_is) for name, hint in hints.items()}


def _as_it_is(value: object) -> object:
    return value


def stamp(seconds: float | None) -> str:
    """A wall time as RFC 3339 with milliseconds; empty for None, and for one that no calendar has."""
    if seconds is None:
        return ""
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    except (OverflowError, ValueError, OSError):
        return ""


def _word(text: str) -> str:
    return printable(text, WORD)


def _text(text: str) -> str:
    return printable(text, TEXT)


Word = Annotated[str, _word]
Text = Annotated[str, _text]
Time = Annotated[str, stamp]


class ProgressReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """How far the gang has come, by what its programs report. ``state.view.progress`` explains the words."""

    sentence: Text
    """All of it in one line: ``step 1,840, 9.8 steps/s, slowest rank 37 at 1,702``."""
    step: int
    """That half of the reporting ranks have reached."""
    per_second: float | None
    slowest_rank: int | None
    stragglers: str
    """The first 64, as ``0-3,7``."""
    reporting: int
    """How many ranks report."""
    moved_at: Time
    """When the last step was seen."""
    longest: float
    """The longest time between two reports in this epoch, in seconds."""
    hangs_after: float
    """Seconds without a report after which the gang counts as hung."""
    hung: bool
    scalars: dict[str, float]
    """What the lowest reporting rank reports beside its step."""


class ArrivalReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """Ranks that the others wait for in collectives while the gang moves (``state.view.recorder.arrivals``)."""

    sentence: Text
    ranks: str
    """Of the pods, as ``0-3,7``."""


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
    devices: dict[str, int]
    """Extended resources that its pods hold: those on a node that have not ended."""
    progress: ProgressReport | None
    """None where no program reports, and while the gang does not run."""
    problems: list[str]
    """What hurts, the worst first (``muster.rollcall.make``)."""
    hint: str
    """For how long no rank has made a step, where that is longer than usual and the run is not Stuck. No verdict."""


class Listing(Struct, frozen=True, kw_only=True, rename="camel"):
    """Some of the experiments, in order of namespace and name. ``after`` asks for the next ones; empty at the end."""

    total: int
    matching: int
    """How many pass the filters; ``total`` and ``phases`` are of all."""
    phases: dict[str, int]
    experiments: list[Summary]
    after: str


class IncidentReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """Runs that one subject keeps, as far as the reader may see them."""

    kind: str
    subject: Word
    cause: str
    """That of most of its ranks now."""
    namespace: Word
    """The one that all runs are of; empty where they are of several."""
    since: Time
    sentence: Text
    remedy: Text
    """What to do."""
    ranks: int | None
    """Of all runs; None where it is read from Events, which do not say it."""
    devices: dict[str, int]
    runs: list[str]
    """As ``namespace/name``."""
    phases: list[str] = []
    """The causes that most of its ranks had, one after another."""
    flaps: int = 0
    """How many times it ended and returned in the last 20 minutes."""


class IncidentListing(Struct, frozen=True, kw_only=True, rename="camel"):
    """The incidents, the most urgent first. ``hidden`` counts those beyond what is shown to any reader."""

    incidents: list[IncidentReport]
    hidden: int
    looked: bool
    """False: this daemon does not lead, or has just begun to: it does not know whether there are any."""
    shard: Word = ""
    """The name of this daemon among several (``settings.shard``)."""


class NodeFailureReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """A run that failed on a node: how often, first and last, and of what the last time."""

    namespace: Word
    run: Word
    cause: Word
    certain: bool
    """Kubernetes reports it of the node itself."""
    times: int
    first: Time
    last: Time


class NodeReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """What failed on a node, the latest first, as far as the reader may see it."""

    node: Word
    suspect: Text = ""
    """Why it is suspect; empty where it is not."""
    advice: Text = ""
    """What to do about a suspect."""
    failures: list[NodeFailureReport]


class NodeListing(Struct, frozen=True, kw_only=True, rename="camel"):
    """The nodes that failed runs, suspects first and then by runs. ``hidden`` counts those beyond what is shown."""

    nodes: list[NodeReport] = []
    hidden: int = 0
    dropped: int = 0
    """Failures that went for want of room: at most 32 runs of a node are kept, 4,000 in all, and 7 days."""
    looked: bool = False
    """False: this daemon does not lead, or has just begun to."""
    shard: Word = ""
    """The name of this daemon among several."""


class CoordinatorReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """What the coordinator answered last."""

    address: Word
    state: str
    detail: Text
    at: Time
    latency: float
    protocol: Word
    told: int | None
    """The number of processes the coordinator waits for."""


class CauseReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """Why the last epoch ended."""

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
    """Members that share one cause. ``ranks`` is as ``0-3,7``, or empty where only their number is known."""

    cause: str
    ranks: str
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
    """Where the time went since the start, in whole seconds by bucket; those without time are left out.

    They add up to the rounded sum.
    """

    basis: str
    """``steps`` where programs report them; with ``phase`` lost work, pauses and their startup are not known."""
    seconds: dict[str, int]
    counting: str = ""
    """The bucket that the present counts to; empty where it counts to none."""


class GroupReport(Struct, frozen=True, kw_only=True, rename="camel"):
    """A group: ``jobs`` of ``pods`` each, and its first rank."""

    name: Word
    role: str
    first_rank: int
    jobs: int
    pods: int


class Detail(Summary, frozen=True, kw_only=True, rename="camel"):
    """Everything about one experiment. ``ranks`` has the ranks in each state, as ``0-3,7``.

    It holds what the coordinator says; ``members`` has every rank, by what the coordinator and its pod show.
    """

    started_at: Time
    finished_at: Time
    delete_at: Time
    """When it will be deleted; empty where it stays."""
    retention: int | None
    """For how many seconds the installation keeps it after its end, where that and not its spec sets ``delete_at``."""
    groups: list[GroupReport]
    members: dict[str, str]
    deadlines: list[DeadlineReport]
    time: TimeReport | None
    """None before a status was written."""
    dashboard: Word
    """Host and port of the coordinator's web page inside the cluster; empty where it has none."""
    coordinator: CoordinatorReport | None
    ranks: dict[str, str]
    missing_ranks: list[MissingRank]
    """The first 64."""
    findings: list[FindingReport]
    """Why members are missing or not at work, the most decisive cause first."""
    slow: ArrivalReport | None
    """Who comes last to collectives; None where no rank does, and where that is not known."""
    cause: CauseReport | None
    conditions: list[ConditionReport]
    story: list[StoryReport]

    @property
    def unseen(self) -> dict[int, FindingReport]:
        """The finding of each rank whose pod looks well all the same."""
        well = [each for each in self.findings if each.cause in LOOKS_WELL]
        return {rank: each for each in well for rank in from_ranges(each.ranks, self.size)}
