"""``muster local kill``: send a signal to the process of one member."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from muster.api.errors import MusterError
from muster.api.values.printable import printable
from muster.cli.options import ClusterChoice, Parsed, client_of
from muster.cli.terminal.colours import data
from muster.client import Member, NoCluster, NoSuchRank
from muster.local.home import Home, default_home


def signal_of(value: str) -> signal.Signals:
    """Return the signal of a name (KILL, SIGKILL) or a number."""
    word = value.upper()
    try:
        return signal.Signals(int(word)) if word.isdecimal() else signal.Signals[f"SIG{word.removeprefix('SIG')}"]
    except (ValueError, KeyError):
        raise ValueError(f"{value!r} is not a signal; write KILL, TERM, STOP, CONT ... or a number") from None


SIGNAL: Final = Parsed("signal", signal_of)


WHOLE = frozenset({signal.SIGSTOP, signal.SIGCONT})
"""Signals that every process of a container must get: a stopped shell leaves its program running."""
_SESSION = 3
"""Position of the session in /proc/PID/stat, counted from the state (proc(5))."""


def send(process: int, number: signal.Signals) -> None:
    """Signal the first process of a container, or all of its session. Raises ``ProcessLookupError``.

    Of the others, those that have ended meanwhile are passed over.
    """
    os.kill(process, number)
    for each in _session(process) if number in WHOLE else ():
        with contextlib.suppress(ProcessLookupError):
            os.kill(each, number)


def _session(leader: int) -> Iterator[int]:
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and int(entry.name) != leader:
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):
                fields = (entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
                if int(fields[_SESSION]) == leader:
                    yield int(entry.name)


@click.command(
    epilog="\b\nExamples:\n  muster local kill train-x7k2p --rank 2\n"
    "  muster local kill train-x7k2p --rank 0 --signal STOP\n"
)
@click.argument("name")
@click.option("--rank", type=click.IntRange(0), required=True, help="Rank of the member.")
@click.option("-s", "--signal", "number", type=SIGNAL, default="KILL", show_default=True, help="Signal to send.")
@click.option("-n", "--namespace", default=None, help="Namespace of the experiment; default by default.")
def kill(name: str, rank: int, number: signal.Signals, namespace: str | None) -> None:
    """Send a signal to the process of one member of NAME on the local cluster.

    The pod is not deleted: its container ends as it would by a crash, a lost device or the out-of-memory killer. STOP
    and CONT reach every process of the container.
    """
    running = Home(default_home()).running()
    if running is None:
        raise NoCluster("no local cluster runs; `muster local up` starts one. Elsewhere, delete the pod with kubectl")

    kubeconfig = Path(running.kubeconfig)

    async def find() -> Member:
        async with client_of(kubeconfig, namespace=namespace or "") as client:
            found = {member.rank: member for member in await client.members(name)}
        if rank not in found:
            there = ClusterChoice(kubeconfig, None, client.namespace).flags
            raise NoSuchRank(f"{name} has no pod of rank {rank} now; `muster get {name}{there}` shows those it has")
        return found[rank]

    member = asyncio.run(find())
    if not member.running or member.process is None:
        raise NoSuchRank(f"rank {rank} ({member.pod}) has no process now: it is {printable(member.state)}")
    try:
        send(member.process, number)
    except ProcessLookupError:
        raise NoSuchRank(f"rank {rank} ({member.pod}) has ended just now") from None
    except PermissionError as error:
        raise MusterError(
            f"process {member.process} belongs to another user; run this as the user who started the cluster"
        ) from error
    data(f"{number.name} sent to rank {rank} ({member.pod}, process {member.process})")
