"""Completes the names of experiments in a shell: those of the cluster and namespace that the line names so far."""

from collections.abc import Iterator, Sequence

import click
from click.shell_completion import CompletionItem

from muster.api.values.printable import printable

PATIENCE = 1.0
"""Seconds that a TAB may wait for the cluster."""
MOST = 200
"""Names that are offered."""
FILES, NO_FILES = 0, 4
"""Directives of cobra's completions: files are offered, too, or not (cobra: ShellCompDirective)."""


def experiment_names(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the experiments whose names begin so, each with its phase; none where no cluster answers in time."""
    import asyncio

    import muster.client.cluster_choice  # noqa: F401 - the cluster's second does not count what is imported for it
    from muster.cli.options import ClusterChoice
    from muster.client import Client, Snapshot

    kubeconfig, context, namespace = (ctx.params.get(name) for name in ("kubeconfig", "context", "namespace"))
    chosen = ClusterChoice(kubeconfig, context, namespace, quiet=True, user=ctx.params.get("user") or "")

    async def read(unopened: Client) -> list[Snapshot]:
        async with asyncio.timeout(PATIENCE), unopened as client:
            return list(await client.list())

    try:
        found = asyncio.run(read(chosen.client()))
    except Exception:  # noqa: BLE001 - whatever is wrong, a TAB prints nothing
        return []
    names = [each for each in found if each.name.startswith(incomplete) and each.name.isprintable()]
    return [CompletionItem(each.name, help=printable(each.phase)) for each in names[:MOST]]


def for_kubectl(group: click.Command, words: Sequence[str]) -> Iterator[str]:
    """Yield what ``kubectl_complete-muster`` prints: a candidate a line, and what the shell is to do with them.

    ``words`` follow ``kubectl muster``; the last one is incomplete (kubectl: docs, "Extend kubectl with plugins").
    """
    from click.shell_completion import ShellComplete

    *before, incomplete = words or ("",)
    found = ShellComplete(group, {}, "muster", "_MUSTER_COMPLETE").get_completions(list(before), incomplete)
    for each in found:
        if each.type == "plain":
            yield f"{each.value}\t{printable(each.help)}" if each.help else str(each.value)
    yield f":{NO_FILES if all(each.type == 'plain' for each in found) else FILES}"
