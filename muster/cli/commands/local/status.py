"""``muster local status``: whether a local cluster runs, and its addresses."""

import time

import click
import msgspec

from muster.cli.exits import FAILED
from muster.cli.options import output_option, show
from muster.cli.terminal.colours import data, say
from muster.client.explaining.times import since
from muster.local.home import Home, default_home


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
