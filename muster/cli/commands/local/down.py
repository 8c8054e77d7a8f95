"""``muster local down``: end the cluster of ``muster local up``."""

import os
import select
import signal

import click

from muster.api.errors import MusterError
from muster.cli.terminal.colours import say
from muster.local.home import Home, default_home

END_SECONDS = 30.0


@click.command(epilog="\b\nExample:\n  muster local down\n")
def down() -> None:
    """End the local cluster: its pods, musterd, and the `muster local up` that keeps them. Objects are kept."""
    home = Home(default_home())
    running = home.running()
    if running is None:
        if home.held():
            raise MusterError(f"the cluster at {home.path} is just starting or ending; try again in a moment")
        home.withdraw()  # removes the announcement of a cluster that crashed
        say("no local cluster runs")
        return
    note = home.noted_daemon()
    keeper = note.keeper if note is not None else running.pid
    say(f"ending the cluster (process {running.pid})")
    try:
        ended = os.pidfd_open(keeper)
    except ProcessLookupError:
        return
    try:
        os.kill(keeper, signal.SIGTERM)
        if not select.select([ended], [], [], END_SECONDS)[0]:
            raise MusterError(f"process {keeper} has not ended after {END_SECONDS:g} s; `muster local status` shows it")
    finally:
        os.close(ended)
