"""Which of the tracebacks at the end of a log is the program's, and how its process ended by a launcher's word."""

from collections.abc import Sequence

from muster.api.last_words.launchers import NONE, Child, is_of_a_launcher, is_own, reported, says_of_another
from muster.api.last_words.tracebacks import Traceback, tracebacks


def end_of(lines: Sequence[str]) -> tuple[Traceback | None, Child]:
    """The program's traceback that explains the end, where one does, and the end of the process that failed first.

    A launcher's word counts only where it has the last one: a program may go on after a process that failed.
    """
    found = tracebacks(lines)
    last = found[-1] if found else None
    child, at, ranks = reported(lines)
    launched = last is not None and is_of_a_launcher(last)
    if not launched:
        if last is not None and says_of_another(last) and at <= last.ended:
            return _of_a_starter(found, lines, child)
        if at < 0 or (last is not None and at <= last.ended) or not all(map(is_own, lines[at + 1 :])):
            return _chosen(found), NONE
    if child.killed:
        return None, child
    own = [each for each in found if not is_of_a_launcher(each) and not says_of_another(each)]
    if chosen := _chosen([each for each in own if not ranks or each.rank is None or each.rank in ranks]):
        return chosen, child
    failed_itself = launched and child == NONE and last is not None and "ChildFailedError" not in last.exception
    return (last if failed_itself else None), child


def _of_a_starter(found: Sequence[Traceback], lines: Sequence[str], child: Child) -> tuple[Traceback, Child]:
    """A program says that one it had started failed: the traceback before its own, if nothing was printed between."""
    last = found[-1]
    before = next((each for each in reversed(found[:-1]) if each.ended < last.began), None)
    if before is None or child.killed or not all(map(_between, lines[before.ended + 1 : last.began])):
        return last, NONE
    return before, child


def _between(line: str) -> bool:
    return line[0].isspace() or is_own(line)


def _chosen(found: Sequence[Traceback]) -> Traceback | None:
    """The last traceback; of several processes the one that was first to fail."""
    of_each = {each.front: each for each in found}
    if not found or "" in of_each:
        return found[-1] if found else None
    return min(of_each.values(), key=lambda each: each.ended)
