"""Gangs that step together, and what their processes show of it: collectives (torch) or places (jax).

Each step takes each member a time of its own, and ends with an all_reduce that all leave together. Now and then one of
them stalls for some seconds. A question for the stacks of all ranks costs each of them CPU, and changes nothing else.
"""

from collections.abc import Sequence
from random import Random

from muster.assist.mounted.place_watch import LOOK, Writer
from muster.assist.mounted.torch_recorder import FASTEST, SAMPLE, STILL
from muster.state.view.places import PlaceReport
from muster.state.view.recorder.arrivals import CollectiveReport, GroupCount, Share
from muster.state.view.stage import Doing
from muster.watchers.probes.jax import places
from tests.scenarios.incidents import Evaluates, Pauses, Slow
from tests.simulation.world.threads import ANSWER, POLLS, Call, Code, Thread

EVALUATES = Call(Code("evaluate", "/app/train.py"), 40)
PLACE = "in evaluate (train.py:40)"
"""What a rank computes in while the others wait for it."""
LOCKED = Call(Code("next_batch", "/app/data.py"), 41)
"""Where a rank waits for a lock."""
STEP = Code("step", "/app/train.py")
LOOP = Call(Code("train", "/app/train.py"), 26)
LIBRARIES = "/opt/lib/python3.12/site-packages"
WAITS = {
    "jax": Code("_value", f"{LIBRARIES}/jax/_src/array.py"),
    "pytorch": Code("all_reduce", f"{LIBRARIES}/torch/distributed/distributed_c10d.py"),
}
"""By operator: the call in which a member waits for the others."""
LINES = 7
"""Instructions of a step at which a program is seen."""
WRITTEN = 1 << 20
"""Bytes a second of one that writes."""

SPREAD = 0.1
"""By which share of itself a step is longer or shorter."""
STALLS, STALL = 0.005, 10.0
"""How many of the steps have a member that stalls, and for how many seconds at most."""


class Collectives:
    """A gang whose members enter a collective every so many seconds, from ``began`` on."""

    def __init__(
        self, every: float, size: int, incidents: Sequence[Slow | Evaluates | Pauses], began: float, operator: str
    ) -> None:
        self.every = every
        self.slow = [each for each in incidents if isinstance(each, Slow)]
        self.once = [each for each in incidents if not isinstance(each, Slow)]
        self.began = began
        self.waits = WAITS[operator]
        self.random = Random(size)
        self.step = 0
        self.left = 0.0
        """When they left the collective before."""
        self.longest = 0.0
        self.arrives = [0.0] * size
        self.doing: list[Evaluates | Pauses | None] = [None] * size
        """What each does in this step, if it is not only the step."""
        self.waited = [0.0] * size
        """Seconds that each has been in collectives that are over."""
        self.threads = [Thread() for _ in range(size)]
        self.writers = [Writer(thread.watch, rank, size) for rank, thread in enumerate(self.threads)]
        self.written: dict[str, str] = {}
        self.cpu = [0.0] * size
        """Seconds of CPU that each has used in steps that are over."""
        self.calls = [LOCKED] * size
        """The call of each in the collective of this step: its own in each step."""
        self._asked: list[float] = []
        self._looked = 0.0
        self._begin()

    def reports(self, now: float) -> tuple[CollectiveReport, ...]:
        """What they have published; no earlier time is asked for."""
        self._look(now - self.began)
        self._go_on(now - self.began)
        return tuple(self._report(rank, now - self.began) for rank in range(len(self.arrives)))

    def places(self, now: float) -> tuple[PlaceReport, ...]:
        """Where they are, as they have written it and the probe reads it."""
        self._look(now - self.began)
        found = (places._report(key, value.encode()) for key, value in self.written.items())  # noqa: SLF001
        return tuple(each for each in found if each is not None)

    def ask(self, now: float) -> None:
        """The stacks of all ranks are asked for."""
        self._asked.append(now - self.began)

    def _go_on(self, elapsed: float) -> None:
        while (meets := max(self.arrives)) <= elapsed:
            for rank in range(len(self.arrives)):
                self.waited[rank] += meets - self.arrives[rank]
                self.cpu[rank] = self._cpu(rank, meets)
            self.longest = max(self.longest, meets - self.left)
            self.step, self.left = self.step + 1, meets
            self._begin()

    def _begin(self) -> None:
        size = len(self.arrives)
        spread = [self.random.uniform(1 - SPREAD, 1 + SPREAD) for _ in range(size)]
        self.arrives = [self.left + self.every * share for share in spread]
        for each in self.slow:
            if each.after <= self.left < each.after + each.seconds:
                self.arrives[each.rank % size] += each.behind
        self.doing = [None] * size
        for one in [each for each in self.once if each.after <= self.left]:
            self.arrives[one.rank % size] += one.seconds
            self.doing[one.rank % size] = one
            self.once.remove(one)
        if self.random.random() < STALLS:
            self.arrives[self.random.randrange(size)] += self.random.uniform(0.0, STALL)
        self.calls = [Call(self.waits, 641, f_back=LOOP) for _ in range(size)]

    def _look(self, elapsed: float) -> None:
        """Let the processes look at themselves, and write, as often as they have until now."""
        while self._looked + LOOK <= elapsed:
            self._looked = now = self._looked + LOOK
            self._go_on(now)
            for rank, (thread, writer) in enumerate(zip(self.threads, self.writers, strict=True)):
                self._move(thread, rank, now)
                thread.watch.look(now)
                if writer.due(now):
                    writer.write(self, now)

    def key_value_set(self, key: str, value: str, *, allow_overwrite: bool) -> None:
        """As jax's client of its store."""
        assert allow_overwrite
        self.written[key] = value

    def _move(self, thread: Thread, rank: int, now: float) -> None:
        thread.answers = sum(at <= now for at in self._asked)
        thread.cpu = self._cpu(rank, now) + ANSWER * thread.answers
        one = self.doing[rank]
        thread.alone = now < self.arrives[rank] and one is not None and not one.computes
        if now >= self.arrives[rank]:
            thread.call = self.calls[rank]
        elif one is None:
            thread.call = Call(STEP, 30, f_lasti=self.step % LINES)
        else:
            thread.call = EVALUATES if isinstance(one, Evaluates) else LOCKED
            thread.wrote = int(WRITTEN * now) if isinstance(one, Evaluates) and one.writes else thread.wrote

    def _cpu(self, rank: int, now: float) -> float:
        one, arrives = self.doing[rank], self.arrives[rank]
        computed = min(now, arrives) - self.left if one is None or one.computes else 0.0
        return self.cpu[rank] + computed + POLLS * max(0.0, now - arrives) * (self.waits is WAITS["jax"])

    def _report(self, rank: int, elapsed: float) -> CollectiveReport:
        size, here = len(self.arrives), self.arrives[rank] <= elapsed
        waited = self.waited[rank] + max(0.0, elapsed - self.arrives[rank])
        entered = self.step + here
        counts = entered, int(elapsed / SAMPLE), int(waited / SAMPLE), 0
        share = Share("0", "default_pg", "gloo", size, f"0-{size - 1}", *counts)
        still = elapsed - (self.arrives[rank] if here else self.left)
        beat, moves = int(elapsed / FASTEST), self.step + entered
        group = GroupCount(*share[:5], entered, "all_reduce", here)
        stands = still >= STILL
        doing = self.threads[rank].doing if stands else Doing()
        groups = (group,) if stands else None
        return CollectiveReport(rank, rank, 1, beat, moves, self.longest, still, groups, (share,), doing=doing)
