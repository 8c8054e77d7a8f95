"""This machine: what ``muster run``, ``muster local`` and ``make`` need."""

import os
import platform
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack

from muster import __version__, extras
from muster.api.errors import MusterError
from muster.cli.doctor.server import Check
from muster.local.home import Home, default_home
from muster.local.node.isolation.levels import Isolation, choose_isolation

AREA = "this machine"
HOST = "127.0.0.1"
PORTS = 50
"""Free ports that a local experiment may need at once."""


def machine() -> Iterator[Check]:
    """Yield every check of this machine. It blocks for some tens of milliseconds; call it from a thread."""
    where = "in a virtual environment" if sys.prefix != sys.base_prefix else "the system's"
    found = f"muster {__version__}, Python {platform.python_version()} ({sys.executable}, {where})"
    yield Check(AREA, "python", "ok", found)
    yield from _programs()
    missing = extras.problem("local")
    if missing:
        yield Check(AREA, "local cluster", "warning", f"`muster run` and `muster local` cannot work: {missing}")
        return
    yield _isolation()
    yield _ports()
    yield _home()


def _programs() -> Iterator[Check]:
    for program, what, remedy in (
        ("make", "make demo and make test of a clone", "install make (Debian: apt install make) to work on a clone"),
        ("kubectl", "nothing that muster does itself", "install kubectl to look at pods and to apply deploy/"),
    ):
        path = shutil.which(program)
        if path:
            yield Check(AREA, program, "ok", path)
        else:
            yield Check(AREA, program, "warning", f"not on PATH; needed for {what}", remedy)


def _isolation() -> Check:
    choice = choose_isolation()
    if choice.isolation is Isolation.NETNS:
        return Check(AREA, "namespaces", "ok", "pods of a local cluster get network namespaces of their own")
    remedy = "nothing: local experiments run all the same; `docs/local-cluster.md` has the differences"
    return Check(AREA, "namespaces", "warning", f"pods of a local cluster are isolated by {choice}", remedy)


def _ports() -> Check:
    with ExitStack() as held:
        for free in range(PORTS):
            try:
                held.enter_context(socket.create_server((HOST, 0)))
            except OSError as error:
                remedy = "look for what holds them: ss -tan; net.ipv4.ip_local_port_range and ulimit -n bound them"
                return Check(AREA, "ports", "failed", f"only {free} ports of {HOST} are free: {error}", remedy)
    return Check(AREA, "ports", "ok", f"{PORTS} ports of {HOST} can be opened")


def _home() -> Check:
    home = Home(default_home())
    check = "local cluster"
    try:
        running = home.running()
    except (MusterError, OSError) as error:
        return Check(AREA, check, "failed", f"{home.path}: {error}", "name another directory with MUSTER_HOME")
    if running is not None:
        return Check(AREA, check, "ok", f"running at {running.url}, state in {home.path}")
    parent = next((path for path in (home.path, *home.path.parents) if path.exists()), home.path)
    if not os.access(parent, os.W_OK | os.X_OK):
        remedy = "name a directory of yours with MUSTER_HOME"
        return Check(AREA, check, "failed", f"{home.path} cannot be written", remedy)
    return Check(AREA, check, "ok", f"none runs; its state would be in {home.path}")
