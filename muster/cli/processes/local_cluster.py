"""The cluster of ``muster run``: the local one that runs already, or one of its own that ends with it."""

import contextlib
import secrets
import shutil
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muster.api.errors import MusterError
from muster.cli.processes.child import ChildEnded
from muster.cli.processes.stack import local_stack
from muster.cli.terminal.colours import say
from muster.local.home import Exposed, Home, Occupied, default_home

KEPT = "kept"
"""A file that marks a state directory which is to be kept."""


@dataclass(frozen=True, slots=True)
class LocalCluster:
    """A cluster with a daemon.

    ``supervise`` waits for the end of either, where they were started for this run. ``callers`` is where environments
    are lent to pods.
    """

    kubeconfig: Path
    daemon_url: str
    callers: Path
    supervise: Callable[[], Coroutine[Any, Any, None]] | None


@asynccontextmanager
async def local_cluster(*, keep: bool) -> AsyncGenerator[LocalCluster, None]:
    """Yield the running local cluster, or a new one that ends with the context. With ``keep`` its files stay."""
    home = Home(default_home())
    if running := home.running():
        note = home.noted_daemon()
        if note is None:
            raise MusterError(f"the cluster at {home.path} runs without musterd; end it with `muster local down`")
        say(f"using the local cluster at {running.url}")
        yield LocalCluster(Path(running.kubeconfig), note.url, home.callers, None)
        return
    home.make()
    sweep(home.runs)
    own = Home(home.runs / secrets.token_hex(4))
    own.create()
    if keep:
        (own.path / KEPT).touch()
    say("starting a cluster on this machine")
    try:
        async with local_stack(own, say, memory_only=not keep) as stack:
            yield LocalCluster(Path(stack.cluster.kubeconfig), stack.daemon_url, own.callers, stack.watch)
    except ChildEnded:
        keep = True  # its log has the reason, and the message names it
        raise
    finally:
        if keep:
            say(f"kept: {own.path}")
        else:
            shutil.rmtree(own.path, ignore_errors=True)


def sweep(runs: Path) -> None:
    """Remove the directories of killed runs.

    One whose lock is held, that is to be kept, or that belongs to another user (``sudo muster run``) stays. A link is
    not followed.
    """
    for path in runs.glob("*") if runs.is_dir() else ():
        with contextlib.suppress(Occupied, Exposed, OSError):
            if path.is_symlink() or (path / KEPT).exists() or not (path / "lock").exists():
                continue
            Home(path).acquire().close()
            shutil.rmtree(path, ignore_errors=True)
