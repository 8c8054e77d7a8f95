"""``muster doctor``: what works on this machine and on this cluster, and what to do about the rest."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing, suppress
from dataclasses import replace

import click

from muster.api.errors import ApiError, MusterError
from muster.api.values.durations import count_of
from muster.api.values.printable import printable
from muster.cli.doctor import daemon, machine, monitoring, rights, server
from muster.cli.doctor.server import Check
from muster.cli.exits import FAILED
from muster.cli.options import ClusterChoice, cluster_options, local_home, output_option, show
from muster.cli.terminal.colours import data
from muster.cli.terminal.patience import patient
from muster.client import Client, NoCluster, Snapshot
from muster.client.explaining.style import BAD, BUSY, DIM, GOOD
from muster.client.snapshot import snapshot_of
from muster.client.subjects import collection_path

COLOURS = {"ok": GOOD, "warning": BUSY, "failed": BAD}


@click.command(epilog="\b\nExamples:\n  muster doctor\n  muster doctor -n team\n  muster doctor -o json\n")
@output_option()
@cluster_options
def doctor(chosen: ClusterChoice, output: str | None) -> None:
    """Check this machine and this cluster: each check is ok, a warning or failed, with what to do next.

    It reads and changes nothing: the API server and its clock, the CRD, your rights in the namespace, musterd and its
    leader, its metrics, the rights for watched runs, whether musterd reaches pods. A check that your
    rights do not allow is a warning.

    Exit status: 0 nothing failed (there may be warnings), 1 something failed.
    """
    found: list[Check] = []

    async def run() -> None:
        area = ""
        async with aclosing(_findings(chosen)) as findings:
            while (finding := await patient(anext(findings, None), "checking")) is not None:
                found.append(finding)
                if output is None:
                    if finding.area != area:
                        area = finding.area
                        data(area)
                    _print(finding)

    asyncio.run(run())
    number = Counter(finding.state for finding in found)
    if output is not None:
        show({"findings": found, "failed": number["failed"], "warnings": number["warning"]}, output)
    else:
        data(f"{number['failed']} failed, {count_of(number['warning'], 'warning')}, {number['ok']} ok")
    if number["failed"]:
        raise click.exceptions.Exit(FAILED)


def _print(finding: Check) -> None:
    state = click.style(f"{finding.state:<7}", fg=COLOURS[finding.state])
    data(f"  {state}  {finding.check}: {printable(finding.found)}")
    if finding.next:
        data(f"           {click.style(f'next: {printable(finding.next)}', fg=DIM)}")


async def _findings(chosen: ClusterChoice) -> AsyncGenerator[Check, None]:
    for finding in await asyncio.to_thread(lambda: list(machine.machine())):
        yield finding
    try:
        async with chosen.client() as client, aclosing(_cluster(client)) as findings:
            async for finding in findings:
                yield finding
    except NoCluster as error:
        yield Check(server.AREA, "API server", "warning", str(error), "nothing, if you only use `muster run`")
    except MusterError as error:
        remedy = "kubectl cluster-info; --context or KUBECONFIG choose another cluster"
        yield Check(server.AREA, "API server", "failed", printable(str(error), server.SHOWN), remedy)


async def _cluster(client: Client) -> AsyncGenerator[Check, None]:
    """Yield the checks of a cluster. Raises ``MusterError`` where its API server does not answer."""
    asker = server.Asker(client.transport)
    namespace = client.namespace
    async for finding in server.reach(asker):
        yield finding
    async for finding in _guarded(server.definition(asker), server.AREA, "CRD"):
        yield finding
        if finding.state == "failed":
            return
    async for finding in _guarded(rights.rights(asker, namespace), server.AREA, "rights"):
        yield finding
    seen = await _experiments(asker, namespace)
    home = local_home(client)
    if home is not None and (note := home.noted_daemon()) is not None:
        checks = _with_network(daemon.local_daemon(note.url, str(home.daemon_log)), seen)
    else:
        checks = _in_cluster(asker, seen, namespace)
    async for finding in _guarded(checks, daemon.AREA, "daemon"):
        yield finding


async def _in_cluster(asker: server.Asker, seen: Sequence[Snapshot], namespace: str) -> AsyncGenerator[Check, None]:
    """Yield the checks of the releases that run in the cluster: of several, each by its name."""
    releases = await daemon.find(asker)
    if (unprocessed := daemon.unprocessed(seen, asker.now)) is not None:
        yield unprocessed
    if not any(each.looks_after(namespace) for each in releases):
        yield daemon.nobody_for(releases, namespace)
    for release in releases:
        its = [each for each in seen if release.looks_after(each.namespace)]
        where = f" {printable(release.where)}" if len(releases) > 1 else ""
        async for finding in _with_network(_of_release(asker, release, its, namespace), its):
            yield replace(finding, area=finding.area + where)


async def _of_release(
    asker: server.Asker, release: daemon.Release, seen: Sequence[Snapshot], namespace: str
) -> AsyncGenerator[Check, None]:
    lease = await daemon.read_lease(asker, release)
    yield await daemon.ready(asker, release, lease, processed=any(each.phase for each in seen))
    if release.pods is None or release.pods or lease.there:
        yield daemon.leader(release, lease)
    for finding in monitoring.progress_endpoint(release, seen, asker.now):
        yield finding
    if release.pods is None or release.pods:
        async for finding in monitoring.monitoring(asker, release):
            yield finding
        if release.looks_after(namespace):
            async for finding in rights.watched(asker, release, namespace):
                yield finding


async def _with_network(checks: AsyncGenerator[Check, None], seen: Sequence[Snapshot]) -> AsyncGenerator[Check, None]:
    """Yield the checks of a daemon, then whether it reaches the pods of its experiments."""
    led = True
    async for finding in _guarded(checks, daemon.AREA, "daemon"):
        led = led and (finding.check not in daemon.LEADS or finding.state != "failed")
        yield finding
    yield daemon.pod_network(seen, led=led)


async def _experiments(asker: server.Asker, namespace: str) -> Sequence[Snapshot]:
    """Return experiments of all namespaces, else of this one, as far as they may be read."""
    for space in (None, namespace):
        with suppress(ApiError):
            return [snapshot_of(found) for found in await asker.list(collection_path(space))]
    return ()


async def _guarded(checks: AsyncGenerator[Check, None], area: str, check: str) -> AsyncGenerator[Check, None]:
    """Yield the findings; an error of the API server is one of them, and the other checks continue."""
    try:
        async with aclosing(checks) as findings:
            async for finding in findings:
                yield finding
    except ApiError as error:
        what = printable(f"it could not be checked: {error}", server.SHOWN)
        yield Check(area, check, "warning", what, "try again; see the log of the API server")
