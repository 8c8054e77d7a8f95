"""``muster explain``: the history of an experiment, and what it waits for."""

import time

import click
import msgspec

from muster.api.causes import EpochEvidence
from muster.api.values.rank_ranges import from_ranges
from muster.api.wire import structs as wire
from muster.cli.options import ClusterChoice, cluster_options, experiment_names, output_option, show
from muster.cli.terminal.colours import data
from muster.cli.terminal.style import TERMINAL
from muster.client import Explanation
from muster.client.errors import UnknownEpoch
from muster.client.explaining.lines import kept, lines, of_epoch, rows, which
from muster.kube.unstructured import mapping
from muster.rollcall.document import Detail


@click.command(
    epilog="\b\nExamples:\n  muster explain train-x7k2p\n  muster explain train-x7k2p -o json\n"
    "  muster explain train-x7k2p --epoch 1\n"
)
@click.argument("name", shell_complete=experiment_names)
@click.option("--epoch", type=click.IntRange(0), default=None, help="An epoch that ended without success.")
@output_option()
@cluster_options
def explain(chosen: ClusterChoice, name: str, epoch: int | None, output: str | None) -> None:
    """Show what NAME waits for and which members block it.

    Also why it restarted or ended, what each rank logged last, and what happened when.

    With --epoch it shows what was known of that epoch when it ended: what it waited for, who failed, where its ranks
    were. The last three epochs that ended without success are kept.
    """
    found = chosen.ask(lambda client: client.explain(name, last_lines=True, epoch=epoch), f"reading {name}")
    status, now = found.experiment.status, time.time()
    row = None if epoch is None else kept(status, epoch)
    if row is None and epoch is not None and epoch != status.epoch_begun:
        raise UnknownEpoch(f"{name}: nothing is known of epoch {epoch}: {which(status)}")
    if row is not None:
        if output is not None:
            show({"evidence": wire.write(EpochEvidence, row), "lastLines": found.last_lines}, output)
        else:
            data(*of_epoch(row, status, rows(found.last_lines, now, row.at), TERMINAL))
    elif output is not None:
        show(document(found, now), output)
    else:
        data(*lines(found, now, TERMINAL))


def document(found: Explanation, now: float) -> dict[str, object]:
    """Return the explanation as data."""
    seen, roll = found.experiment, found.roll_call(now)
    return {
        "namespace": seen.namespace,
        "name": seen.name,
        "waitsFor": found.waits_for,
        "outcome": seen.outcome,
        "findings": [] if roll is None else findings_of(roll),
        "status": mapping(seen.raw.get("status")),
        "members": found.members if found.members_read else None,
        "unreadable": found.unreadable,
        "lastLines": found.last_lines,
        "tracebacks": found.tracebacks,
        "events": found.events,
    }


def findings_of(roll: Detail) -> list[dict[str, object]]:
    """Return the findings as data, with each rank of theirs."""
    return [{**msgspec.to_builtins(each), "ranks": list(from_ranges(each.ranks, roll.size))} for each in roll.findings]
