"""``muster local up``: keep a cluster and musterd running."""

import asyncio
import contextlib

import click

from muster.cli.processes.interrupts import Interrupts
from muster.cli.processes.stack import local_stack
from muster.cli.terminal.colours import data, say
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
                entering = parts.enter_async_context(local_stack(home, say, port=port, fresh=fresh))
                stack = await interrupts.guard(asyncio.create_task(entering, name="local-up"))
                if stack is None:
                    return
                data(stack.cluster.kubeconfig)
                say("next, in another terminal:")
                say(f"  export KUBECONFIG={stack.cluster.kubeconfig}")
                say("  muster list -A -w")
                say("  muster submit manifest.yaml")
                say(f"roll calls and metrics: {stack.daemon_url}/")
                say("Ctrl-C ends it")
                await interrupts.guard(asyncio.create_task(stack.watch(), name="local-watch"))
                say("ending pods, daemon and cluster")

    asyncio.run(keep())
