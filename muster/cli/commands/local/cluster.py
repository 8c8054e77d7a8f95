"""``muster local up``, ``down`` and ``status``: keep a cluster with musterd on this machine, end it, and show it."""

import asyncio
import contextlib
import os
import select
import signal
import time

import click
import msgspec

from muster.api.errors import MusterError
from muster.cli.exits import FAILED
from muster.cli.options import output_option, show
from muster.cli.processes.interrupts import Interrupts
from muster.cli.processes.stack import local_stack
from muster.cli.terminal.colours import data, say
from muster.client.explaining.style import since
from muster.local.home import Home, default_home


@click.command(epilog="\b\nExamples:\n  muster local up\n  muster local up --fresh --port 6443\n")
@click.option("--fresh", is_flag=True, help="Remove the objects and logs of earlier clusters first.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port of the API server; a free one by default.")
def up(fresh: bool, port: int) -> None:
    """Start a cluster and musterd, print the kubeconfig's path, and keep both running.

    Ctrl-C or `muster local down` ends them.

    Pods are processes of this machine and begin in this directory. Objects are kept from one start to the next. If
    the cluster or the daemon fails, this names it with the last lines of its log, and exits with 1.
    """
    home = Home(default_home())

    async def keep() -> None:
        with Interrupts() as interrupts:
            async with contextlib.AsyncExitStack() as parts:
                entering = parts.enter_async_context(local_stack(home, port=port, fresh=fresh))
                cluster = await interrupts.guard(asyncio.create_task(entering, name="local-up"))
                if cluster is None:
                    return
                data(str(cluster.kubeconfig))
                say("next, in another terminal:")
                say(f"  export KUBECONFIG={cluster.kubeconfig}")
                say("  muster list -A -w")
                say("  muster submit manifest.yaml")
                say(f"roll calls and metrics: {cluster.daemon_url}/")
                say("Ctrl-C ends it")
                await interrupts.guard(asyncio.create_task(cluster.watch(), name="local-watch"))
                say("ending pods, daemon and cluster")

    asyncio.run(keep())


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


@click.command(
    epilog="\b\nExamples:\n  muster local status\n  export KUBECONFIG=$(muster local status -o kubeconfig)\n"
)
@output_option("kubeconfig")
def status(output: str | None) -> None:
    """Show the running local cluster; exits with 1 if none runs."""
    home = Home(default_home())
    running = home.running()
    note = home.noted_daemon()
    if running is None:
        if output in ("json", "yaml"):
            show({"running": False, "state": str(home.path)}, output)
        else:
            say(f"no local cluster runs at {home.path}; `muster local up` starts one")
        raise click.exceptions.Exit(FAILED)
    if output == "kubeconfig":
        data(running.kubeconfig)
        return
    daemon = None if note is None else {"pid": note.pid, "url": note.url, "log": str(home.daemon_log)}
    if output is not None:
        show({"running": True, **msgspec.to_builtins(running), "daemon": daemon}, output)
        return
    age = since(running.started, time.time())
    data(f"running for {age} (process {running.pid}, pods isolated by {running.isolation})")
    data(f"api server  {running.url}")
    data(f"kubeconfig  {running.kubeconfig}")
    data(f"musterd     {f'{note.url}/ (process {note.pid}, log {home.daemon_log})' if note else 'not started with it'}")
