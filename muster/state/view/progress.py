"""Progress: how far the ranks of an epoch have come, by the reports of their programs.

A program that calls ``muster.report`` has, per rank, a step and the number of its reports. Words:

- The *step* of the gang is the highest one that at least half of the reporting ranks have reached.
- *Steps per second* is the median of the ranks' own rates over their last 30 to 60 s, each by its own clock. While no
  report comes for longer than the longest interval so far, the time since then counts, too, so the rate goes down.
- A rank is a *straggler* if it was behind the step of the gang by more than ``LAG_STEPS`` steps, and by more than two
  values of one rank are apart twice (20 s of work; 40 s in the largest gangs), in each of the last ``LAG_LOOKS`` looks.
  Ranks that wait for each other in every step are never far apart: there, it names a rank only if the others continue
  without it.
- The *slowest* rank is the one furthest behind, if it is as far behind as that, too; once nothing moves, one step is
  enough.
- The gang *hangs* if no rank has reported anything for ``HANG_SECONDS``, or for ``HANG_INTERVALS`` times the longest
  time between two reports of a rank in this epoch, whichever is longer. If the store shows one rank a step behind, the
  others wait for it, and ``BEHIND_SECONDS`` are enough: a pause of all ranks leaves none behind. The longest time is by
  the clock of the program and so outlives the daemon. Checkpoints and evaluations are such intervals: a pause that
  takes as long as one before it, or less than a minute, is no hang. The first pause that is longer can be announced
  (``muster.pause``): it is awaited for its announced time, and is no interval. Or it is bridged with further reports of
  the same step. Silence of the coordinator does not count: a hang is what was read, and not what could not be.

Programs that do not report are not judged, nor is a gang before a rank has reported twice: the first step compiles.
That holds again once processes were restarted inside the pods and the first of them reports.

Reports are *read* from the store of the gang, or *sent* to this daemon (Kubeflow's progress endpoint, and the status of
a TrainJob). What was sent to another daemon, or while this one could not hear, is lost. So silence of sent reports is
counted only from when this daemon could hear, and a daemon that takes over has the step and the patience from the
record (``resumed``): a gang that hangs while daemons change is found, later, and no gang that moves is called hung.
"""

from collections.abc import Iterable, Mapping
from math import inf
from statistics import median
from typing import NamedTuple

import msgspec

from muster.api.gang import Steps
from muster.api.progress import report_interval
from muster.state.view.lead import LONGEST, MOST_POINTS, Lead, Point, Spent, another, thinned
from muster.state.view.turns import A_TURN, Turns, at_once
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.wall_time import WallTime

LAG_STEPS = 2
LAG_LOOKS = 3
HANG_SECONDS = 60.0
BEHIND_SECONDS = 45.0
HANG_INTERVALS = 5
WINDOW = 30.0
"""Seconds of the program's clock after which a rank's rate counts from a later step."""
SENT_AGAIN = 120.0
"""Seconds for which a daemon that takes over waits for the next report of a gang that sent them to the one before."""
LONGEST_INTERVAL = 6 * 3600.0
"""Seconds: the longest time between two reports that is believed."""
SHOWN_STRAGGLERS = 64
"""Most stragglers that are named."""


class StepReport(NamedTuple):
    """The last report of one rank. It is a claim of the program."""

    rank: int
    step: int
    calls: int
    """The number of its reports."""
    at: float = 0.0
    """The time by the monotonic clock of the program."""
    longest: float = 0.0
    """The longest time between two of its reports, in seconds."""
    scalars: tuple[tuple[str, float], ...] = ()
    pause: float = 0.0
    """Seconds of a pause that the program has announced with this report."""
    spent: Spent = Spent()
    works: float = 0.0
    """Seconds for which the process is at work after this report. It is no news of a step."""


class _Rank(NamedTuple):
    """One rank: its last report, the steps from which its rate counts, and in how many looks in a row it was behind."""

    report: StepReport
    older: tuple[int, float]
    newer: tuple[int, float]
    behind: int = 0


class Progress(msgspec.Struct, frozen=True):
    """The progress of the gang, as of the last look that read reports."""

    epoch: int
    read_at: WallTime
    """The time of the last read of the reports, in wall seconds."""
    moved_at: WallTime
    """The time at which a new report was seen. At the first look, the time of that look."""
    step: int = 0
    rate: float | None = None
    """Steps per second; None before a rank has reported two steps."""
    slowest: int | None = None
    """The rank furthest behind, if one is."""
    slowest_step: int = 0
    stragglers: tuple[int, ...] = ()
    """The first ``SHOWN_STRAGGLERS`` of them, ascending."""
    straggling: int = 0
    """The number of stragglers."""
    reporting: int = 0
    """The number of ranks that report."""
    longest: float = 0.0
    """The longest time between two reports of one rank in this epoch, in seconds."""
    pause: float = 0.0
    """The longest pause that a rank has announced with its last report, in seconds."""
    repeated: bool = False
    """True if a rank has reported at least twice."""
    moved: bool = False
    """True if this daemon has seen a report follow another: ``moved_at`` is the time of it."""
    unwatched: float = 0.0
    """Seconds of the hang during which this daemon took over, by the first report that it saw to follow another."""
    scalars: tuple[tuple[str, float], ...] = ()
    """The values that the lowest reporting rank has reported beside its step."""
    lead: Lead | None = None
    """The lowest reporting rank, by whose reports time is counted."""
    ranks: Mapping[int, _Rank] = {}
    sent: bool = False
    """True if the reports were sent to this daemon, and not read by it."""
    restarts: int = 0
    """The most restarts of the processes of one rank inside their pod."""
    former: Lead | None = None
    """The lead before its process was restarted, if this daemon has read both."""
    workers: frozenset[int] = frozenset()
    """Ranks that are at work now, by what they have sent."""

    @property
    def patience(self) -> float:
        """Seconds without a report after which the gang hangs."""
        waited_for = self.slowest is not None and not self.sent
        least = BEHIND_SECONDS if waited_for else HANG_SECONDS
        return max(least, HANG_INTERVALS * self.longest, self.pause)

    @property
    def lasting_patience(self) -> float:
        """Seconds for the next hang: without a pause that is announced for now, and a rank that is behind now."""
        return max(HANG_SECONDS, HANG_INTERVALS * self.longest)

    @property
    def hangs_at(self) -> float | None:
        """The time at which the gang hangs if no more is sent; None if that shows at the next look, or is not known."""
        return self.moved_at + self.patience if self.sent and self.repeated else None

    @property
    def interval(self) -> float | None:
        """Seconds between two steps while they came; None before a rank has reported two."""
        rate = _rate(self.ranks.values(), 0.0)
        return 1 / rate if rate else None

    @property
    def hung(self) -> bool:
        """True if no rank makes progress."""
        return self.repeated and self.read_at - self.moved_at >= self.patience


def progress_in_turns(
    reports: Iterable[StepReport],
    epoch: int,
    now: float,
    before: Progress | None,
    *,
    sent: bool = False,
    members: Mapping[int, Pod] | None = None,
) -> Turns[Progress | None]:
    """Return the progress after a look that read these reports, given the one before it (of any epoch).

    With ``sent`` they were sent, and are the last of each rank. ``members`` are the pods by rank.
    """
    known = before is not None and (before.epoch, before.sent) == (epoch, sent)
    earlier = before if before is not None and known else Progress(epoch, read_at=now, moved_at=now, sent=sent)
    ranks: dict[int, _Rank] = {}
    moved = repeated = restarted = False
    for number, report in enumerate(reports, 1):
        if number % A_TURN == 0:
            yield
        last = earlier.ranks.get(report.rank)
        if last is not None and _same(last.report, report):
            ranks[report.rank] = last
            continue
        moved = True
        repeated = repeated or report.calls > 1
        restarted = restarted or (last is not None and _restarted(report, last))
        ranks[report.rank] = _moved(report, last)
    if not ranks:
        return earlier if known else None
    moved_at = now if moved else earlier.moved_at
    longest = min(max(rank.report.longest for rank in ranks.values()), LONGEST_INTERVAL)
    if sent:
        longest = max(longest, earlier.longest)  # of the daemon before
    in_order = sorted(rank.report.step for rank in ranks.values())
    step, waited = in_order[len(in_order) // 2], now - moved_at
    rate = _rate(ranks.values(), max(0.0, waited - max(longest, HANG_SECONDS / HANG_INTERVALS)))
    yield
    ranks, late = _behind(ranks, step, rate or 0.0)
    yield
    slowest = _slowest(ranks, step, rate or 0.0, waited)
    lowest = min(ranks)
    one = ranks[lowest].report
    before_it, former = earlier.lead, earlier.former
    pod = (members or {}).get(lowest)
    lead = lead_after(one, now, before_it, pod)
    if before_it is not None and before_it.rank == lowest and before_it.points[0] != lead.points[0]:
        turned = lead.after > before_it.begun_at or another(before_it.spent, lead.spent)
        former = before_it if turned else former
    return Progress(
        epoch=epoch,
        read_at=now,
        moved_at=moved_at,
        step=step,
        rate=rate,
        slowest=slowest,
        slowest_step=ranks[slowest].report.step if slowest is not None else 0,
        stragglers=tuple(late[:SHOWN_STRAGGLERS]),
        straggling=len(late),
        reporting=len(ranks),
        longest=longest,
        pause=min(max(rank.report.pause for rank in ranks.values()), LONGEST_INTERVAL),
        repeated=repeated or (earlier.repeated and not restarted),
        moved=(moved and known) or earlier.moved,
        unwatched=_unwatched(longest, earlier, moved),
        scalars=one.scalars,
        lead=lead,
        ranks=ranks,
        sent=sent,
        restarts=max(rank.report.spent.restarts for rank in ranks.values()),
        former=former,
    )


steps_progress = at_once(progress_in_turns)


def lead_after(report: StepReport, read_at: float, before: Lead | None, pod: Pod | None = None) -> Lead:
    """Return the lead after a look that read this report of it, given how it was before, and its pod."""
    rank, step, spent = report.rank, report.step, report.spent
    if report.at <= 0:  # a feeder without a clock of the program: a step was made when it was read
        same = before is not None and before.rank == rank and before.points[-1].step == step
        at = before.at if before is not None and same else read_at - (before.offset if before is not None else 0.0)
    else:
        at = min(report.at, LONGEST)
    earlier = before if before is not None and before.rank == rank and at >= before.at else None  # of one clock
    known = earlier if earlier is not None and not another(earlier.spent, spent) else None
    if known is not None and (known.at, known.spent, known.pause) == (at, spent, report.pause):
        return known
    if known is not None and spent.first < 0 and step < known.points[-1].step and _turned(pod) > known.reported_at:
        known = None  # a feeder that shows no process
    work = max(0.0, at - spent.paused)
    here = Point(step, work)
    points = (*known.points, here) if known else (here,)
    seen = known.begun if known else work
    offset = min(earlier.offset, read_at - at) if earlier else read_at - at
    begun = min(spent.begun, at) if spent.begun >= 0 else seen
    return Lead(
        rank=rank,
        offset=offset,
        at=at,
        first=spent.first if spent.first >= 0 else known.first if known else step,
        begun=begun,
        spent=spent,
        longest=report.longest,
        pause=report.pause,
        points=thinned(points, MOST_POINTS),
        after=_turned(pod, offset + min(begun, points[0].at)) or (known.after if known else 0.0),
    )


def _turned(pod: Pod | None, until: float = inf) -> float:
    """Return when a container of the pod was last started, or had ended, until then; 0 if that is unknown."""
    if pod is None:
        return 0.0
    ended = pod.last_exit.finished_at if pod.last_exit is not None else 0.0
    return max((at for at in (pod.started_at, ended) if at <= until), default=0.0)


def resumed(steps: Steps, now: float) -> Progress:
    """Return the progress, by the record, of a gang that sent its reports to the daemon before this one."""
    return Progress(
        epoch=steps.epoch,
        read_at=now,
        moved_at=now,
        step=steps.step,
        reporting=steps.reporting,
        longest=min(steps.hung_after / HANG_INTERVALS, LONGEST_INTERVAL) if steps.hung_after > HANG_SECONDS else 0.0,
        pause=SENT_AGAIN,
        repeated=True,
        sent=True,
    )


def _unwatched(longest: float, before: Progress, moved: bool) -> float:
    """Return the seconds of the silence before the first movement, if this daemon has not seen its beginning."""
    watched = before.moved or before.hung or before.sent or not before.repeated
    return before.unwatched if watched or not moved or longest < before.lasting_patience else longest


def _same(last: StepReport, report: StepReport) -> bool:
    """Return True if the program has reported nothing since; it may have been at work."""
    return last == report or (bool(last.works or report.works) and last == report._replace(works=last.works))


def _moved(report: StepReport, last: _Rank | None) -> _Rank:
    """Return the rank after a new report. A program that starts over, or whose clock does, has no rate for a moment."""
    here = (report.step, report.at)
    if last is None or report.at < last.report.at or report.step < last.report.step or _restarted(report, last):
        return _Rank(report, here, here)
    if report.at - last.newer[1] >= WINDOW:
        return _Rank(report, last.newer, here, last.behind)
    return _Rank(report, last.older, last.newer, last.behind)


def _restarted(report: StepReport, last: _Rank) -> bool:
    return another(last.report.spent, report.spent)


def _rate(ranks: Iterable[_Rank], waited: float) -> float | None:
    spans = [(rank.report.step - rank.older[0], rank.report.at - rank.older[1] + waited) for rank in ranks]
    rates = [steps / seconds for steps, seconds in spans if seconds > waited]
    return median(rates) if rates else None


def _behind(ranks: dict[int, _Rank], step: int, rate: float) -> tuple[dict[int, _Rank], list[int]]:
    """Return the ranks with their looks behind counted, and the stragglers among them."""
    allowed = max(LAG_STEPS, rate * 2 * report_interval(len(ranks)))
    late = []
    for number, rank in ranks.items():
        if step - rank.report.step > allowed:
            ranks[number] = rank = rank._replace(behind=min(rank.behind + 1, LAG_LOOKS))
            if rank.behind >= LAG_LOOKS:
                late.append(number)
        elif rank.behind:
            ranks[number] = rank._replace(behind=0)
    return ranks, sorted(late)


def _slowest(ranks: Mapping[int, _Rank], step: int, rate: float, waited: float) -> int | None:
    apart = 2 * report_interval(len(ranks))
    noise = max(1.0, rate * apart) if waited <= 2 * apart else 0.0
    number = min(ranks, key=lambda each: (ranks[each].report.step, each))
    return number if step - ranks[number].report.step > noise else None
