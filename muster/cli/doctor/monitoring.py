"""Checks that Prometheus can read the metrics of a musterd, and that the progress of members can reach it."""

from collections.abc import AsyncGenerator, Iterator, Sequence

from muster.api.errors import ApiError, Forbidden, NotFound
from muster.api.values.durations import count_of
from muster.api.values.printable import printable
from muster.cli.doctor.daemon import AREA, LABELS, Release
from muster.cli.doctor.server import SHOWN, Asker, Check
from muster.client import Snapshot
from muster.kube.resources import custom
from muster.kube.unstructured import items, mapping, text

PROMETHEUS = "monitoring.coreos.com/v1"
KINDS = ("servicemonitors", "podmonitors", "prometheusrules")


async def monitoring(asker: Asker, release: Release) -> AsyncGenerator[Check, None]:
    """Check the port of the metrics, and who could scrape it."""
    yield _endpoint(release)
    try:
        served = await asker.served(PROMETHEUS) or ()
    except ApiError as error:
        yield Check(AREA, "Prometheus", "warning", printable(f"its kinds cannot be asked for: {error}", SHOWN))
        return
    if not set(KINDS) & set(served):
        what = "its operator's kinds (ServiceMonitor, PrometheusRule) are not in this cluster"
        remedy = "where you have a Prometheus: docs/platform.md has the scrape configuration"
        yield Check(AREA, "Prometheus", "ok", what, remedy)
        return
    yield await _monitored(asker, release)


def _endpoint(release: Release) -> Check:
    check = "metrics"
    if release.pods is None:
        return Check(AREA, check, "ok", "you may not see its pods, so the port is not known")
    ports = {
        (text(mapping(pod.get("metadata")), "name"), port.get("containerPort"))
        for pod in release.pods
        for container in items(mapping(pod.get("spec")).get("containers"))
        for port in items(container.get("ports"))
        if port.get("name") == "http"
    }
    if not ports:
        what = "no pod of musterd has a port named http"
        return Check(AREA, check, "warning", what, "apply deploy/musterd.yaml or the chart: /metrics is on that port")
    numbers = ", ".join(sorted({str(number) for _, number in ports}))
    where = f"/metrics on port {printable(numbers)} of {count_of(len(ports), 'pod')}"
    return Check(AREA, check, "ok", f"{where}, for readers with a token (docs/platform.md)")


async def _monitored(asker: Asker, release: Release) -> Check:
    check = "Prometheus"
    remedy = "the chart makes one (docs/platform.md); without it nothing scrapes musterd unless another job does"
    for kind in KINDS[:2]:
        for label in LABELS:
            try:
                found = await asker.list(custom(PROMETHEUS, release.namespace, kind), label)
            except NotFound:
                continue
            except Forbidden:
                return Check(AREA, check, "ok", "its kinds are installed; you may not list the monitors")
            except ApiError as error:
                return Check(AREA, check, "warning", printable(f"monitors cannot be listed: {error}", SHOWN))
            if names := [text(mapping(each.get("metadata")), "name") for each in found]:
                return Check(AREA, check, "ok", printable(f"{kind[:-1]} {', '.join(names)} selects musterd", SHOWN))
    what = f"its kinds are installed, but namespace {printable(release.namespace)} has no monitor for musterd"
    return Check(AREA, check, "warning", what, remedy)


CHECK = "progress endpoint"
SERVED = "--progress-port"
SILENT = 300.0
"""Seconds that an experiment runs without a report after which the way may be closed: first steps compile."""


def progress_endpoint(release: Release, every: Sequence[Snapshot], now: float) -> Iterator[Check]:
    """Check the endpoint where a running experiment asks for it. ``now`` is in wall seconds of the API server."""
    asking = [
        seen for seen in every if not seen.finished and mapping(seen.raw.get("spec")).get("progressEndpoint") is True
    ]
    if not asking:
        return
    first = printable(f"{asking[0].namespace}/{asking[0].name}")
    if release.pods and not release.argument(SERVED, ""):
        what = f"{first} has spec.progressEndpoint, and musterd serves none ({SERVED} is not set)"
        yield Check(AREA, CHECK, "warning", what, "set the chart's progress.secretName (docs/chart.md)")
        return
    silent = [
        s
        for s in asking
        if s.status.steps is None and s.phase == "Running" and now - (s.status.assembled_at or now) > SILENT
    ]
    heard = [seen for seen in asking if seen.status.steps is not None]
    if heard:
        yield Check(AREA, CHECK, "ok", f"{len(heard)} of {len(asking)} experiments that ask for it have reported")
    elif silent:
        where = printable(f"{silent[0].namespace}/{silent[0].name}")
        what = f"{where} has run for more than {SILENT:g} s and has sent no step"
        remedy = (
            "either its program sends none, or it does not reach musterd: no NetworkPolicy may keep members from that "
            "port, their authority must be that of its certificate, and pods made before it was set up have no address"
        )
        yield Check(AREA, CHECK, "warning", what, remedy)
    else:
        yield Check(AREA, CHECK, "ok", f"{first} has it, and has not run long enough to judge")
