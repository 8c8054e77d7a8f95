"""The buckets that follow from the log of a program: of a gang that is killed, and one that is suspended."""

from collections.abc import Sequence
from itertools import count

from tests.goodput.expected import WAY, Line, expected


def lines(epoch: int, joined: float, steps: Sequence[tuple[int, float]], *more: tuple[float, int, str]) -> list[Line]:
    said: list[Line] = [{"at": joined, "epoch": epoch, "rank": rank, "what": "joined", "step": -1} for rank in (0, 1)]
    said += [{"at": at, "epoch": epoch, "rank": 0, "what": "step", "step": step} for step, at in steps]
    said += [{"at": at, "epoch": epoch, "rank": rank, "what": what, "step": -1} for at, rank, what in more]
    return sorted(said, key=lambda line: float(line["at"]))


def steps(first: int, begin: float, number: int) -> list[tuple[int, float]]:
    """A step a second."""
    return [(step, begin + passed) for step, passed in zip(count(first), range(number + 1), strict=False)]


def test_what_is_killed_loses_its_steps_after_the_checkpoint_and_recovers() -> None:
    log = lines(0, 10, steps(0, 12, 8), (20.5, 1, "killed")) + lines(1, 30, steps(4, 33, 6), (39, 0, "ended"))
    found = expected(log, 0, [], 39)
    assert (found[WAY], found["recovery"], found["lost"], found["program_startup"]) == (10, 9.5, 4.5, 5)
    assert sum(found.values()) == 39


def test_what_is_suspended_is_not_recovering() -> None:
    log = lines(0, 10, steps(0, 10, 8)) + lines(1, 60, steps(4, 60, 6), (66, 0, "ended"))
    found = expected(log, 0, [(18.5, 50)], 66)
    assert (found[WAY], found["recovery"], found["lost"]) == (20, 0, 4.5)
    assert sum(found.values()) == 66 - 31.5


def test_pauses_and_what_stood_still_are_no_work() -> None:
    first = [(0, 10.0), (1, 11.0), (2, 12.0), (3, 85.0), (4, 89.0)]
    log = lines(
        0, 10, first, (12, 1, "frozen"), (84, 1, "thawed"), (86, 0, "saving"), (88, 0, "saved"), (89, 0, "ended")
    )
    found = expected(log, 0, [], 89)
    assert (found["stuck"], found["checkpoint_save"], found["productive"]) == (73, 2, 4)
