"""How a gang is judged by what was said of it, and how a row of the table is printed."""

from dataclasses import dataclass

from tests.hangs.programs import HALTED
from tests.hangs.rows import VERDICTS, Shown, named
from tests.hangs.world import Gang, Said


@dataclass(frozen=True, slots=True)
class Judged:
    """A row that was played. ``seconds`` is the time from the halt to what was said of it."""

    gang: Gang
    right: bool
    said: str
    seconds: float | None = None

    @property
    def line(self) -> str:
        """The row of the table."""
        row, late = self.gang.row, "" if self.seconds is None else f"{self.seconds:.0f} s"
        verdict = "right" if self.right else "WRONG"
        return f"{verdict}  {row.name:<34} {row.shown:<10} {late:>6}  {self.said or 'nothing was said'}"


def of_hang(gang: Gang) -> Judged:
    """What shows the hang was said, of the right rank, and stayed said."""
    halted, verdicts = gang.since(HALTED), gang.verdicts
    if halted is None:
        return Judged(gang, False, f"it did not come to its halt: {_state(gang)}")
    if early := [each for each in verdicts if each.at < halted]:
        return Judged(gang, False, f"said before its halt: {early[0].reason}: {early[0].sentence}")
    if not verdicts:
        return _by_hint(gang, halted)
    first = verdicts[0]
    wrong = next((each for each in verdicts if not gang.row.right(gang.victim, each.sentence)), None)
    over = [each for each in gang.said if not each.reason and not _ends(gang, each)]
    text = f"{first.reason}: {first.sentence}"
    if wrong is not None:
        text = f"{wrong.reason}: {wrong.sentence}"
    if over and not gang.row.again:
        text = f"{_withdrawn(gang, over[0])}; {text}"
    if gang.row.again and not over:
        text = f"still said though the rank goes on; {text}"
    right = wrong is None and bool(over) is gang.row.again
    return Judged(gang, right, text, first.at - halted)


def of_healthy(gang: Gang) -> Judged:
    """No verdict was said, and the gang runs, or has ended well."""
    phase = gang.seen.phase if gang.seen is not None else ""
    if gang.verdicts:
        first = gang.verdicts[0]
        began = gang.since(HALTED)
        return Judged(gang, False, f"{first.reason}: {first.sentence}", None if began is None else first.at - began)
    right = phase in ("Running", "Succeeded") and gang.since(HALTED) is not None and not _restarted(gang)
    return Judged(gang, right, "no verdict" if right else f"no verdict, but: {_state(gang)}")


def judge(gang: Gang) -> Judged:
    """By what is wanted of it."""
    return of_healthy(gang) if gang.row.shown is Shown.NOTHING else of_hang(gang)


def _by_hint(gang: Gang, halted: float) -> Judged:
    if gang.hint_at is None:
        return Judged(gang, False, f"nothing; {_state(gang)}")
    return Judged(gang, gang.row.shown in (Shown.HINT, Shown.AT_WORK), gang.hint, gang.hint_at - halted)


def _withdrawn(gang: Gang, over: Said) -> str:
    asked = gang.asked_at is not None and over.at > gang.asked_at
    return f"withdrawn {over.at - gang.asked_at:.0f} s after its stacks were asked for" if asked else "withdrawn"  # type: ignore[operator]


def _ends(gang: Gang, over: Said) -> bool:
    """The verdict was over because the run was, and its last message still has the rank."""
    end = next((each for each in gang.said if each.reason == "Failed"), None)
    known = end is not None and gang.victim in named(end.sentence)
    return end is not None and known and over.at <= end.at + 5


def _restarted(gang: Gang) -> bool:
    """The run has failed or was restarted since its way began."""
    began = gang.since(HALTED) or 0.0
    return any(each.at > began and each.reason not in ("", "Succeeded", *VERDICTS) for each in gang.said)


def _state(gang: Gang) -> str:
    return "never seen" if gang.seen is None else f"{gang.seen.phase}: {gang.seen.message}"
