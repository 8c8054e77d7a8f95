"""NCCL's RAS is asked beside the coordinator: the time, the address, and the exceptions."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from muster.daemon.prober_pool import ProberPool
from muster.state.view.recorder.arrivals import CollectiveReport
from muster.state.view.recorder.ras import RasAnswer
from muster.state.view.roll import CoordinatorState, RankState, RollAnswer
from muster.state.vocabulary.actions import ProbeTarget
from muster.state.vocabulary.group import ProbeKind
from muster.watchers.probes.bounded.connection import Address, Guard
from muster.watchers.probes.nccl import NoRas, RasProbe
from tests.daemon.test_prober_pool import Asked
from tests.daemon.virtual_daemon import in_virtual_time

ADDRESSES = ("10.0.0.1:28028", "10.0.0.2:28028")
ASSEMBLING = RollAnswer(at=0.0, coordinator=CoordinatorState.SERVING, states=(RankState.ARRIVED, RankState.MISSING))
COMPLETE = RollAnswer(at=0.0, coordinator=CoordinatorState.SERVING, states=(RankState.CONNECTED,) * 2)
GONE = RollAnswer(at=0.0, coordinator=CoordinatorState.TIMEOUT)
REPORT = CollectiveReport(0, 0, 1, 1, 1, 1.0, 0.0)
PUBLISHED = replace(COMPLETE, collectives=(REPORT,))
SAID = RasAnswer()


class Coordinator(Asked):
    """A coordinator that gives answers in turn, and the last one forever."""

    def __init__(self, *answers: RollAnswer) -> None:
        super().__init__()
        self._answers = list(answers)

    async def snapshot(self) -> RollAnswer:
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


def play(
    *answers: RollAnswer, ras: tuple[str, ...] = ADDRESSES, refused: NoRas | None = None
) -> tuple[list[str], list[RollAnswer]]:
    """Play a minute with such a coordinator. Return the addresses that were asked, and the answers."""
    asked: list[str] = []
    heard: list[RollAnswer] = []

    async def ask(address: Address, guard: Guard) -> RasAnswer:
        asked.append(str(address))
        if refused is not None:
            raise refused
        return SAID

    async def hear(uid: str, epoch: int, answer: RollAnswer) -> None:
        heard.append(answer)

    async def story() -> None:
        options: dict[str, Any] = {"lag": lambda: 0.0, "observe": lambda *_: None, "cpu": lambda: 0.0}
        pool = ProberPool(
            hear,
            make=lambda _: Coordinator(*answers),
            ras=lambda: RasProbe(ask),
            **options,
        )
        pool.aim("uid", ProbeTarget(1, "uid-1", "10.0.0.1:1", ProbeKind.TORCH, 2, ras=ras))
        await asyncio.sleep(60)
        await pool.close()

    in_virtual_time(story())
    return asked, heard


def test_a_question_without_an_answer_is_logged_once_with_its_run() -> None:
    with capture_logs() as logged:
        play(COMPLETE, refused=NoRas("it refuses"))
    assert logged == [{"event": "no answer of NCCL's RAS", "log_level": "info", "uid": "uid", "why": "it refuses"}]


def test_it_is_asked_once_the_roll_is_complete_and_what_it_says_comes_with_a_look() -> None:
    asked, heard = play(ASSEMBLING, ASSEMBLING, COMPLETE)
    assert len(asked) == len([answer for answer in heard if answer.ras is SAID]) == 10
    assert [answer.ras for answer in heard[:3]] == [None] * 3
    assert {answer.coordinator for answer in heard} == {CoordinatorState.SERVING}


def test_it_is_asked_also_while_the_coordinator_does_not_answer_any_more() -> None:
    asked, heard = play(COMPLETE, GONE)
    assert len(asked) > 5
    assert any(answer.ras is SAID and answer.coordinator is CoordinatorState.TIMEOUT for answer in heard)


@pytest.mark.parametrize(
    ("answers", "ras"),
    [((ASSEMBLING,), ADDRESSES), ((GONE,), ADDRESSES), ((COMPLETE,), ()), ((PUBLISHED, COMPLETE), ADDRESSES)],
    ids=["not assembled", "never answered", "no address", "processes publish it"],
)
def test_it_is_not_asked(answers: tuple[RollAnswer, ...], ras: tuple[str, ...]) -> None:
    asked, heard = play(*answers, ras=ras)
    assert asked == []
    assert {answer.ras for answer in heard} == {None}
