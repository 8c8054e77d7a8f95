"""The configuration that a Prometheus gets for a ServiceMonitor, as the Prometheus operator makes it.

Debian's Prometheus has no discovery of Kubernetes, so the targets are found here, by the same rules: the Services that
the ServiceMonitor selects, the addresses behind their port of the endpoint's name, and the labels of a target
(prometheus-operator: pkg/prometheus, promcfg.go, generateServiceMonitorConfig).
"""

from collections.abc import Iterable
from typing import Any

import yaml

Object = dict[str, Any]


def scrape_config(monitor: Object, services: Iterable[Object], slices: Iterable[Object]) -> str:
    """For one ServiceMonitor and the Services and EndpointSlices that there are, as text."""
    chosen, behind = [each for each in services if _selects(monitor, each)], list(slices)
    jobs = [
        {
            "job_name": f"serviceMonitor/{monitor['metadata']['namespace']}/{monitor['metadata']['name']}/{number}",
            "scrape_interval": endpoint["interval"],
            "metrics_path": endpoint["path"],
            "honor_labels": endpoint["honorLabels"],
            "authorization": {"credentials_file": endpoint["bearerTokenFile"]},
            "static_configs": [target for each in chosen for target in _targets(each, endpoint["port"], behind)],
        }
        for number, endpoint in enumerate(monitor["spec"]["endpoints"])
    ]
    return yaml.safe_dump({"scrape_configs": jobs})


def _selects(monitor: Object, service: Object) -> bool:
    spec, metadata = monitor["spec"], service["metadata"]
    wanted = spec["selector"]["matchLabels"].items()
    return metadata["namespace"] in spec["namespaceSelector"]["matchNames"] and wanted <= metadata["labels"].items()


def _targets(service: Object, port: str, slices: list[Object]) -> list[Object]:
    metadata = service["metadata"]
    common = {"namespace": metadata["namespace"], "service": metadata["name"], "job": metadata["name"]}
    return [
        {
            "targets": [f"{address}:{each['port']}"],
            "labels": {**common, "endpoint": port, "pod": endpoint["targetRef"]["name"]},
        }
        for group in slices
        if group["metadata"]["labels"].get("kubernetes.io/service-name") == metadata["name"]
        for each in group["ports"]
        if each["name"] == port
        for endpoint in group["endpoints"]
        for address in endpoint["addresses"]
    ]
