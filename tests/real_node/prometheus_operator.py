"""Which configuration the Prometheus operator makes for a ServiceMonitor, asked of its binary.

It runs beside the cluster, as an administrator, while a situation needs it. Its kinds are served without a schema
then: `make real` checks the schemas of a release. Its Prometheus has no replica: the operator writes the Secret that
one would get, and the situation gives that to a Prometheus of its own.
"""

import gzip
import json
from base64 import b64decode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import yaml

from muster.cli.processes.stack import free_port
from muster.kube.resources import core
from tests.fakes.definitions import definition
from tests.real.namespace import WITHIN, Object, eventually
from tests.real.plane.programs import Program
from tests.real_node.site import Site

API = "monitoring.coreos.com/v1"
KINDS = {
    "servicemonitors": "ServiceMonitor",
    "podmonitors": "PodMonitor",
    "probes": "Probe",
    "prometheusrules": "PrometheusRule",
    "prometheuses": "Prometheus",
}
"""By plural: what the operator reads for a Prometheus. It looks for its other kinds once, and goes without them."""


@asynccontextmanager
async def prometheus_operator(here: Site) -> AsyncIterator[None]:
    """Its kinds are served and it runs; afterwards both are gone, and with them the objects of the kinds."""
    defined = [definition(API, plural, kind) for plural, kind in KINDS.items()]
    names = [f"customresourcedefinition/{each['metadata']['name']}" for each in defined]
    await here.apply(*defined)
    try:
        await here.kubectl("wait", "--for=condition=Established", *names, WITHIN)
        folder = Path(here.ground.folder)
        command = [here.nodes.programs["prometheus-operator"], *_options(Path(here.ground.admin))]
        process = Program("prometheus-operator", command, folder / "prometheus-operator.log")
        try:
            yield
        finally:
            process.end()
    finally:
        await here.kubectl("delete", *names)


async def configuration(here: Site, version: str) -> Object:
    """What a Prometheus of that version gets that selects every ServiceMonitor."""
    everything: Mapping[str, Any] = {"serviceMonitorSelector": {}, "serviceMonitorNamespaceSelector": {}}
    spec = {"replicas": 0, "version": version, "serviceDiscoveryRole": "EndpointSlice", **everything}
    metadata = {"name": "all", "namespace": here.namespace}
    await here.apply({"apiVersion": API, "kind": "Prometheus", "metadata": metadata, "spec": spec})

    async def written() -> Object:
        secret = await here.get(core(here.namespace, "secrets", "prometheus-all"))
        packed = (secret or {}).get("data", {}).get("prometheus.yaml.gz", "")
        found: Object = yaml.safe_load(gzip.decompress(b64decode(packed))) if packed else {}
        return found if found.get("scrape_configs") else {}

    made: Object = await eventually(written)
    return made


def _options(config: Path) -> list[str]:
    document = json.loads(config.read_text(encoding="utf-8"))
    cluster, user = document["clusters"][0]["cluster"], document["users"][0]["user"]
    return [
        f"--apiserver={cluster['server']}",
        f"--ca-file={cluster['certificate-authority']}",
        f"--cert-file={user['client-certificate']}",
        f"--key-file={user['client-key']}",
        f"--web.listen-address=127.0.0.1:{free_port()}",
    ]
