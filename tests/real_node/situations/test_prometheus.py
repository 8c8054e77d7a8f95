"""A Prometheus in a pod scrapes musterd as the Prometheus operator reads the chart's ServiceMonitor."""

import asyncio
import json
from typing import Any
from urllib.parse import quote

import pytest
import yaml

from deploy.helm.copies import CHART
from tests.deploy.prometheus.binaries import Unavailable, program
from tests.real.ground import SYSTEM
from tests.real.namespace import SLOW, Object, eventually
from tests.real_node.prometheus_operator import configuration, prometheus_operator
from tests.real_node.scrape import with_targets
from tests.real_node.site import Site
from tests.real_node.situations.test_chart import OF

pytestmark = [pytest.mark.alone, pytest.mark.timeout(600)]
ACCOUNT = "prometheus"
DISCOVERED = ("services", "endpointslices")
RELEASE = "v2.42.0"
"""Debian's Prometheus: the operator writes what that release reads."""


async def monitor(here: Site) -> Object:
    """The release's ServiceMonitor. The cluster had not served its kind when the release was installed."""
    release = here.ground.server.split()[1].rstrip(",")  # "Kubernetes v1.36.3, at ...": helm template asks no server
    only = ("--kube-version", release, "--show-only", "templates/monitoring/servicemonitor.yaml")
    text = await here.helm("template", str(CHART), "--set", "serviceMonitor.create=always", *only)
    found: Object = yaml.safe_load(text)
    return found


async def ask(here: Site, query: str) -> list[Any]:
    """The samples of a query."""
    url = f"http://127.0.0.1:9090/api/v1/query?query={quote(query)}"
    code = f"import urllib.request; print(urllib.request.urlopen({url!r}, timeout=5).read().decode())"
    text = await here.kubectl("exec", ACCOUNT, "--", "python3", "-c", code)
    found: list[Any] = json.loads(text)["data"]["result"]
    return found


async def test_prometheus_scrapes_both_replicas_by_the_service_monitor(here: Site) -> None:
    try:
        binary = await asyncio.to_thread(program, "prometheus")
    except Unavailable as reason:
        pytest.skip(str(reason))
    await here.running()
    await here.kubectl("label", "namespace", here.namespace, "metrics=enabled")
    await here.kubectl("create", "serviceaccount", ACCOUNT)
    of = f"--serviceaccount={here.namespace}:{ACCOUNT}"
    seen = [json.loads(await here.kubectl(*OF, "get", each, "--output=json"))["items"] for each in DISCOVERED]
    async with prometheus_operator(here):
        await here.kubectl(*OF, "apply", "--filename=-", body=await monitor(here))
        read = with_targets(await configuration(here, RELEASE), *seen)
    config = {"prometheus.yaml": yaml.safe_dump(read)}
    await here.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": ACCOUNT}, "data": config})
    await here.kubectl("create", "clusterrolebinding", here.namespace, "--clusterrole=muster-metrics-reader", of)
    try:
        here.row.happens("a Prometheus, as the operator reads the chart's ServiceMonitor, in an admitted namespace")
        files = {"name": "programs", "hostPath": {"path": str(binary.parent), "type": "Directory"}}
        mounts = [{"name": "programs", "mountPath": "/programs"}, {"name": "config", "mountPath": "/config"}]
        await here.pod(
            ACCOUNT,
            "exec /programs/prometheus --config.file=/config/prometheus.yaml --storage.tsdb.path=/tmp/data "
            "--web.listen-address=127.0.0.1:9090",
            serviceAccountName=ACCOUNT,
            volumes=[files, {"name": "config", "configMap": {"name": ACCOUNT}}],
            container={"volumeMounts": mounts},
        )
        await here.kubectl("wait", "--for=condition=Ready", f"pod/{ACCOUNT}", f"--timeout={SLOW:g}s")

        async def scraped() -> list[Any]:
            up = await ask(here, 'up{job="musterd"} == 1')
            runs = await ask(here, f'muster_experiment_info{{namespace="{here.namespace}", experiment="run"}}')
            return [up, runs] if len(up) == 2 and runs else []

        up, runs = await eventually(scraped)
        targets = sorted(each["metric"]["pod"] for each in up)
        here.row.says(f"up: {', '.join(targets)}; experiment run of namespace {runs[0]['metric']['namespace']}")
        assert {each["metric"]["namespace"] for each in up} == {SYSTEM}
        assert len(runs) == 1  # the leader alone has series of experiments
    finally:
        await here.kubectl("delete", "clusterrolebinding", here.namespace)
