"""Measure Muster on a real API server: ``python -m benchmarks.real``, or ``make real-bench``.

The table goes to stdout, the progress to stderr, the figures to ``benchmarks/real.json``. In each round a bare loop
creates the same pods, then once more with the headless Services that every operator makes, then Muster does; the JobSet
controller comes after them. So all share the machine's load, and the best of the rounds counts. Budgets are ratios to
the bare loop of the same run. The exit code is 1 if one does not hold, and 3 where the control plane cannot be built.
"""

import argparse
import sys
import time
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import uvloop

from benchmarks.harness.report import Result, table, write
from benchmarks.real import jobset, requests
from benchmarks.real.processes import PROGRAMS
from benchmarks.real.starts import Figures, Gangs, Site, bare, muster, site
from tests.real.binaries import CANNOT_BUILD
from tests.real.controllers.jobset import JOBSET
from tests.real.ground import Ground, ground
from tests.real.plane.supervisor import Supervisor
from tests.tools.go_tool import CannotBuild

OUT = Path(__file__).parents[1] / "real.json"
ROUNDS = 3
MORE = {"kube-controller-manager": ("--node-monitor-grace-period=300s",)}
"""Flags for simulated kubelets with thousands of pods, which may be late, and shall not lose their nodes for that."""
WARM = Gangs(1, 100)
ONE, MANY = Gangs(1, 1_000), Gangs(200, 8)
START_RATIO = {ONE: 1.4, MANY: 3.0}
RESTART_RATIO = 1.2
BARE = "bare create loop"


def say(line: str) -> None:
    """Print progress."""
    print(line, file=sys.stderr, flush=True)


class Bench:
    """All rounds on one ground."""

    def __init__(self, built: Ground, supervisor: Supervisor, rounds: int) -> None:
        self._built = built
        self._supervisor = supervisor
        self._rounds = rounds
        self._sites = 0

    async def starts(self, gangs: Gangs) -> list[Result]:
        """Return the rows of one size of gangs."""
        loops: list[Figures] = []
        with_services: list[Figures] = []
        ours: list[Figures] = []
        for _ in range(self._rounds):
            async with self._site() as here:
                loops.append(await bare(here, gangs))
            async with self._site() as here:
                with_services.append(await bare(here, gangs, services=True))
            async with self._site() as here:
                ours.append(await muster(here, gangs, restart=gangs is ONE))
            loop, service, own = (f"{each[-1].created:.2f} s" for each in (loops, with_services, ours))
            say(f"{gangs}: bare {loop}, with Services {service}, Muster {own}, restart {ours[-1].restarted:.2f} s")
        results = _rows(gangs, loops, with_services, ours)
        if not JOBSET.why_not():
            results += await self._jobsets(gangs, min(figures.created for figures in ours), ours)
        return results

    async def warm(self) -> None:
        """Make a small start that is not counted: the first requests of each kind cost the servers more."""
        async with self._site() as here:
            await bare(here, WARM)
        async with self._site() as here:
            await muster(here, WARM, restart=False)

    async def requests(self) -> list[Result]:
        """Return the rows of single requests."""
        async with self._site() as here:
            return await requests.measure(here)

    async def _jobsets(self, gangs: Gangs, start: float, ours: list[Figures]) -> list[Result]:
        results = []
        for tuned in (True, False):
            async with self._site() as here, jobset.controller(here, self._supervisor, tuned=tuned):
                figures = await jobset.gangs_of_jobsets(here, gangs, restart=gangs is ONE)
            name = f"JobSet controller, {'tuned' if tuned else 'default'} kube-controller-manager"
            say(f"{gangs}: {name} {figures.created:.2f} s")
            results.append(Result(f"{gangs} created, {name}", figures.created, "s", None, "Muster", start))
            if gangs is ONE:
                restart = min(figures.restarted for figures in ours)
                results.append(Result(f"restart of {gangs}, {name}", figures.restarted, "s", None, "Muster", restart))
        return results

    def _site(self) -> AbstractAsyncContextManager[Site]:
        """Return a namespace of its own."""
        self._sites += 1
        return site(self._built, f"bench-{self._sites}")


def _rows(gangs: Gangs, loops: list[Figures], with_services: list[Figures], ours: list[Figures]) -> list[Result]:
    loop, own = min(each.created for each in loops), min(each.created for each in ours)
    service = min(each.created for each in with_services)
    writes = ours[-1].writes["start"]
    results = [
        Result(f"{gangs} created, Muster", own, "s", START_RATIO[gangs] * loop, BARE, loop),
        Result(f"{gangs} created, {BARE} with Services", service, "s", None, BARE, loop),
        Result(f"writes of a start, {gangs}", writes, "writes", gangs.experiments * (gangs.members + 9)),
    ]
    for program in PROGRAMS:
        used, peer = (min(each.cpu[program] for each in figures) for figures in (ours, loops))
        results.append(Result(f"{gangs}, CPU of {program} until all run, Muster", used, "s", None, BARE, peer))
    if gangs is ONE:
        both = loop + min(each.deleted for each in loops)
        deleted = service + min(each.deleted for each in with_services)
        restart = min(each.restarted for each in ours)
        results += [
            Result(f"restart of {gangs}, Muster", restart, "s", RESTART_RATIO * both, "bare create + delete", both),
            Result(f"create and delete {gangs}, {BARE} with Services", deleted, "s", None, "without", both),
            Result(f"writes of a restart, {gangs}", ours[-1].writes["restart"], "writes", 2 * gangs.pods + 5),
        ]
    return results


async def measure(built: Ground, supervisor: Supervisor, only: list[str], rounds: int) -> list[Result]:
    """Measure everything, or the parts that are named."""
    bench = Bench(built, supervisor, rounds)
    results: list[Result] = []
    if "starts" in only:
        if reason := JOBSET.why_not():
            say(f"JobSet controller: skipped, {reason}")
        await bench.warm()
        for gangs in (ONE, MANY):
            results += await bench.starts(gangs)
    if "requests" in only:
        results += await bench.requests()
    return results


def main(arguments: list[str] | None = None) -> int:
    """Measure, print and write the figures."""
    parts = ["starts", "requests"]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.real", description="Measure on a real API server.")
    parser.add_argument("--only", choices=parts, action="append", help="run only this part")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of the starts; the best counts (%(default)s)")
    parser.add_argument("--out", type=Path, default=OUT, help="where the JSON goes (%(default)s)")
    chosen = parser.parse_args(arguments)
    began = time.monotonic()
    try:
        with ground(say, MORE) as (built, supervisor):
            results = uvloop.run(measure(built, supervisor, chosen.only or parts, chosen.rounds))
    except CannotBuild as missing:
        print(f"make real-bench: {missing}", file=sys.stderr)
        return CANNOT_BUILD
    write(results, chosen.out)
    print(table(results))
    say(f"{time.monotonic() - began:.0f} s")
    return 0 if all(result.ok for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
