"""``muster get``: one experiment as a tree, or all in a table."""

import re
import time
from collections.abc import Collection
from typing import Final

import click

from muster.api.errors import Forbidden, MusterError
from muster.api.values.printable import printable
from muster.cli.commands.several.listing import listing_options, run_list, watch_experiments
from muster.cli.doctor.attention import unattended
from muster.cli.options import ClusterChoice, cluster_options, experiment_names, output_option, show
from muster.cli.terminal.colours import data
from muster.cli.terminal.patience import patient
from muster.cli.terminal.style import TERMINAL
from muster.client import Client
from muster.client.client import SHOWN_ONCE
from muster.client.errors import LogsGone, NoSuchRank, OnlyWatched
from muster.client.explaining.tree import tree
from muster.client.logs.silence import of_gang
from muster.client.snapshot import Snapshot
from muster.kube.unstructured import mapping

LINES: Final = 400
"""Lines of each log that are searched for the address of a debug server."""
_PRINTED: Final = (
    re.compile(r"https?://127\.0\.0\.1:[0-9]{1,5}/[!-~]{0,512}token=[0-9A-Za-z]{1,256}"),
    re.compile(
        r"https://(?:github\.com|(?:www\.|login\.)?microsoft\.com|login\.microsoftonline\.com)"
        r"/[0-9A-Za-z/._-]{1,128} and use code [0-9A-Za-z-]{1,32}"
    ),
    re.compile(r"https://vscode\.dev/tunnel/[!-~]{1,512}"),
)
"""Addresses of a debug server, as it prints them: Jupyter's with its token; those of ``code tunnel``, where to sign in
with a code, and then where it is.

A program writes its log itself: what leads to another host, or is not ASCII, is not shown as an address.
"""


@click.command(
    epilog="\b\nExamples:\n  muster get train-x7k2p\n  muster get train-x7k2p -w\n"
    "  muster get train-x7k2p -o json | jq .status.roll\n  muster get -A\n"
)
@click.argument("name", required=False, shell_complete=experiment_names)
@listing_options
@output_option("name", "wide")
@cluster_options
def get(
    chosen: ClusterChoice,
    name: str | None,
    watch: bool,
    everywhere: bool,
    phases: Collection[str],
    output: str | None,
) -> None:
    """Show NAME with its groups, its members and what it waits for. Without NAME it is `muster list`.

    NAME is an experiment, or an object of another kind: jobset/train, jaxjob/train. Of one that another controller
    runs (also trainjob/, rayjob/, raycluster/, job/, and pods/ for labelled pods) it shows what the object and its pods
    report.

    A watch ends with Ctrl-C (exit status 130) or with an error (1), never with the experiment: `muster wait` does.
    """
    if name is None:
        run_list(chosen, watch=watch, everywhere=everywhere, phases=phases, output=output)
        return
    if everywhere or phases:
        raise click.UsageError("-A and --phase choose from a list: leave NAME out, or give its namespace with -n")

    async def run(client: Client) -> None:
        if watch:
            if (await patient(client.get(name), f"reading {name}")).watched is not None:
                raise OnlyWatched(f"{name} is run by another controller: {SHOWN_ONCE}")
            await watch_experiments(client, name, False, (), output)
        else:
            await patient(_one(client, name, output), f"reading {name}")

    chosen.run(run)


async def _one(client: Client, name: str, output: str | None) -> None:
    if output in (None, "wide"):
        explanation = await client.explain(name)
        now = time.time()
        stuck = explanation.experiment.holds("Stuck")  # the diagnosis takes a while to import
        data(*tree(explanation, now, explanation.roll_call(now) if stuck else None, TERMINAL))
        if not stuck and (hint := await of_gang(client.resources, explanation.experiment, explanation.members, now)):
            data(hint)
        await unattended(client.resources, explanation.experiment)
        for address in await debug_addresses(client, explanation.experiment):
            data(printable(f"debug server of {address}"))
        return
    seen = await client.get(name)
    if output == "name":
        data(printable(seen.name))
    else:
        show(seen.raw, output)


async def debug_addresses(client: Client, seen: Snapshot) -> list[str]:
    """Return ``rank 0: https://vscode.dev/tunnel/…``, the latest of each rank; empty if none is printed or readable.

    No object holds them (ADR 52): they are read from the log, with the right of the reader to read it.
    """
    if not mapping(mapping(seen.raw.get("spec")).get("debug")) or seen.finished or not seen.phase:
        return []
    found: dict[int, str] = {}
    try:
        async for line in client.logs(seen.name, tail=LINES, namespace=seen.namespace):
            for pattern in _PRINTED:
                if match := pattern.search(line.text):
                    found[line.rank] = match[0]
    except (Forbidden, NoSuchRank, LogsGone):  # the message names the command that shows it, and that one the reason
        pass
    except MusterError as error:
        return [f"some rank: its log cannot be read now: {error}"]
    return [f"rank {rank}: {address}" for rank, address in sorted(found.items())]
