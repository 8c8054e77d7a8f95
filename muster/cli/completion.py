"""Completes the names of experiments in a shell: those of the cluster and namespace that the line names so far."""

import click
from click.shell_completion import CompletionItem

from muster.api.values.printable import printable

PATIENCE = 1.0
"""Seconds that a TAB may wait for the cluster."""
MOST = 200
"""Names that are offered."""


def experiment_names(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The experiments whose names begin so, each with its phase; none where no cluster answers in time."""
    import asyncio

    import muster.client.cluster_choice  # noqa: F401 - the cluster's second does not count what is imported for it
    from muster.cli.options import ClusterChoice
    from muster.client import Client, Snapshot

    kubeconfig, context, namespace = (ctx.params.get(name) for name in ("kubeconfig", "context", "namespace"))
    chosen = ClusterChoice(kubeconfig, context, namespace, quiet=True)

    async def read(unopened: Client) -> list[Snapshot]:
        async with asyncio.timeout(PATIENCE), unopened as client:
            return list(await client.list(namespace=chosen.namespace))

    try:
        found = asyncio.run(read(chosen.client()))
    except Exception:  # noqa: BLE001 - whatever is wrong, a TAB prints nothing
        return []
    names = [each for each in found if each.name.startswith(incomplete) and each.name.isprintable()]
    return [CompletionItem(each.name, help=printable(each.phase)) for each in names[:MOST]]
