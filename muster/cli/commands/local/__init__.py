"""``muster local``: the cluster on this machine."""

import click

from muster.cli.commands.local.down import down
from muster.cli.commands.local.kill import kill
from muster.cli.commands.local.status import status
from muster.cli.commands.local.up import up


@click.group()
def local() -> None:
    """A Kubernetes cluster on this machine, with musterd, for trying things out.

    Its pods are processes of this machine. kubectl and every Kubernetes client work on it. Its files are in
    $MUSTER_HOME, by default ~/.local/state/muster.
    """


for command in (up, down, status, kill):
    local.add_command(command)
