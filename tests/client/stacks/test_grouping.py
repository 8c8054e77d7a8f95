"""Ranks with equal stacks are one group, said in one sentence."""

import pytest

from muster.client.stacks.frames import Frame, ProcessStacks, RankStacks, ThreadStack, grouped, ranks_text, unread


def process(*frames: Frame, pid: int = 1) -> ProcessStacks:
    other = ThreadStack("loader", False, (Frame("get", "/app/data.py", pid),))
    return ProcessStacks(pid, "python train.py", "py-spy", (other, ThreadStack("MainThread", True, frames)), "")


def rank(number: int, *processes: ProcessStacks, unread: str = "") -> RankStacks:
    return RankStacks(number, f"pod-{number}", processes, unread)


def train(line: int, library: int = 5) -> ProcessStacks:
    gather = Frame("all_reduce", "/opt/lib/python3.11/site-packages/jax/lax.py", library)
    return process(gather, Frame("step", "/app/train.py", line), Frame("<module>", "/app/train.py", 120))


LOADS = process(Frame("DataLoader.next", "/app/data.py", 41), Frame("<module>", "/app/train.py", 121))


IN_A_LOOP = [
    rank(number, process(Frame("step", "/app/train.py", 40), Frame("<module>", "/app/train.py", 10 + number)))
    for number in range(3)
]
AT_THE_TOP = [rank(number, process(Frame("<module>", "/app/e2.py", 10 + (number > 0)))) for number in range(3)]


@pytest.mark.parametrize(
    ("found", "groups"),
    [
        (
            [rank(number, LOADS if number == 37 else train(88)) for number in range(512)],
            ["511 ranks (0-36, 38-511) in all_reduce at train.py:88", "rank 37 in DataLoader.next at data.py:41"],
        ),
        ([rank(0, train(88, 5)), rank(1, train(88, 6))], ["2 ranks (0-1) in all_reduce at train.py:88"]),
        (
            [rank(0, train(90)), rank(1, train(88)), rank(2, train(88))],
            ["2 ranks (1-2) in all_reduce at train.py:88", "rank 0 in all_reduce at train.py:90"],
        ),
        (IN_A_LOOP, ["3 ranks (0-2) in step at train.py:40"]),
        (AT_THE_TOP, ["2 ranks (1-2) in <module> at e2.py:11", "rank 0 in <module> at e2.py:10"]),
        (
            [rank(1, train(88)), rank(0, LOADS)],
            ["rank 0 in DataLoader.next at data.py:41", "rank 1 in all_reduce at train.py:88"],
        ),
        ([rank(0, process())], ["rank 0 in no Python function"]),
        ([rank(0, ProcessStacks(1, "", "faulthandler", (), ""))], ["rank 0 in no Python function"]),
    ],
    ids=[
        "the odd rank comes last",
        "a line inside a library makes no group",
        "two lines of one function make two",
        "the innermost call of the program alone parts groups",
        "at module level, too",
        "groups of one size by rank",
        "no frame",
        "no thread",
    ],
)
def test_ranks_with_equal_stacks_are_one_group(found: list[RankStacks], groups: list[str]) -> None:
    assert [group.sentence for group in grouped(found)] == groups


def test_a_rank_with_several_processes_counts_once_with_their_number() -> None:
    (group,) = grouped([rank(0, train(88), train(88)), rank(1, train(88))])
    assert group.sentence == "2 ranks (0-1, 3 processes) in all_reduce at train.py:88"
    assert ranks_text((4,), 8) == "rank 4 (8 processes)"


def test_ranks_without_stacks_are_grouped_by_reason() -> None:
    found = [rank(3, unread="no py-spy"), rank(0, train(88)), rank(4, unread="no py-spy"), rank(5, unread="gone")]
    assert [each.sentence for each in unread(found)] == ["2 ranks (3-4): no py-spy", "rank 5: gone"]
