"""What every gang that is played to a halt has in common: a look as the daemon takes one, what was said, and the sums.

The probe, the view and the sentence of the condition are Muster's own. What a cluster adds, pods and a daemon, is not
here: a run costs three processes, and many run beside each other.
"""

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import click

from muster.state.facts.context import Context
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.view.view import View
from muster.state.vocabulary.record import Phase
from muster.watchers.probes.jax.probe import JaxProbe
from muster.watchers.probes.torch.probe import TorchProbe
from tests.builders import plan, pod, record

SIZE = 3
LOOK = 3.0
"""Seconds between two looks."""
LATE = 60.0
"""Seconds after which a sentence that is right is printed with the load of the machine, to tell the reasons apart."""
HALTS = "halts\n"
"""What a rank prints when it comes to a halt."""
Said = Callable[[Context], tuple[str, str] | None]
"""Reason and sentence of what is stuck, if anything is."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What was said of a gang. ``seconds`` is the time from the halt to the sentence."""

    named: tuple[int, ...]
    sentence: str
    seconds: float
    seen: str = ""
    """What was seen where nothing was said."""
    load: float = 0.0
    """The load of the machine, over the last minute."""
    look: float = LOOK
    """The longest time from one look to the next, in seconds: far more than ``LOOK`` where the machine is too busy."""


@contextmanager
def ended(processes: list["subprocess.Popen[bytes]"]) -> Iterator[None]:
    """Kill them at the end."""
    try:
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGKILL)
            process.wait()


def context_of(seen: View, now: float) -> Context:
    """The gang as a decision sees it: all pods run, and the roll was complete."""
    return Context.at(plan(size=SIZE), record(phase=Phase.RUNNING, scheduled_at=1.0, assembled_at=1.0), seen, now)


async def watch(probe: JaxProbe | TorchProbe, folder: Path, victim: int, said: Said, *, patience: float) -> Verdict:
    """Look as the daemon does until something is said of the gang, and for so many seconds after the halt."""
    seen = View()
    for rank in range(SIZE):
        seen.change(None, pod(rank))
    halted: float | None = None
    log = folder / f"{victim}.log"
    looked = time.monotonic()
    until, longest = looked + patience, 0.0
    try:
        while time.monotonic() < until:
            longest, looked = max(longest, time.monotonic() - looked), time.monotonic()
            seen.observe_probe(await probe.snapshot(), 0)
            if halted is None and HALTS in log.read_text(errors="replace"):
                halted = time.monotonic()
                until = halted + patience
            context = context_of(seen, time.time())
            if stuck := said(context):
                named = tuple(rank for finding in diagnose(context) for rank in finding.ranks)
                seconds = time.monotonic() - (halted or time.monotonic())
                return Verdict(named, stuck[1], seconds, load=os.getloadavg()[0], look=longest)
            await asyncio.sleep(LOOK)
    finally:
        await probe.close()
    found = f"{_of_view(seen)}; {_last_words(folder)}"
    return Verdict((), "", patience, seen=found, load=os.getloadavg()[0], look=longest)


def _last_words(folder: Path) -> str:
    """The last line that each rank printed."""
    said = (log.read_text(errors="replace").splitlines()[-1:] for log in sorted(folder.glob("*.log")))
    return "; ".join(line[:300] for lines in said for line in lines)


def _of_view(seen: View) -> str:
    """What the ranks have said of places and collectives, for people who ask why nothing was said."""
    return f"{seen.places_of(0) or 'no place was read'}; {seen.collectives_of(0) or 'no collective was read'}"


def summed_up(title: str, found: Sequence[Verdict], right: Callable[[int, Verdict], bool] | None) -> bool:
    """Print what was said of these runs, and of the others what was seen. True if all of it was right.

    ``right`` judges the run of that number; None: the gangs are healthy, and nothing may be said.
    """
    ok = [each for number, each in enumerate(found) if right and right(number, each)]
    false = [each for each in found if each.sentence and each not in ok]
    times = sorted(each.seconds for each in ok)
    late = f", {median(times):.0f} s ({times[0]:.0f} to {times[-1]:.0f})" if times else ""
    loads = sorted(each.load for each in found)
    busy = f"; load {loads[0]:.1f} to {loads[-1]:.1f}, {max(each.look for each in found):.1f} s between two looks"
    click.echo(f"{title} right {len(ok)}, false {len(false)}, of {len(found)}{late}{busy}")
    for each in found:
        if each in false or (right and each not in ok):
            click.echo(f"   {each}")
        elif each.seconds > LATE and each in ok:
            click.echo(f"   {each.seconds:.0f} s at load {each.load:.1f}, {each.look:.1f} s between two looks")
    return not false and len(ok) == (len(found) if right else 0)
