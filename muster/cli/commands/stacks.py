"""``muster stacks``: what every rank does at this moment, equal stacks grouped."""

from collections.abc import Iterator, Sequence

import click

from muster.api.values.printable import printable
from muster.cli.exits import FAILED, PARTIAL
from muster.cli.options import SPAN, ClusterChoice, cluster_options, experiment_names, output_option, show
from muster.cli.terminal.colours import data, say
from muster.client.stacks.frames import RankStacks, grouped, unread
from muster.client.stacks.reading import AT_ONCE, PATIENCE, stacks_of

DEEPEST = 40
"""Frames of a stack that are printed, the innermost."""


@click.command(
    epilog="\b\nExamples:\n  muster stacks train-x7k2p\n  muster stacks train-x7k2p --rank 37 --raw\n"
    "  muster stacks jobset/train -o json | jq .groups[].ranks\n"
)
@click.argument("name", shell_complete=experiment_names)
@click.option("--rank", "ranks", type=click.IntRange(0), multiple=True, help="Only this rank; may be given often.")
@click.option("--raw", is_flag=True, help="Each answer as it came.")
@click.option("--timeout", type=SPAN, default=PATIENCE, show_default=False, help=f"For each rank. [{PATIENCE:g} s]")
@click.option(
    "--at-once", type=click.IntRange(1, 1000), default=AT_ONCE, help=f"Ranks that are asked at once. [{AT_ONCE}]"
)
@output_option()
@cluster_options
def stacks(
    chosen: ClusterChoice,
    name: str,
    ranks: tuple[int, ...],
    raw: bool,
    timeout: float,
    at_once: int,
    output: str | None,
) -> None:
    """Show what each rank of NAME does at this moment: the Python stacks of its main threads, equal ones grouped.

    They are read by py-spy where the image has it, else by the signal that spec.assist answers, with commands in the
    containers: you need the verbs get and create on pods/exec. Nothing is stopped. Exit status: 0, 5 where some ranks
    gave no stack, 1 where none did.
    """
    count = [0, 0]

    def done(asked: int, of: int) -> None:
        count[:] = asked, of

    found = chosen.ask(
        lambda client: stacks_of(client, name, ranks, at_once=at_once, patience=timeout, done=done),
        "asking the ranks for their stacks",
        lambda: f"{count[0]} of {count[1]}",
    )
    if output is not None:
        show(document(found), output)
    else:
        data(*raw_lines(found) if raw else lines(found))
        say(*(printable(missing.sentence) for missing in unread(found)))
    if not any(each.processes for each in found):
        raise click.exceptions.Exit(FAILED)
    if not all(each.processes for each in found):
        raise click.exceptions.Exit(PARTIAL)


def document(found: Sequence[RankStacks]) -> dict[str, object]:
    """Return the groups, the ranks that gave none, and the threads of each rank, as data."""
    groups = [
        {
            "ranks": group.ranks,
            "does": group.activity,
            "place": group.doing and group.doing.place,
            "frames": group.frames,
        }
        for group in grouped(found)
    ]
    return {"groups": groups, "unread": unread(found), "ranks": found}


def lines(found: Sequence[RankStacks]) -> Iterator[str]:
    """Yield one sentence for each group, then the stack of each."""
    groups = grouped(found)
    yield from (printable(group.sentence) for group in groups)
    for group in groups:
        yield from ("", printable(f"{group.who}, the innermost call first:"))
        for frame in group.frames[:DEEPEST]:
            yield printable(f"  {frame.function} ({frame.file}:{frame.line or '?'})")
        if len(group.frames) > DEEPEST:
            yield f"  and {len(group.frames) - DEEPEST} more"


def raw_lines(found: Sequence[RankStacks]) -> Iterator[str]:
    """Yield everything that was read, by rank and process."""
    for each in found:
        for process in each.processes:
            yield printable(f"== rank {each.rank} ({each.pod}), process {process.pid}: {process.command}")
            yield from map(printable, process.raw.splitlines())
