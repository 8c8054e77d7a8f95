"""``muster goodput``: where the time of one experiment went, or of all, or of each week."""

import asyncio
import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import click

from muster.api.errors import MusterError
from muster.api.goodput import BADPUT, BY_PHASE, NOT_KNOWN, Bucket, Goodput, step_time
from muster.api.values.accelerators import USUAL
from muster.api.values.printable import printable
from muster.cli.commands.goodput.account import Account, together
from muster.cli.commands.goodput.prometheus import Prometheus, Source, prometheus_options, quoted
from muster.cli.options import ClusterChoice, cluster_options, experiment_names, output_option, show
from muster.cli.terminal.colours import data, say
from muster.cli.terminal.patience import patient
from muster.client import Client, Snapshot


@click.command(
    epilog="\b\nExamples:\n  muster goodput train-x7k2p\n  muster goodput --all\n"
    "  muster goodput -A --by namespace\n  muster goodput --all -o json | jq '.items[].goodput'\n"
    "  muster goodput -A --prometheus http://prometheus:9090 --weeks 8\n"
)
@click.argument("name", required=False, shell_complete=experiment_names)
@click.option("--all", "every", is_flag=True, help="All experiments of the namespace, together.")
@click.option("-A", "--all-namespaces", "everywhere", is_flag=True, help="All experiments of every namespace.")
@click.option("--by", type=click.Choice(["namespace", "operator"]), default=None, help="One part for each of these.")
@click.option("--weeks", type=click.IntRange(1, 53), default=4, show_default=True, help="Weeks with --prometheus.")
@output_option()
@cluster_options
@prometheus_options("Ask this Prometheus, and print each week.")
def goodput(
    source: Source,
    chosen: ClusterChoice,
    name: str | None,
    every: bool,
    everywhere: bool,
    by: str | None,
    weeks: int,
    output: str | None,
) -> None:
    """Show where the time of NAME went: a bar for each bucket that has any. Suspended time is not counted.

    With --all or -A the times of experiments are added up. Where experiments hold accelerators, each bucket has its
    share of their time, too: each experiment counts as many times as it holds accelerators now, and one that holds none
    now does not count.

    Where an experiment reports enough steps, a last line has what of its productive time steps took beyond the usual
    one: such as waits for data, and pauses that the program did not announce.

    The status of an experiment has its sums since its start. With --prometheus the weeks are those of UTC, from Monday
    on, and experiments that are deleted since are in them.
    """
    if (name is not None) + (every or everywhere) != 1:
        raise click.UsageError("give a NAME, or --all, or -A")
    if name is not None and by:
        raise click.UsageError("--by parts a list: it goes with --all or -A")
    if source.url and by:
        raise click.UsageError("--prometheus parts by week: it does not go with --by")
    if source.url:
        accounts = asyncio.run(_weeks(chosen, source, weeks, name or "", everywhere=everywhere))
    elif name is not None:
        accounts = [_one(chosen, name)]
    else:
        accounts = chosen.run(lambda client: _all(client, by or "", everywhere=everywhere))
    if output is not None:
        show({"items": [each.document() for each in accounts]}, output)
        return
    for each in accounts:
        data(*each.lines())
    _remark(accounts)


def account_of(seen: Snapshot, sums: Goodput, now: float) -> Account:
    """Return the time of one experiment until now."""
    counted = sums.at(now)
    times = {bucket: float(counted.of(bucket)) for bucket in Bucket}
    held = USUAL.count(tuple((each.resource, each.count) for each in seen.status.devices))
    return Account(
        f"{seen.namespace}/{seen.name}  {seen.phase}",
        times,
        {bucket: held * ms for bucket, ms in times.items()} if held else {},
        by_steps=int(seen.status.steps is not None),
        holding=int(held > 0),
        step_time=step_time(sums.marks),
    )


def _one(chosen: ClusterChoice, name: str) -> Account:
    seen = chosen.ask(lambda client: client.get(name), f"reading {name}")
    if seen.status.goodput is None:
        why = "musterd has counted nothing of it yet"
        if seen.watched is not None:
            why = "another controller runs it, and only the metrics of musterd have its times: --prometheus"
        raise MusterError(f"{seen.namespace}/{printable(seen.name)}: {why}")
    return account_of(seen, seen.status.goodput, time.time())


async def _all(client: Client, by: str, *, everywhere: bool) -> list[Account]:
    found = await patient(client.list(everywhere=everywhere), "listing experiments")
    now = time.time()
    parts: dict[str, list[Account]] = {}
    for seen in found:
        if seen.status.goodput is not None:
            part = getattr(seen, by) if by else "all namespaces" if everywhere else f"namespace {client.namespace}"
            parts.setdefault(part, []).append(account_of(seen, seen.status.goodput, now))
    return [together(part, accounts) for part, accounts in sorted(parts.items())]


async def _weeks(chosen: ClusterChoice, source: Source, count: int, name: str, *, everywhere: bool) -> list[Account]:
    namespace = "" if everywhere else chosen.namespace or ""
    if not everywhere and not namespace:
        async with chosen.client() as client:
            namespace = client.namespace
    labels = {"namespace": namespace, "experiment": name}
    return await patient(by_week(source, labels, time.time(), count), "asking Prometheus")


def _remark(accounts: Sequence[Account]) -> None:
    experiments = sum(each.experiments for each in accounts)
    silent = experiments - sum(each.by_steps for each in accounts)
    if not accounts:
        say("nothing is counted: no experiment has begun")
    elif experiments == 1 and silent:
        say(BY_PHASE)
    elif silent:
        say(f"{silent} of {experiments} experiments report no steps: of them {NOT_KNOWN}")


WEEK: Final = timedelta(days=7)


def last_weeks(now: float, count: int) -> Iterator[tuple[datetime, float]]:
    """Yield the last weeks with the present one last: each Monday 00:00 UTC, and when the week ends, or now."""
    today = datetime.fromtimestamp(now, UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    monday = today - timedelta(days=today.weekday())
    for back in reversed(range(count)):
        begin = monday - back * WEEK
        yield begin, min(now, (begin + WEEK).timestamp())


def selector(labels: Mapping[str, str]) -> str:
    """Return ``{namespace="ml"}``, with every value quoted."""
    return "{" + ",".join(f"{name}={quoted(value)}" for name, value in labels.items() if value) + "}"


async def by_week(source: Source, labels: Mapping[str, str], now: float, count: int) -> list[Account]:
    """Return the sums of each week. Raises ``MusterError`` where Prometheus does not answer with them.

    They are the increases of the counters within it, so they hold also for experiments that were deleted since.
    Prometheus extrapolates an increase to the ends of its window: a figure may be off by the time between two scrapes
    for each experiment that began or ended in the week. What is lost in one week of the work of another is taken from
    the productive time of the week in which that is known, and from no more than it has.
    """
    async with Prometheus(source) as prometheus:
        asked = [_week(prometheus, selector(labels), begin, end) for begin, end in last_weeks(now, count)]
        found = list(await asyncio.gather(*asked))
        say(*(f"muster: {warning}" for warning in prometheus.warnings))
        return found


async def _week(prometheus: Prometheus, chosen: str, begin: datetime, end: float) -> Account:
    window = max(1, round(end - begin.timestamp()))

    async def increases(metric: str, by: str = "") -> dict[str, float]:
        series = f"muster_experiment_{metric}_seconds_total{chosen}[{window}s]"
        found = await prometheus.ask(f"sum by ({by}) (increase({series}))", end)
        return {labels.get(by, ""): 1000 * value for labels, value in found}

    productive, taken_back, badput = await asyncio.gather(
        increases("productive"), increases("taken_back"), increases("badput", "source")
    )
    net = productive.get("", 0.0) - taken_back.get("", 0.0)
    buckets = {each: badput.get(each.value, 0.0) for each in BADPUT} | {Bucket.PRODUCTIVE: max(0.0, net)}
    return Account(f"week of {begin:%Y-%m-%d}", buckets, {}, experiments=0)
