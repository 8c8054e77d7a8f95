"""A pod template as a type of an Experiment: its image, its line, its resources, and the template of the rest."""

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any, Final

from muster.api.names import CONTAINER, SHM_PATH
from muster.api.values.quantities import QuantityError, parse_quantity
from muster.kinds.convert.command import line_of
from muster.kinds.convert.draft import Draft
from muster.kinds.convert.resources import MEMORY, resources_of
from muster.kinds.convert.source import Fields
from muster.kinds.declaration.watched_kind import part_of

_SERVER: Final = ("creationTimestamp", "name", "namespace", "generateName")
_STATED: Final = ("image", "command", "args", "resources", "restartPolicy")
"""Fields of the member's own container that an Experiment states elsewhere."""


@dataclass(frozen=True, slots=True)
class Pod:
    """Fields of a pod template. ``line`` is empty if the container states no command."""

    source: Fields
    container: Fields
    """The member's own."""
    image: str
    line: str
    resources: dict[str, Any]
    template: dict[str, Any]
    main: dict[str, Any]
    """The member's own container in ``template``."""
    restart_policy: str
    grace: int | None
    pre_stop: tuple[str, ...]

    def set_environment(self, variables: Mapping[str, str]) -> None:
        """Set these variables before the container's own, which may refer to them."""
        own = [each for each in self.main.get("env", []) if str(each.get("name")) not in variables]
        self.main["env"] = [*({"name": name, "value": value} for name, value in variables.items()), *own]

    def type_fields(self, draft: Draft) -> dict[str, Any]:
        """Return ``resources`` and ``template`` of a type, the template without empty parts."""
        spec = self.template["spec"]
        if spec.get("containers") == [{"name": CONTAINER}]:
            del spec["containers"]
        parts = {key: part for key, part in self.template.items() if part}
        if not parts:
            return {"resources": self.resources}
        return {"resources": self.resources, "template": draft.placed(parts, self.source.loc, carried=True)}


def pod_of(draft: Draft, template: Fields, *names: str, needs_command: bool = True, memory: float = MEMORY) -> Pod:
    """Return the pod of a template.

    The member's own container is ``main``, else the first of ``names`` that exists, else the first of all. ``memory``
    is written, in GB, where it asks for none.
    """
    spec = template.fields("spec")
    containers = list(spec.items("containers"))
    if not containers:
        raise draft.report.refuse(spec.at("containers"), "a pod needs a container", "write containers with one")
    found = [each for name in (CONTAINER, *names) for each in containers if each.text("name") == name]
    own = (found or containers)[0]
    _check_shape(template, spec, own)
    place = containers.index(own)
    carried: dict[str, Any] = draft.carry(template.node, template.loc)
    pod: dict[str, Any] = carried["spec"]
    main: dict[str, Any] = pod["containers"][place]
    resources, others = resources_of(own, memory=memory)
    line = _line(own, needs_command=needs_command)
    image = own.text("image")
    if not image:
        raise draft.report.refuse(own.loc, "the container has no image", "write image")
    for key in _STATED:
        main.pop(key, None)
    main["name"] = CONTAINER
    if others:
        main["resources"] = draft.placed(others, own.at("resources"), carried=True)
    if size := _shared_memory(own, main, pod):
        resources["shmSizeGB"] = size
    for key in ("restartPolicy", "terminationGracePeriodSeconds"):
        pod.pop(key, None)
    for key in _SERVER:
        carried.get("metadata", {}).pop(key, None)
    pod["containers"] = [main, *(each for each in pod["containers"] if each is not main)]
    if (
        "serviceAccountName" in pod
    ):  # Kubernetes mounts its token unless the pod forbids it, Muster only if the pod asks for it
        pod.setdefault("automountServiceAccountToken", True)
    return Pod(
        template,
        own,
        image,
        line,
        resources,
        carried,
        main,
        spec.text("restartPolicy"),
        spec.value("terminationGracePeriodSeconds", int),
        _pre_stop(main),
    )


def _check_shape(template: Fields, spec: Fields, own: Fields) -> None:
    """Refuse lists and mappings that are none, so that what is carried has the shape of a pod."""
    metadata = template.fields("metadata")
    for key in ("labels", "annotations"):
        metadata.fields(key)
    for each in spec.items("volumes"):
        each.fields("emptyDir")
    own.fields("lifecycle")
    for key in ("env", "volumeMounts"):
        list(own.items(key))


def _line(own: Fields, *, needs_command: bool) -> str:
    command, args = own.words("command"), own.words("args")
    if not command and needs_command:
        what = "args without a command" if args else "no command"
        hint = "write command: what the image's ENTRYPOINT starts, which only the image knows"
        raise own.report.refuse(own.loc, f"the container has {what}; an Experiment needs the whole line", hint)
    return line_of([*command, *args]) if command else ""


def _shared_memory(own: Fields, main: dict[str, Any], pod: dict[str, Any]) -> int:
    """Return a memory volume at /dev/shm, which an Experiment states as a size in GB."""
    mounts = main.get("volumeMounts") or []
    mount = next((each for each in mounts if str(each.get("mountPath", "")).rstrip("/") == SHM_PATH), None)
    volumes = pod.get("volumes") or []
    volume = next((each for each in volumes if mount and each.get("name") == mount.get("name")), None)
    memory = (volume or {}).get("emptyDir")
    if mount is None or not isinstance(memory, dict) or memory.get("medium") != "Memory":
        return 0
    mounts.remove(mount)
    volumes.remove(volume)
    for holder, key in ((main, "volumeMounts"), (pod, "volumes")):
        if not holder[key]:
            del holder[key]
    try:
        size = parse_quantity(str(memory.get("sizeLimit", "")))
    except QuantityError:
        own.note(f"{SHM_PATH} has no size limit; shmSizeGB: 1 is written", "state its size", "volumeMounts")
        return 1
    return int((size / Decimal(10**9)).to_integral_value(ROUND_CEILING))


def _pre_stop(main: dict[str, Any]) -> tuple[str, ...]:
    """Return the command of a preStop hook, taken out of the container."""
    command = part_of(main, "lifecycle", "preStop", "exec").get("command")
    if not isinstance(command, list) or not all(isinstance(each, str) for each in command):
        return ()
    del main["lifecycle"]["preStop"]
    if not main["lifecycle"]:
        del main["lifecycle"]
    return tuple(command)
