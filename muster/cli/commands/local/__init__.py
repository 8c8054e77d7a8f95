"""``muster local``: the cluster on this machine."""

import click

from muster.cli.lazy_group import LazyGroup, Verb

VERBS = {
    "up": Verb("muster.cli.commands.local.cluster:up", "Start a cluster and musterd, and keep both running."),
    "down": Verb("muster.cli.commands.local.cluster:down", "End the local cluster and its pods."),
    "status": Verb("muster.cli.commands.local.cluster:status", "Show the running local cluster."),
    "kill": Verb("muster.cli.commands.local.kill:kill", "Send a signal to the process of one member."),
}


@click.group(cls=LazyGroup, verbs=VERBS)
def local() -> None:
    """A Kubernetes cluster on this machine, with musterd, for trying things out.

    Its pods are processes of this machine. kubectl and clients that send JSON work on it. Its files are
    in $MUSTER_HOME, by default ~/.local/state/muster.
    """
