"""The operator's configuration for a Prometheus that has no discovery of Kubernetes, as Debian's has none.

Every address behind a Service of the namespaces that a job looks into becomes a target, with the labels that discovery
gives it (prometheus: discovery/kubernetes/endpointslice.go). The operator's own rules then choose among them.
"""

import re
from collections.abc import Iterable, Iterator
from typing import Any

Object = dict[str, Any]

META = "__meta_kubernetes"


def with_targets(configuration: Object, services: Iterable[Object], slices: Iterable[Object]) -> Object:
    """The scrape jobs with targets in place of their discovery, for one shard."""
    by_name = {(each["metadata"]["namespace"], each["metadata"]["name"]): each for each in services}
    there = list(slices)
    jobs = []
    for job in configuration["scrape_configs"]:
        namespaces = {name for each in job["kubernetes_sd_configs"] for name in each["namespaces"]["names"]}
        static = [
            target
            for group in there
            if group["metadata"]["namespace"] in namespaces and (service := by_name.get(_service_of(group)))
            for target in _targets(service, group)
        ]
        rest = {name: value for name, value in job.items() if name != "kubernetes_sd_configs"}
        rules = [
            {name: value.replace("$(SHARD)", "0") if isinstance(value, str) else value for name, value in rule.items()}
            for rule in job["relabel_configs"]
        ]
        jobs.append({**rest, "relabel_configs": rules, "static_configs": static})
    return {"scrape_configs": jobs}


def _service_of(group: Object) -> tuple[str, str]:
    metadata = group["metadata"]
    return metadata["namespace"], metadata["labels"].get("kubernetes.io/service-name", "")


def _targets(service: Object, group: Object) -> Iterator[Object]:
    labels = {
        f"{META}_namespace": service["metadata"]["namespace"],
        f"{META}_service_name": service["metadata"]["name"],
    }
    for name, value in service["metadata"].get("labels", {}).items():
        known = re.sub(r"\W", "_", name, flags=re.ASCII)
        labels |= {f"{META}_service_label_{known}": value, f"{META}_service_labelpresent_{known}": "true"}
    for port in group["ports"]:
        for endpoint in group["endpoints"]:
            pod = {
                f"{META}_endpointslice_port_name": port["name"],
                f"{META}_endpointslice_address_target_kind": endpoint["targetRef"]["kind"],
                f"{META}_endpointslice_address_target_name": endpoint["targetRef"]["name"],
                f"{META}_pod_name": endpoint["targetRef"]["name"],
            }
            for address in endpoint["addresses"]:
                yield {"targets": [f"{address}:{port['port']}"], "labels": labels | pod}
