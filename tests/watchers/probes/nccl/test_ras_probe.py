"""The pace of questions to NCCL's RAS, the process that is asked, and the end of an answer's validity."""

import asyncio
from collections.abc import Callable, Coroutine
from itertools import pairwise
from typing import Any

from muster.state.view.recorder.ras import Communicator, RasAnswer
from muster.watchers.probes.bounded.connection import Address, Guard
from muster.watchers.probes.nccl import FORGET, LONG_PAUSE, PAUSE, NoRas, RasProbe
from tests.simulation.world.virtual_loop import VirtualLoop

LOOK = 3.0
ADDRESSES = ("10.0.0.1:28028", "10.0.0.2:28028", "10.0.0.3:28028")
ANSWER = RasAnswer((Communicator("0x1 0x2:0x3", "0x1", (), clear=True),))


class Processes:
    """The processes of a gang: which of them answers, and after how many seconds."""

    def __init__(self) -> None:
        self.deaf: set[str] = set()
        self.takes = 0.1
        self.asked: list[tuple[float, str]] = []
        self.probe = RasProbe(self.ask)

    async def ask(self, address: Address, guard: Guard) -> RasAnswer:
        self.asked.append((asyncio.get_running_loop().time(), address.host))
        await asyncio.sleep(self.takes)
        if address.host in self.deaf:
            raise NoRas("connection refused")
        return ANSWER

    async def look(self, seconds: float, addresses: tuple[str, ...] = ADDRESSES) -> list[RasAnswer]:
        """Return the answers of looks every three seconds, for that many seconds."""
        found = []
        for _ in range(int(seconds / LOOK)):
            found.append(self.probe.answer(addresses))
            await asyncio.sleep(LOOK)
        return [each for each in found if each is not None]


def played(story: Callable[[Processes], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    async def whole() -> None:
        processes = Processes()
        await story(processes)
        await processes.probe.close()

    def test() -> None:
        with asyncio.Runner(loop_factory=VirtualLoop) as runner:
            runner.run(whole())

    return test


@played
async def test_the_same_process_is_asked_while_it_answers(processes: Processes) -> None:
    assert await processes.look(60) == [ANSWER] * 10
    assert {host for _, host in processes.asked} == {"10.0.0.1"}
    times = [at for at, _ in processes.asked]
    assert all(later - before >= PAUSE for before, later in pairwise(times))


@played
async def test_where_one_does_not_answer_the_next_one_is_asked(processes: Processes) -> None:
    await processes.look(12)
    processes.deaf = {"10.0.0.1", "10.0.0.2"}
    await processes.look(12)
    assert processes.probe.why == "connection refused"
    await processes.look(12)
    assert processes.probe.why == ""
    assert processes.asked[-1][1] == "10.0.0.3"


@played
async def test_where_none_answers_for_a_minute_it_is_asked_rarely_and_nothing_is_known(processes: Processes) -> None:
    processes.deaf = {"10.0.0.1", "10.0.0.2", "10.0.0.3"}
    assert await processes.look(FORGET) == []
    often = len(processes.asked)
    assert set(await processes.look(5 * LONG_PAUSE)) == {RasAnswer()}
    assert often == FORGET / PAUSE
    assert len(processes.asked) - often in (5, 6)
    assert [host for _, host in processes.asked[:4]] == ["10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.1"]


@played
async def test_an_answer_that_takes_long_puts_the_next_question_off(processes: Processes) -> None:
    processes.takes = 10.0
    assert await processes.look(90) == [ANSWER] * 4
    assert len(processes.asked) == 4


@played
async def test_after_a_minute_of_silence_what_was_reported_is_taken_back_until_one_answers(
    processes: Processes,
) -> None:
    assert len(await processes.look(12)) == 2
    processes.deaf = {"10.0.0.1", "10.0.0.2", "10.0.0.3"}
    assert await processes.look(FORGET - 2 * PAUSE) == []
    assert set(await processes.look(300)) == {RasAnswer()}
    processes.deaf = set()
    assert (await processes.look(2 * LONG_PAUSE))[-1] == ANSWER


@played
async def test_without_an_address_nothing_is_asked(processes: Processes) -> None:
    assert await processes.look(60, ()) == []
    assert processes.asked == []
