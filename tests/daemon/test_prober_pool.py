"""The daemon's choice of the prober of a coordinator, its life, its cost, and the texts that it must not keep."""

import asyncio
import dataclasses
import subprocess
import sys
from collections.abc import AsyncGenerator, Callable, Coroutine
from functools import partial
from itertools import pairwise
from typing import Any

import pytest
from msgspec.structs import replace
from structlog.testing import capture_logs

from muster.api.values.secrets import REMOVED
from muster.daemon.prober_pool import ProberPool, private, prober_of
from muster.state.view.recorder.arrivals import CollectiveReport
from muster.state.view.recorder.ras import RasAnswer
from muster.state.view.roll import CoordinatorState, RankError, RankState, RollAnswer, Work
from muster.state.vocabulary.actions import ProbeTarget
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.pod import Port
from muster.watchers.probes.bounded.connection import Address, Guard, Meter, metered
from muster.watchers.probes.nccl import NoRas, RasProbe
from tests.builders import edited, plan, worker_group
from tests.daemon.virtual_daemon import in_virtual_time


def target(kind: ProbeKind) -> ProbeTarget:
    ports = (Port("dashboard", 1), Port("agent", 1))
    return ProbeTarget(epoch=1, uid="uid-1", address="127.0.0.1:1", kind=kind, expected=2, ports=ports)


def test_a_daemon_loads_h2_with_the_first_coordinator_that_needs_it() -> None:
    program = "import sys, muster.daemon.main; print('h2' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


async def test_every_kind_of_coordinator_that_can_be_asked_has_a_prober() -> None:
    make = partial(prober_of, lambda: 7.0)
    for kind in ProbeKind:
        if kind is ProbeKind.NONE:
            continue
        prober = make(target(kind))
        try:
            answer = await prober.snapshot()
        finally:
            await prober.close()
        assert (answer.at, answer.coordinator.serving) == (7.0, False)


def test_a_coordinator_that_cannot_be_asked_has_no_prober() -> None:
    with pytest.raises(ValueError, match="no prober for coordinators of kind none"):
        prober_of(lambda: 0.0, target(ProbeKind.NONE))


async def hear(uid: str, epoch: int, answer: RollAnswer) -> None:
    """Take an answer in, and do nothing with it."""


def pool_of(make: Callable[[ProbeTarget], Any], cpu: Callable[[], float] = lambda: 0.0) -> ProberPool:
    return ProberPool(hear, make=make, lag=lambda: 0.0, observe=lambda *_: None, cpu=cpu)


class Asked:
    """A prober that notes the members that it is to ask besides the coordinator."""

    def __init__(self) -> None:
        self.suspects: tuple[str, ...] = ()
        self.seen: list[tuple[str, ...]] = []
        self.closed = False

    async def snapshot(self) -> RollAnswer:
        self.seen.append(self.suspects)
        return RollAnswer(at=0.0, coordinator=CoordinatorState.REFUSED)

    async def changes(self) -> AsyncGenerator[RollAnswer, None]:
        await asyncio.Event().wait()
        yield RollAnswer(at=0.0, coordinator=CoordinatorState.REFUSED)

    async def close(self) -> None:
        self.closed = True


def test_other_suspects_of_the_same_coordinator_do_not_begin_its_probe_anew() -> None:
    made: list[Asked] = []

    def make(_target: ProbeTarget) -> Asked:
        made.append(Asked())
        return made[-1]

    async def story() -> None:
        pool = pool_of(make)
        first = target(ProbeKind.RAY)
        pool.aim("uid", first)
        await asyncio.sleep(0.5)
        pool.aim("uid", replace(first, suspects=("10.0.0.7",)))
        await asyncio.sleep(1.0)
        assert [prober.seen for prober in made] == [[(), ("10.0.0.7",)]]
        pool.aim("uid", replace(first, epoch=2))
        await asyncio.sleep(0.5)
        assert len(made) == 2
        assert made[0].closed
        await pool.close()

    in_virtual_time(story())


class Reported(Asked):
    """A prober of a gang that reports. Its answers take ``latency`` seconds."""

    def __init__(self, latency: float) -> None:
        super().__init__()
        self.now = 0
        self._latency = latency

    def read_now(self) -> None:
        self.now += 1

    async def snapshot(self) -> RollAnswer:
        await asyncio.sleep(self._latency)
        return await super().snapshot()


@pytest.mark.parametrize(("latency", "waits"), [(0.05, 0.05), (2.0, 0.2)])
def test_a_last_look_reads_what_is_reported_and_is_waited_for_a_moment_only(latency: float, waits: float) -> None:
    prober = Reported(latency)

    async def story() -> None:
        pool = pool_of(lambda _: prober)
        await pool.last_look("uid", 0.2)  # of a coordinator that is not asked
        pool.aim("uid", target(ProbeKind.JAX))
        await asyncio.sleep(latency + 0.5)
        assert (prober.now, len(prober.seen)) == (0, 1)
        began = asyncio.get_running_loop().time()
        await pool.last_look("uid", 0.2)
        assert asyncio.get_running_loop().time() - began == pytest.approx(waits)
        await asyncio.sleep(latency)
        assert (prober.now, len(prober.seen)) == (1, 2)
        await pool.close()

    in_virtual_time(story())


class Costly(Asked):
    """A prober whose answers take CPU time, and a clock of what they have taken. They are whole at every second."""

    def __init__(self, cost: float, *, elsewhere: bool = False) -> None:
        super().__init__()
        self.taken = 0.0
        self.asked: list[float] = []
        self._cost, self._elsewhere = cost, elsewhere

    async def snapshot(self) -> RollAnswer:
        self.asked.append(asyncio.get_running_loop().time())
        await asyncio.gather(self._measured()) if self._elsewhere else await self._work()
        return RollAnswer(at=0.0, coordinator=CoordinatorState.SERVING, expected=4, states=())

    async def _measured(self) -> None:
        await metered(self._work())

    async def _work(self) -> None:
        await asyncio.sleep(0)
        self.taken += self._cost


def ask(prober: Costly, kind: ProbeKind, seconds: float) -> None:
    """Let a pool ask that coordinator for so long."""

    async def story() -> None:
        pool = pool_of(lambda _: prober, lambda: prober.taken)
        pool.aim("uid", target(kind))
        await asyncio.sleep(seconds)
        await pool.close()

    in_virtual_time(story())


@pytest.mark.parametrize("elsewhere", [False, True], ids=["in the task", "in a task of its own"])
@pytest.mark.parametrize(("cost", "pause"), [(0.0, 1.0), (0.01, 1.0), (0.04, 2.0), (9.0, 5.0)])
def test_a_coordinator_takes_at_most_its_share_of_a_core(cost: float, pause: float, elsewhere: bool) -> None:
    prober = Costly(cost, elsewhere=elsewhere)
    ask(prober, ProbeKind.RAY, 60)
    assert [after - before for before, after in pairwise(prober.asked)] == pytest.approx(
        [pause] * (len(prober.asked) - 1)
    )


def test_the_answers_of_a_parked_call_are_measured_too() -> None:
    class Chatty(Costly):
        async def changes(self) -> AsyncGenerator[RollAnswer, None]:
            while True:
                await self._work()
                self.asked.append(asyncio.get_running_loop().time())
                yield RollAnswer(at=0.0, coordinator=CoordinatorState.SERVING, expected=4, states=())

    prober = Chatty(0.02)
    ask(prober, ProbeKind.JAX, 100)
    assert prober.taken == pytest.approx(2.0, abs=0.1), "2 % of 100 s, by both together"


async def test_a_measured_coroutine_is_cancelled_and_fails_as_any_other() -> None:
    async def fails() -> None:
        await asyncio.sleep(0)
        raise ValueError("mine")

    async def waits() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise

    async def run(work: Coroutine[None, None, None]) -> None:
        Meter(lambda: 0.0).start()
        await metered(work)

    ended: list[str] = []
    with pytest.raises(ValueError, match="mine"):
        await run(fails())
    waiting = asyncio.create_task(run(waits()))
    await asyncio.sleep(0)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert ended == ["cancelled"]


ADDRESSES = ("10.0.0.1:28028", "10.0.0.2:28028")
ASSEMBLING = RollAnswer(at=0.0, coordinator=CoordinatorState.SERVING, states=(RankState.ARRIVED, RankState.MISSING))
COMPLETE = RollAnswer(at=0.0, coordinator=CoordinatorState.SERVING, states=(RankState.CONNECTED,) * 2)
GONE = RollAnswer(at=0.0, coordinator=CoordinatorState.TIMEOUT)
REPORT = CollectiveReport(0, 0, 1, 1, 1, 1.0, 0.0)
PUBLISHED = dataclasses.replace(COMPLETE, collectives=(REPORT,))
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
        pool = ProberPool(hear, make=lambda _: Coordinator(*answers), ras=lambda: RasProbe(ask), **options)
        pool.aim("uid", ProbeTarget(1, "uid-1", "10.0.0.1:1", ProbeKind.TORCH, 2, ras=ras))
        await asyncio.sleep(60)
        await pool.close()

    in_virtual_time(story())
    return asked, heard


def test_a_question_without_an_answer_is_logged_once_with_its_run() -> None:
    with capture_logs() as logged:
        play(COMPLETE, refused=NoRas("it refuses"))
    assert logged == [{"event": "no answer of NCCL's RAS", "log_level": "info", "uid": "uid", "why": "it refuses"}]


def test_it_is_asked_once_the_roll_is_complete_and_its_answer_comes_with_a_look() -> None:
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


VALUE = "k9#mQ2/vL+7x"
ENV = {"spec": {"containers": [{"name": "main", "env": [{"name": "API_TOKEN", "value": VALUE}]}]}}
WITH_SECRET = edited(plan(), groups=(worker_group(4, template=ENV),))


def answer(**fields: Any) -> RollAnswer:
    return RollAnswer(at=1.0, coordinator=CoordinatorState.SERVING, **fields)


@pytest.mark.parametrize("text", [VALUE, f"token={VALUE}"])
@pytest.mark.parametrize(
    "fields",
    [
        lambda text: {"detail": text},
        lambda text: {"lacks": text},
        lambda text: {"unmet": text},
        lambda text: {"errors": (RankError(1, 14, text),)},
        lambda text: {"work": Work("job", "FAILED", text, ended=True)},
    ],
    ids=["detail", "lacks", "unmet", "errors", "work"],
)
def test_no_field_of_an_answer_holds_a_secret(fields: Any, text: str) -> None:
    left = private(answer(**fields(f"refused: {text} again")), WITH_SECRET)
    assert VALUE not in str(left)
    assert REMOVED in str(left)


def test_an_answer_without_words_is_the_same_one() -> None:
    given = answer()
    assert private(given, WITH_SECRET) is given


def test_of_a_run_without_a_plan_what_looks_like_a_credential_is_removed() -> None:
    assert private(answer(detail=f"password={VALUE}"), None).detail == f"password={REMOVED}"
    assert private(answer(detail="3/3 ranks arrived"), None).detail == "3/3 ranks arrived"
