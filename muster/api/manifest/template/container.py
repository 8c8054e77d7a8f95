"""The containers of a template: ``main`` is the member's own, every other one is an extra container.

Of ``main`` the manifest states image, command and resources, so a template cannot; it adds environment, mounts, ports,
probes and security context. An extra container is taken as written. The kinds of values, up to ``unique``,
serve the whole pod template.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from muster.api.manifest.operators import injected_env
from muster.api.manifest.problems import Refused, nearest, quoted
from muster.api.names import (
    ASSIST_VOLUME,
    CLAIM_VOLUME,
    CONTAINER,
    ENV_PREFIX,
    PROGRESS_VOLUME,
    SCRATCH_VOLUME,
    SHM_PATH,
    SHM_VOLUME,
)
from muster.api.values.fields import (
    LABEL_1123,
    SCRIPT,
    TEXT,
    Image,
    LabelKey,
    LabelValue,
    Shape,
    Wrong,
    limited,
    listed,
)

MAX_DEPTH: Final = 24
_INT64: Final = 2**63


def owned(why: str, instead: str) -> Any:
    """Return a field that Muster sets itself: any value is refused, with the reason and what to do instead."""

    def refuse(_value: Any) -> Any:
        raise Wrong(why, instead)

    return BeforeValidator(refuse)


def check_json(value: Any, depth: int = 0) -> Any:
    """Refuse what JSON or the API server cannot hold, so that rendering a checked template cannot fail on it."""
    if depth > MAX_DEPTH:
        raise Wrong(f"nested deeper than {MAX_DEPTH} levels", "write a flatter value")
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if not isinstance(name, str):
                raise Wrong(f"a key is text, not {quoted(name)}", "put it in quotes")
            check_json(inner, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            check_json(inner, depth + 1)
    elif isinstance(value, int) and not -_INT64 <= value < _INT64:
        raise Wrong("a number beyond 64 bits", "write a smaller one")
    elif isinstance(value, float) and not -1e308 < value < 1e308:
        raise Wrong("a number too large to hold", "write a finite number")
    return value


Opaque = Annotated[dict[str, Any], Field(max_length=64), AfterValidator(check_json)]
"""A mapping that the API server checks."""
Opaques = Annotated[tuple[Opaque, ...], listed(64)]
Name = Annotated[str, limited(LABEL_1123, 63)]
Word = Annotated[str, limited(TEXT, 253)]
Path = Annotated[str, limited(TEXT, 1_024)]
Value = Annotated[str, limited(SCRIPT, 65_536, 0)]
Arguments = Annotated[tuple[Value, ...], listed(1_024)]
Selector = Annotated[dict[LabelKey, LabelValue], Field(max_length=64)]


def unique(key: str) -> Any:
    """Return a list whose elements differ in ``key``: Kubernetes rejects a name that is used twice."""

    def check(elements: tuple[Any, ...]) -> tuple[Any, ...]:
        seen = set()
        for element in elements:
            name = getattr(element, key)
            if name in seen:
                raise Wrong(f"{quoted(name)} is listed twice", "give every element a name of its own")
            seen.add(name)
        return elements

    return AfterValidator(check)


def is_reserved_volume(name: str) -> bool:
    """Return True for a name of a volume that Muster adds: shared memory, a directory, a claim of ``spec.storage``."""
    claim = name.startswith(CLAIM_VOLUME) and name.removeprefix(CLAIM_VOLUME).isdigit()
    return claim or name in (ASSIST_VOLUME, PROGRESS_VOLUME, SHM_VOLUME, SCRATCH_VOLUME)


Loc = tuple[str | int, ...]
_LISTS: Final = ("containers", "initContainers")


@dataclass(frozen=True, slots=True)
class Written:
    """A template at its place in the spec, and the merged templates that it becomes a part of."""

    loc: Loc
    template: Mapping[str, Any]
    merged: tuple[Mapping[str, Any], ...]


def missing(written: Iterable[Written]) -> list[Refused]:
    """Return the images and volumes that the merged templates lack, in the order of the templates.

    An extra container may be written in the template of the experiment and changed in that of a type, so only the
    result of the merge shows if it has an image, and if a mount has a volume. Each problem names the place where the
    container or the mount is written.
    """
    return [found for each in written for kind in _LISTS for found in _of_list(each, kind)]


def _of_list(written: Written, kind: str) -> Iterator[Refused]:
    for number, container in enumerate(_named(written.template, kind)):
        loc = (*written.loc, "spec", kind, number)
        name = container["name"]
        if name != CONTAINER and not all(_has_image(merged, kind, name) for merged in written.merged):
            yield Refused(loc, f"container {name} has no image", "write image")
        for place, mount in enumerate(container.get("volumeMounts", ())):
            volume = mount["name"]
            known = [_volumes(merged) for merged in written.merged]
            if not is_reserved_volume(volume) and not all(volume in names for names in known):
                close = nearest(volume, {name for names in known for name in names})
                hint = f"did you mean {close}?" if close else "add it to spec.volumes of the template"
                yield Refused((*loc, "volumeMounts", place, "name"), f"there is no volume {volume}", hint)


def _named(template: Mapping[str, Any], kind: str) -> Sequence[Mapping[str, Any]]:
    found: Sequence[Mapping[str, Any]] = template.get("spec", {}).get(kind, ())
    return found


def _has_image(template: Mapping[str, Any], kind: str, name: str) -> bool:
    return any(container.get("image") for container in _named(template, kind) if container["name"] == name)


def _volumes(template: Mapping[str, Any]) -> set[str]:
    return {volume["name"] for volume in _named(template, "volumes")}


_STATED_RESOURCES: Final = {
    "cpu": "cpus",
    "memory": "ramRatio or memory",
    "nvidia.com/gpu": "accelerators.gpu.count",
    "google.com/tpu": "accelerators.tpu",
}


class EnvVar(Shape):
    """core/v1 EnvVar."""

    name: Annotated[str, limited(r"^[-._a-zA-Z][-._a-zA-Z0-9]*$", 512)] = Field(description="Name of the variable.")
    value: Value = ""
    value_from: Opaque = Field({})

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if self.value and self.value_from:
            raise Wrong(f"{self.name} has two sources", "remove value or valueFrom")
        return self


class MainEnvVar(EnvVar):
    """A variable of the member's own container."""

    @field_validator("name", mode="after")
    @classmethod
    def _not_injected(cls, name: str, info: ValidationInfo) -> str:
        operator = (info.context or {}).get("operator", "")
        if name.startswith(ENV_PREFIX) or name in injected_env(operator):
            raise Wrong(f"Muster sets {name} in every member", f"choose another name; its value may refer to $({name})")
        return name


class Reference(Shape):
    """core/v1 LocalObjectReference, with the ``optional`` of an environment source."""

    name: Word = Field(description="Name of the ConfigMap or Secret.")
    optional: bool = False


class EnvFrom(Shape):
    """core/v1 EnvFromSource."""

    prefix: Value = ""
    config_map_ref: Reference | None = None
    secret_ref: Reference | None = None

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if bool(self.config_map_ref) == bool(self.secret_ref):
            raise Wrong("an element of envFrom has one source", "write configMapRef or secretRef")
        return self


class VolumeMount(Shape):
    """core/v1 VolumeMount."""

    name: Name = Field(description="Name of the volume.")
    mount_path: Path = Field(description="Where it is mounted.")
    sub_path: Path | None = None
    sub_path_expr: Path | None = None
    read_only: bool = False
    recursive_read_only: Word | None = None
    mount_propagation: Word | None = None


class MainMount(VolumeMount):
    """A mount of the member's own container."""

    @field_validator("mount_path", mode="after")
    @classmethod
    def _not_shm(cls, path: str) -> str:
        if path.rstrip("/") == SHM_PATH:
            raise Wrong(f"Muster mounts {SHM_PATH}", "set shmSizeGB in the type's resources")
        return path


class Port(Shape):
    """core/v1 ContainerPort."""

    container_port: Annotated[int, Field(ge=1, le=65_535)] = Field(description="Port number.")
    name: Name | None = None
    protocol: Literal["TCP", "UDP", "SCTP"] = "TCP"
    host_port: Annotated[int, Field(ge=1, le=65_535)] | None = None
    host_ip: Word | None = Field(None, alias="hostIP")


def _not_stated(name: str) -> str:
    field = "rdma.devices" if name.startswith("rdma/") else _STATED_RESOURCES.get(name)
    if field:
        raise Wrong("the manifest states this resource", f"set {field} in the type's resources")
    return name


_Quantity = Annotated[str | int | float, AfterValidator(check_json)]
_Other = Annotated[dict[Annotated[LabelKey, AfterValidator(_not_stated)], _Quantity], Field(max_length=32)]


class MainResources(Shape):
    """core/v1 ResourceRequirements of the member's own container, beyond ``resources`` of the type."""

    requests: _Other = Field({})
    limits: _Other = Field({})
    claims: Opaques = ()


class MainLifecycle(Shape):
    """core/v1 Lifecycle of the member's own container."""

    post_start: Opaque = Field({})
    stop_signal: Word | None = None
    pre_stop: Annotated[
        Any, owned("the manifest states what runs before the stop", "set spec.gracefulTermination.shutdownCommand")
    ] = None


class _Container(Shape):
    """Fields that every container of a template may have."""

    name: Name = Field(description="Name of the container; main is the member's own.")
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = None
    working_dir: Path | None = None
    env_from: Annotated[tuple[EnvFrom, ...], listed(64)] = ()
    ports: Annotated[tuple[Port, ...], listed(64)] = ()
    resize_policy: Opaques = ()
    volume_devices: Opaques = ()
    liveness_probe: Opaque = Field({})
    readiness_probe: Opaque = Field({})
    startup_probe: Opaque = Field({})
    security_context: Opaque = Field({})
    termination_message_path: Path | None = None
    termination_message_policy: Literal["File", "FallbackToLogsOnError"] | None = None
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False


class MainContainer(_Container):
    """Fields that a template may add to the member's own container."""

    env: Annotated[tuple[MainEnvVar, ...], listed(512), unique("name")] = ()
    resources: MainResources = MainResources.model_construct()
    volume_mounts: Annotated[tuple[MainMount, ...], listed(64), unique("mount_path")] = ()
    lifecycle: MainLifecycle = MainLifecycle.model_construct()
    image: Annotated[Any, owned("the manifest states the image", "set spec.image")] = None
    command: Annotated[Any, owned("the manifest states the command", "set spec.command")] = None
    args: Annotated[Any, owned("the manifest states the command", "write the arguments into spec.command")] = None
    restart_policy: Annotated[Any, owned("Muster restarts the gang as a whole", "set spec.restartPolicy")] = None


class _Own(_Container):
    """A container with an image and a command of its own."""

    image: Image | None = Field(None, description="Its image.")
    command: Arguments = ()
    args: Arguments = ()
    env: Annotated[tuple[EnvVar, ...], listed(512), unique("name")] = ()
    resources: Opaque = Field({})
    volume_mounts: Annotated[tuple[VolumeMount, ...], listed(64), unique("mount_path")] = ()
    lifecycle: Opaque = Field({})


class ExtraContainer(_Own):
    """core/v1 Container that runs beside ``main``."""

    restart_policy: Annotated[
        Any,
        owned(
            "an extra container is not restarted", "for a sidecar, write an init container with restartPolicy: Always"
        ),
    ] = None


class InitContainer(_Own):
    """core/v1 Container that runs before ``main``; with restartPolicy Always a sidecar, which runs beside it."""

    restart_policy: Literal["Always", "Never", "OnFailure"] | None = None

    @field_validator("name", mode="after")
    @classmethod
    def _not_main(cls, name: str) -> str:
        if name == CONTAINER:
            raise Wrong(f"{CONTAINER} is the name of the member's own container", "choose another name")
        return name


def read_container(value: Any, handler: Callable[[Any], Any], info: ValidationInfo) -> Any:
    """Return the model of ``main`` for the container of that name, else that of an extra container."""
    if isinstance(value, dict) and value.get("name") == CONTAINER:
        return MainContainer.model_validate(value, by_alias=True, by_name=False, context=info.context)
    return handler(value)
