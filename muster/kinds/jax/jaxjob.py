"""Reads a JAXJob (kubeflow.org/v1) that Muster runs: from the API server, or from a file.

Source: Kubeflow training operator v1.9.4, pkg/apis/kubeflow.org/v1 (jax_types, jax_defaults, common_types) and
pkg/webhooks/jax. Its defaults and the checks of its webhook are made here again: neither exists if the operator is not
installed. What it has and Muster does not do is refused with a reason, and never ignored.

The pod template is that of a Job, and is checked where Muster reads it (containers, their names, images and ports). The
rest of it is checked by the API server when a pod is created.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from muster.api.manifest.error_text import Loc
from muster.api.manifest.naming import too_long
from muster.api.manifest.problems import quoted
from muster.api.manifest.template.container import owned
from muster.api.manifest.yaml.reader import Node
from muster.api.values.fields import LABEL_1035, MEANING, Stored
from muster.kinds.job.spec import PodTemplate
from muster.kinds.planning.run_object import Found, RunObject

CONTAINER: Final = "jax"
"""The container whose port the coordinator listens on (jax_types.go, JAXJobDefaultContainerName)."""
PORT_NAME: Final = "jaxjob-port"
PORT: Final = 6666
WORKER: Final = "Worker"
MOST: Final = 2**31 - 1
_NAME: Final = re.compile(LABEL_1035.replace("$", r"\Z"))

RestartPolicy = Literal["Always", "OnFailure", "Never", "ExitCode"]


class RunPolicy(Stored):
    """Fields that control how a JAXJob is run and cleaned up."""

    clean_pod_policy: Literal["All", "Running", "None"] | None = Field(
        None, description="Which pods are deleted at the end; None if absent."
    )
    ttl_seconds_after_finished: Annotated[int, Field(ge=0, le=MOST)] | None = Field(
        None, description="Seconds after its end when it is deleted."
    )
    active_deadline_seconds: Annotated[int, Field(ge=1, le=MOST)] | None = Field(
        None, description="Seconds after its start when it fails."
    )
    backoff_limit: Annotated[int, Field(ge=0, le=MOST)] | None = Field(
        None, description="Gang restarts after which it fails; any number if absent."
    )
    scheduling_policy: Annotated[
        Any, owned("Muster starts and restarts whole gangs itself and asks no gang scheduler", "remove it")
    ] = None
    suspend: bool | None = Field(None, description="Run nothing, and stop what runs, until this is false again.")
    managed_by: str | None = Field(None, description="Another manager's name keeps Muster away.")


class ReplicaSpec(Stored):
    """The workers."""

    replicas: Annotated[int, Field(ge=0, le=100_000)] | None = Field(None, description="How many; 1 if absent.")
    restart_policy: RestartPolicy = Field("Never", description="What follows a failure; Never if absent.")
    template: PodTemplate = Field(description="core/v1 PodTemplateSpec.")


class JAXJobSpec(Stored):
    """JAXJobSpec v1."""

    run_policy: RunPolicy = Field(RunPolicy(), description="How it is run.")
    jax_replica_specs: dict[str, ReplicaSpec] = Field(description="The replica specs by type; the only one is Worker.")


@dataclass(frozen=True, slots=True, kw_only=True)
class JAXJob(RunObject[JAXJobSpec]):
    """A JAXJob with the defaults of Kubeflow."""

    MODEL = JAXJobSpec

    @property
    def worker(self) -> ReplicaSpec:
        """Return the one replica spec."""
        return next(iter(self.spec.jax_replica_specs.values()))

    @property
    def replicas(self) -> int:
        """Return the number of workers."""
        return 1 if self.worker.replicas is None else self.worker.replicas

    @property
    def port(self) -> int:
        """Return the coordinator's port: the one that the container of the program names so."""
        named = (each for each in self._program.get("ports") or () if each.get("name") == PORT_NAME)
        return next((int(each["containerPort"]) for each in named), PORT)

    @property
    def template(self) -> dict[str, Any]:
        """Return the template of a worker's pod, with the coordinator's port on the container of the program."""
        template = self.worker.template.model_dump(by_alias=True, exclude_unset=True)
        ports = self._program.get("ports") or ()
        if all(each.get("name") != PORT_NAME and each.get("containerPort") != PORT for each in ports):
            added = {"name": PORT_NAME, "containerPort": PORT, "protocol": "TCP"}
            containers = [
                {**each, "ports": [*ports, added]} if each == self._program else each
                for each in template["spec"]["containers"]
            ]
            template["spec"]["containers"] = containers
        return {**template, "spec": {**template["spec"], "restartPolicy": "Never"}}

    @property
    def _program(self) -> dict[str, Any]:
        """Return the container ``jax``, or the only one: Kubeflow's first manifests called it ``jax-worker``."""
        containers: list[dict[str, Any]] = self.worker.template.spec["containers"]
        return next((each for each in containers if each.get("name") == CONTAINER), containers[0])


def parse_jaxjob(obj: Mapping[str, Any], file: str = "", node: Node | None = None) -> JAXJob:
    """Return the JAXJob in a decoded object. Raises ``SpecError``, and nothing else, if Muster cannot run it."""
    return JAXJob.read(obj, _checks, file=file, node=node)


def _checks(job: JAXJob) -> Iterator[Found]:
    specs = job.spec.jax_replica_specs
    if not _NAME.match(job.name):
        yield ("metadata", "name"), f"{quoted(job.name)} is not a name of {MEANING[LABEL_1035]}", "write another name"
    most = max((each.replicas or 1 for each in specs.values()), default=1)
    for problem in too_long(f"{job.name}-worker-{most - 1}-xxxxx", ""):
        yield ("metadata", "name"), *problem
    for key in specs:
        if key.lower() != WORKER.lower():
            yield ("spec", "jaxReplicaSpecs", key), f"{quoted(key)} is not a replica type", f"the only one is {WORKER}"
    if len(specs) != 1:
        yield ("spec", "jaxReplicaSpecs"), f"{len(specs)} replica specs", f"write one, {WORKER}"
    for key, each in specs.items():
        yield from _of_pod(("spec", "jaxReplicaSpecs", key, "template", "spec"), each.template.spec)


def _of_pod(where: Loc, spec: Mapping[str, Any]) -> Iterator[Found]:
    names = [container["name"] for container in spec["containers"]]
    for number, container in enumerate(spec["containers"]):
        if not isinstance(container.get("image"), str) or not container["image"]:
            yield (*where, "containers", number, "image"), "the container has no image", "write image"
        yield from _of_ports((*where, "containers", number, "ports"), container.get("ports"))
    if CONTAINER not in names and len(names) > 1:
        shown = ", ".join(map(quoted, names))
        yield (*where, "containers"), f"no container is named {CONTAINER} (found: {shown})", "name one so"
    for kind in ("hostname", "subdomain"):
        if spec.get(kind):
            yield (*where, kind), "Muster gives each worker the name that the others know", "remove it"
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is not None and not (type(grace) is int and 0 <= grace <= MOST):
        yield (*where, "terminationGracePeriodSeconds"), f"{quoted(grace)} is not a number of seconds", ""


def _of_ports(place: Loc, ports: object) -> Iterator[Found]:
    if ports is not None and not (isinstance(ports, list) and all(isinstance(each, Mapping) for each in ports)):
        yield place, "a list of ports is expected", "write containerPort"
        return
    for number, each in enumerate(ports or ()):
        port = each.get("containerPort")
        if type(port) is not int or not 1 <= port <= 65_535:
            yield (*place, number, "containerPort"), f"{quoted(port)} is not a port", "write 1 to 65535"
