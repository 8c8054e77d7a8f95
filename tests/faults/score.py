"""Plays many plans concurrently, judges each, and counts violations."""

import asyncio
from collections import Counter
from collections.abc import Callable

from tests.faults.oracles import judge
from tests.faults.plans import Plan
from tests.faults.play import Environment, Run, play


class Session:
    """Plays plans concurrently and counts violations."""

    def __init__(self, here: Environment, jobs: int, say: Callable[[str], None] = lambda line: None) -> None:
        self._here = here
        self._jobs = jobs
        self._say = say
        self._clean: dict[tuple[str, int], Run] = {}
        self.plans = 0
        self.wrong: list[str] = []
        """Every violation, after the line of its plan."""
        self.violations = 0
        """Number of violated plans."""
        self.kinds: Counter[str] = Counter()

    async def clean(self, *plans: Plan) -> list[Run]:
        """The clean runs of the plans' scenarios; each is played once."""
        keys = [(plan.scenario, plan.size) for plan in plans]
        missing = [Plan(*key) for key in dict.fromkeys(keys) if key not in self._clean]
        for run in await asyncio.gather(*(play(self._here, plan) for plan in missing)):
            self._score(run, judge(run, None))
            self._clean[run.plan.scenario, run.plan.size] = run
        return [self._clean[key] for key in keys]

    async def all(self, plans: list[Plan]) -> None:
        """Play these plans."""
        queue = iter(list(zip(plans, await self.clean(*plans), strict=True)))

        async def worker() -> None:
            for plan, clean in queue:
                run = await play(self._here, plan)
                self._score(run, judge(run, clean))

        async with asyncio.TaskGroup() as workers:
            for number in range(self._jobs):
                workers.create_task(worker(), name=f"player {number}")

    def _score(self, run: Run, wrong: tuple[str, ...]) -> None:
        self.plans += not run.void
        self.kinds["void" if run.void else run.plan.kind] += 1
        seconds = f"{run.ended - run.began:.1f} s" if run.ended else "-"
        word = "WRONG" if wrong else "void" if run.void else "ok"
        self._say(f"{word:5} {seconds:>7}  {run.plan}")
        if not wrong:
            run.log.unlink(missing_ok=True)
            return
        self.violations += 1
        self.wrong += [f"{run.plan}: {violation}" for violation in wrong]
        for violation in wrong:
            self._say(f"        {violation}")
        self._say(f"        replay: python -m tests.faults --only {run.plan}   (its log: {run.log})")
