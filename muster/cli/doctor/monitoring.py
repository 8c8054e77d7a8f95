"""Checks the metrics of a musterd in the cluster, and that Prometheus' kinds exist."""

from collections.abc import AsyncGenerator

from muster.api.errors import ApiError, Forbidden, NotFound
from muster.api.values.printable import printable
from muster.cli.doctor.daemon import AREA, LABELS, Release
from muster.cli.doctor.findings import Finding
from muster.cli.doctor.server import SHOWN, Asker
from muster.kube.paths import custom
from muster.kube.unstructured import items, mapping, text

PROMETHEUS = "monitoring.coreos.com/v1"
KINDS = ("servicemonitors", "podmonitors", "prometheusrules")


async def monitoring(asker: Asker, release: Release) -> AsyncGenerator[Finding, None]:
    """Check the port of the metrics, and who could scrape it."""
    yield _endpoint(release)
    try:
        served = {text(r, "name") for r in items((await asker.get(f"/apis/{PROMETHEUS}")).get("resources"))}
    except NotFound:
        served = set()
    except ApiError as error:
        yield Finding(AREA, "Prometheus", "warning", printable(f"its kinds cannot be asked for: {error}", SHOWN))
        return
    if not served.intersection(KINDS):
        what = "its operator's kinds (ServiceMonitor, PrometheusRule) are not in this cluster"
        remedy = "where you have a Prometheus: docs/platform.md has the scrape configuration"
        yield Finding(AREA, "Prometheus", "ok", what, remedy)
        return
    yield await _monitored(asker, release)


def _endpoint(release: Release) -> Finding:
    check = "metrics"
    if release.pods is None:
        return Finding(AREA, check, "ok", "you may not see its pods, so the port is not known")
    ports = {
        (text(mapping(pod.get("metadata")), "name"), port.get("containerPort"))
        for pod in release.pods
        for container in items(mapping(pod.get("spec")).get("containers"))
        for port in items(container.get("ports"))
        if port.get("name") == "http"
    }
    if not ports:
        what = "no pod of musterd has a port named http"
        return Finding(AREA, check, "warning", what, "apply deploy/musterd.yaml or the chart: /metrics is on that port")
    numbers = ", ".join(sorted({str(number) for _, number in ports}))
    what = f"/metrics on port {printable(numbers)} of {len(ports)} pods, for readers with a token (docs/platform.md)"
    return Finding(AREA, check, "ok", what)


async def _monitored(asker: Asker, release: Release) -> Finding:
    check = "Prometheus"
    remedy = "the chart makes one (docs/platform.md); without it nothing scrapes musterd unless another job does"
    for kind in KINDS[:2]:
        for label in LABELS:
            try:
                found = await asker.list(custom(PROMETHEUS, release.namespace, kind), label)
            except NotFound:
                continue
            except Forbidden:
                return Finding(AREA, check, "ok", "its kinds are installed; you may not list the monitors")
            except ApiError as error:
                return Finding(AREA, check, "warning", printable(f"monitors cannot be listed: {error}", SHOWN))
            if names := [text(mapping(each.get("metadata")), "name") for each in found]:
                return Finding(AREA, check, "ok", printable(f"{kind[:-1]} {', '.join(names)} selects musterd", SHOWN))
    what = f"its kinds are installed, but namespace {printable(release.namespace)} has no monitor for musterd"
    return Finding(AREA, check, "warning", what, remedy)
