"""Reads a JAXJob (kubeflow.org/v1) that Muster runs: from the API server, or from a file.

Source: Kubeflow training operator v1.9.4, pkg/apis/kubeflow.org/v1 (jax_types, jax_defaults, common_types) and
pkg/webhooks/jax. Its defaults and the checks of its webhook are made here again: neither is there where the operator is
not installed. What it has and Muster does not do is refused with a reason, and never ignored.

The pod template is checked where Muster reads it (containers, their names, images and ports). The rest of it is checked
by the API server when a pod is created.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Final, Literal

from pydantic import Field, ValidationError

from muster.api.manifest.error_text import explain, position
from muster.api.manifest.problems import Problem, SpecError, bounded, path, quoted
from muster.api.manifest.yaml.reader import Node
from muster.api.values.fields import LABEL_1035, MEANING
from muster.api.values.stored import Stored

CONTAINER: Final = "jax"
"""The container whose port the coordinator listens on (jax_types.go, JAXJobDefaultContainerName)."""
PORT_NAME: Final = "jaxjob-port"
PORT: Final = 6666
WORKER: Final = "Worker"
MOST: Final = 2**31 - 1
LONGEST_NAME: Final = 63
_NAME: Final = re.compile(LABEL_1035.replace("$", r"\Z"))

RestartPolicy = Literal["Always", "OnFailure", "Never", "ExitCode"]


class SchedulingPolicy(Stored):
    """What a gang scheduler is asked for. Muster starts gangs itself and asks none."""

    min_available: int | None = Field(None, description="Pods that must be placed together.")
    queue: str | None = Field(None, description="Queue of the gang scheduler.")
    min_resources: dict[str, Any] | None = Field(None, description="Resources that must be free.")
    priority_class: str | None = Field(None, description="Priority of the gang.")
    schedule_timeout_seconds: int | None = Field(None, description="How long the gang may wait.")


class RunPolicy(Stored):
    """How a JAXJob is run and cleaned up."""

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
    scheduling_policy: SchedulingPolicy | None = Field(None, description="Only for gang schedulers: refused.")
    suspend: bool | None = Field(None, description="Run nothing, and stop what runs, until this is false again.")
    managed_by: str | None = Field(None, description="Another manager's name keeps Muster away.")


class ReplicaSpec(Stored):
    """The workers."""

    replicas: Annotated[int, Field(ge=0, le=100_000)] | None = Field(None, description="How many; 1 if absent.")
    restart_policy: RestartPolicy = Field("Never", description="What follows a failure; Never if absent.")
    template: dict[str, Any] = Field(description="core/v1 PodTemplateSpec.")


class JAXJobSpec(Stored):
    """JAXJobSpec v1."""

    run_policy: RunPolicy = Field(RunPolicy(), description="How it is run.")
    jax_replica_specs: dict[str, ReplicaSpec] = Field(description="The replica specs by type; the only one is Worker.")


@dataclass(frozen=True, slots=True)
class JAXJob:
    """A JAXJob with its defaults applied. ``template`` is the whole pod template of a worker."""

    name: str
    namespace: str
    uid: str
    generation: int
    deleting: bool
    finalizers: tuple[str, ...]
    run_policy: RunPolicy
    replicas: int
    restart_policy: RestartPolicy
    template: Mapping[str, Any]
    port: int = PORT
    labels: Mapping[str, Any] = field(default_factory=dict)


def parse_jaxjob(obj: Mapping[str, Any], *, file: str = "", node: Node | None = None) -> JAXJob:
    """The JAXJob in a decoded object. Raises ``SpecError``, and nothing else, if Muster cannot run it.

    ``node`` is the tree of the document that it was read from, for lines and columns; None without a text.
    """
    metadata = obj.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    try:
        spec = JAXJobSpec.read(obj.get("spec"))
    except ValidationError as error:
        raise SpecError(bounded(explain(error, JAXJobSpec, root=("spec",), file=file, node=node))) from None
    name = metadata.get("name") if isinstance(metadata.get("name"), str) else ""
    found = [
        Problem(file, *position(node, loc), path(loc), text, hint) for loc, text, hint in _checks(name or "", spec)
    ]
    if found:
        raise SpecError(bounded(found))
    worker = next(iter(spec.jax_replica_specs.values()))
    template, port = _defaulted(worker.template)
    finalizers = metadata.get("finalizers")
    generation = metadata.get("generation")
    return JAXJob(
        name=str(name),
        namespace=str(metadata.get("namespace") or ""),
        uid=str(metadata.get("uid") or ""),
        generation=generation if type(generation) is int else 0,
        deleting=metadata.get("deletionTimestamp") is not None,
        finalizers=tuple(map(str, finalizers)) if isinstance(finalizers, list) else (),
        run_policy=spec.run_policy,
        replicas=1 if worker.replicas is None else worker.replicas,
        restart_policy=worker.restart_policy,
        template=template,
        port=port,
        labels=metadata["labels"] if isinstance(metadata.get("labels"), Mapping) else {},
    )


Found = tuple[tuple[str | int, ...], str, str]
"""Where something is wrong, what, and what to do."""


def _checks(name: str, spec: JAXJobSpec) -> Iterator[Found]:
    yield from _of_name(name, spec)
    if spec.run_policy.scheduling_policy is not None:
        place = ("spec", "runPolicy", "schedulingPolicy")
        yield place, "Muster starts and restarts whole gangs itself and asks no gang scheduler", "remove it"
    keys = list(spec.jax_replica_specs)
    for key in keys:
        if key.lower() != WORKER.lower():
            yield ("spec", "jaxReplicaSpecs", key), f"{quoted(key)} is not a replica type", f"the only one is {WORKER}"
    if len(keys) != 1:
        yield ("spec", "jaxReplicaSpecs"), f"{len(keys)} replica specs", f"write one, {WORKER}"
        return
    where = ("spec", "jaxReplicaSpecs", keys[0], "template")
    yield from _of_template(where, spec.jax_replica_specs[keys[0]].template)


def _of_name(name: str, spec: JAXJobSpec) -> Iterator[Found]:
    if not _NAME.match(name):
        yield ("metadata", "name"), f"{quoted(name)} is not a name of {MEANING[LABEL_1035]}", "write another name"
    most = max((each.replicas or 1 for each in spec.jax_replica_specs.values()), default=1)
    longest = f"{name}-worker-{most - 1}-xxxxx"
    if len(longest) > LONGEST_NAME:
        over = len(longest) - LONGEST_NAME
        text = f"the longest pod name, {longest}, has {len(longest)} characters, Kubernetes allows {LONGEST_NAME}"
        yield ("metadata", "name"), text, f"cut {over} character{'s' if over > 1 else ''} from the name"


def _of_template(where: tuple[str | int, ...], template: Mapping[str, Any]) -> Iterator[Found]:
    unknown = [key for key in template if key not in ("metadata", "spec")]
    for key in unknown:
        yield (*where, key), "a pod template has no such field", "its fields are metadata and spec"
    spec = template.get("spec")
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    if not isinstance(spec, Mapping) or not isinstance(containers, list) or not containers:
        yield (*where, "spec", "containers"), "no container", f"write one named {CONTAINER}"
        return
    names = []
    for number, container in enumerate(containers):
        place = (*where, "spec", "containers", number)
        if not isinstance(container, Mapping):
            yield place, "a mapping is expected", "write name and image"
            continue
        names.append(container.get("name"))
        if not isinstance(container.get("image"), str) or not container["image"]:
            yield (*place, "image"), "the container has no image", "write image"
        yield from _of_env(place, container.get("env"))
        yield from _of_ports(place, container.get("ports"))
    if CONTAINER not in names and len(containers) > 1:
        shown = ", ".join(quoted(each) for each in names)
        yield (*where, "spec", "containers"), f"no container is named {CONTAINER} (found: {shown})", "name one so"
    for kind in ("metadata", "spec"):
        if template.get(kind) is not None and not isinstance(template[kind], Mapping):
            yield (*where, kind), "a mapping is expected", "see core/v1 PodTemplateSpec"
    for kind in ("hostname", "subdomain"):
        if spec.get(kind):
            yield (*where, "spec", kind), "Muster gives each worker the name that the others know", "remove it"
    yield from _of_lists(where, spec)


def _of_lists(where: tuple[str | int, ...], spec: Mapping[str, Any]) -> Iterator[Found]:
    """What the renderer walks over must have its shape."""
    inits = spec.get("initContainers")
    if inits is not None and not (isinstance(inits, list) and all(isinstance(each, Mapping) for each in inits)):
        yield (*where, "spec", "initContainers"), "a list of containers is expected", "see core/v1 PodSpec"
    elif inits:
        for number, each in enumerate(inits):
            yield from _of_env((*where, "spec", "initContainers", number), each.get("env"))
    grace = spec.get("terminationGracePeriodSeconds")
    if grace is not None and not (type(grace) is int and 0 <= grace <= MOST):
        yield (*where, "spec", "terminationGracePeriodSeconds"), f"{quoted(grace)} is not a number of seconds", ""


def _of_env(place: tuple[str | int, ...], env: object) -> Iterator[Found]:
    if env is None:
        return
    if not isinstance(env, list):
        yield (*place, "env"), "a list of variables is expected", "write name and value"
        return
    for number, each in enumerate(env):
        if not isinstance(each, Mapping) or not isinstance(each.get("name"), str):
            yield (*place, "env", number), "a variable with a name in text is expected", "write name and value"


def _of_ports(place: tuple[str | int, ...], ports: object) -> Iterator[Found]:
    if ports is None:
        return
    if not isinstance(ports, list) or not all(isinstance(each, Mapping) for each in ports):
        yield (*place, "ports"), "a list of ports is expected", "write containerPort"
        return
    for number, each in enumerate(ports):
        port = each.get("containerPort")
        if type(port) is not int or not 1 <= port <= 65_535:
            yield (*place, "ports", number, "containerPort"), f"{quoted(port)} is not a port", "write 1 to 65535"


def _defaulted(template: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
    """The template with the coordinator's port on the container of the program, and that port.

    That is the container ``jax``, or the only one: Kubeflow's first manifests called it ``jax-worker``.
    """
    containers = [dict(each) for each in template["spec"]["containers"]]
    port = PORT
    container = next((each for each in containers if each.get("name") == CONTAINER), containers[0])
    ports = [each for each in container.get("ports") or () if isinstance(each, Mapping)]
    named = next((each for each in ports if each.get("name") == PORT_NAME), None)
    if named is not None:
        port = named["containerPort"]
    elif all(each.get("containerPort") != PORT for each in ports):
        container["ports"] = [*ports, {"name": PORT_NAME, "containerPort": PORT, "protocol": "TCP"}]
    return {**template, "spec": {**template["spec"], "containers": containers, "restartPolicy": "Never"}}, port
