"""Parts of a manifest that every kind has, as an Experiment states them: pod templates, metadata, deadlines.

A pod template becomes a type of the Experiment: its image, its line, its resources, and the template of the rest.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from typing import Any, Final

from muster.api.manifest.load import SERVER_FIELDS
from muster.api.manifest.naming import slug
from muster.api.manifest.problems import quoted
from muster.api.names import CONTAINER, SHM_PATH
from muster.api.values.quantities import QuantityError, parse_quantity
from muster.kinds.convert.draft import Draft, Fields
from muster.kinds.declaration import part_of

_SHELLS: Final = ("sh", "/bin/sh")
_REFERENCE: Final = re.compile(r"\$\([-._a-zA-Z][-._a-zA-Z0-9]*\)")
"""A variable. Kubernetes leaves any other name between ``$(`` and ``)`` as it is."""
_PARTS: Final = re.compile(r"\$\$|\$\([^)]*\)")


def line_of(words: Sequence[str]) -> str:
    """Return the line that starts a program with exactly these words.

    Kubernetes starts ``command`` and ``args`` as they are, after replacing ``$(NAME)`` by a variable of the container
    and ``$$`` by ``$``. An Experiment has one line for the shell, in which Muster keeps ``$(NAME)`` for Kubernetes and
    every other ``$`` for the shell. A word is quoted so that both get what they got before.
    """
    if len(words) == 3 and words[0] in _SHELLS and words[1] == "-c":
        return _script(words[2])
    return " ".join(map(_word, words))


def by_case(variable: str, lines: dict[str, str]) -> str:
    """Return one line for members with different lines: each runs its own by ``variable``; ``*`` is any other."""
    cases = "\n".join(f"{value if value == '*' else _word(value)})\n{line}\n;;" for value, line in lines.items())
    return f'case "${variable}" in\n{cases}\nesac'


def _script(text: str) -> str:
    """Return the text as the program gets it: Kubernetes makes one ``$`` of two."""
    return _PARTS.sub(lambda found: "$" if found[0] == "$$" else found[0], text)


def _word(word: str) -> str:
    """Return a word for the shell: references stay for Kubernetes, everything else reaches the program as it is."""
    quoted, at = "", 0
    for found in _PARTS.finditer(word):
        if _REFERENCE.fullmatch(found[0]):
            quoted += f"{_literal(word[at : found.start()])}'{found[0]}'"
            at = found.end()
    return f"{quoted}{_literal(word[at:])}" or "''"


def _literal(text: str) -> str:
    """Return quoted text without a reference of Kubernetes: the shell joins ``$`` and ``''(`` again."""
    if not text:
        return ""
    return shlex.quote(_script(text)).replace("$(", "$''(")


GPU: Final = "nvidia.com/gpu"
MEMORY: Final = 1.0
"""GB, where the manifest states none."""
_GB: Final = Decimal(10**9)


def resources_of(
    container: Fields, key: str = "resources", *, memory: float = MEMORY
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the resources of a type, and what its template must ask for beside them; ``key`` has them in a container.

    An Experiment states CPUs, memory (request and limit are the same) and GPUs of a member itself; whatever else a
    container asks for goes into the pod template. ``memory`` is written, in GB, where the container states none.
    """
    given = container.fields(key)
    asked = {kind: _quantities(given, kind) for kind in ("requests", "limits")}
    given.lose("claims", "not carried over: the claim of a device belongs into the pod template", "write it there")
    given.rest()
    requests, limits = asked["requests"], asked["limits"]
    found = _cpu(given, requests.pop("cpu", None), limits.pop("cpu", None))
    found["memory"] = _memory(given, requests.pop("memory", None), limits.pop("memory", None), memory)
    gpus = [each.pop(GPU, None) for each in (limits, requests)]
    if count := next((each for each in gpus if each), None):
        found["accelerators"] = {"gpu": {"count": int(count)}}
    return found, {kind: {name: _plain(value) for name, value in each.items()} for kind, each in asked.items() if each}


def _quantities(given: Fields, kind: str) -> dict[str, Decimal]:
    amounts = given.fields(kind)
    found = {}
    for name in amounts.node.entries:
        written = amounts.value(name, (str, int, float))
        try:
            found[name] = parse_quantity(str(written))
        except QuantityError as error:
            raise given.report.refuse(amounts.at(name), str(error), f"{quoted(written)} must be one") from None
    return found


def _cpu(given: Fields, request: Decimal | None, limit: Decimal | None) -> dict[str, Any]:
    if request is None and limit is None:
        given.note("no CPU is asked for; cpus: 1 is written", "state what a member needs")
        return {"cpus": 1}
    cpus = request if request else limit
    if not cpus:
        given.note("0 CPUs are asked for; cpus: 0.001 is written, the least that there is")
        cpus = Decimal("0.001")
    if limit is None:
        given.note("no CPU limit is stated; an Experiment's is cpus x cpuLimitRatio, 2 if absent", "set cpuLimitRatio")
        return {"cpus": _number(cpus)}
    ratio = max(limit / cpus, Decimal(1))
    return {"cpus": _number(cpus), "cpuLimitRatio": _number(round(ratio, 6))}


def _memory(given: Fields, request: Decimal | None, limit: Decimal | None, default: float) -> Any:
    amount = limit or request
    if not amount:
        given.note(f"no memory is asked for; memory: {default:g} (GB) is written", "state what a member needs")
        return default
    if request and limit and request != limit:
        loc = given.at("requests", "memory")
        message = "not carried over: an Experiment requests the memory that is its limit"
        given.report.losses.append(given.report.problem(loc, message))
    return _number(amount / _GB)


def _number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def _plain(value: Decimal) -> int | str:
    return int(value) if value == value.to_integral_value() else str(value)


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
    if "serviceAccountName" in pod:
        # Kubernetes mounts its token unless the pod forbids it, Muster only if the pod asks for it.
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


def spec_of(draft: Draft, source: Fields) -> Fields:
    """Carry the metadata over, and return the spec."""
    source.ignore("apiVersion", "kind", "status")
    metadata = source.fields("metadata")
    metadata.ignore(*SERVER_FIELDS)
    name, prefix = metadata.text("name"), metadata.text("generateName")
    if not name and prefix:
        name = slug(prefix)
        metadata.note(f"generateName is not carried over; the name is {quoted(name)}", "choose one", "generateName")
    if not name:
        raise draft.report.refuse(metadata.at("name"), "a required field is missing", "write metadata.name")
    draft.metadata["name"] = name
    if namespace := metadata.text("namespace"):
        draft.metadata["namespace"] = namespace
    for key in ("labels", "annotations"):
        found = metadata.value(key, dict, {})
        found.pop("kubectl.kubernetes.io/last-applied-configuration", None)
        if found:
            draft.metadata[key] = found
    metadata.rest("not carried over: an Experiment has no such metadata")
    spec = source.fields("spec")
    source.rest()
    return spec


def suspend_of(draft: Draft, holder: Fields) -> None:
    """Carry ``suspend`` over; who manages the object is no field of an Experiment."""
    holder.ignore("managedBy")
    if holder.value("suspend", bool):
        draft.spec["suspend"] = True


def end_of(draft: Draft, holder: Fields) -> None:
    """Carry ``ttlSecondsAfterFinished`` over."""
    if "ttlSecondsAfterFinished" in holder:
        draft.spec["ttlAfterFinished"] = f"{holder.number('ttlSecondsAfterFinished', 0)}s"


def deadline_of(draft: Draft, holder: Fields, part: str = "") -> None:
    """Carry ``activeDeadlineSeconds`` over; of several the shortest holds. ``part`` is what it limits there."""
    key = "activeDeadlineSeconds"
    if (seconds := holder.value(key, int)) is None:
        return
    if seconds < 1:
        raise draft.report.refuse(holder.at(key), f"{seconds} is no deadline", "write at least 1, or leave it out")
    draft.spec[key] = min(seconds, draft.spec.get(key, seconds))
    if part:
        holder.note(f"the deadline is of the whole experiment; here it is of each {part}", "", key)


def members_of(draft: Draft, pods: Mapping[str, Pod], variable: str) -> None:
    """Write the image, the line and the grace period of all members; lines may differ by that variable's value."""
    first = next(iter(pods.values()))
    for pod in pods.values():
        if pod.image != first.image:
            message = f"the image {quoted(pod.image)} is not that of the first group, {quoted(first.image)}"
            hint = "an Experiment has one image: build one that holds both programs, or run the manifest as it is"
            raise draft.report.refuse(pod.source.loc, message, hint)
    draft.spec["image"] = first.image
    lines = {name: pod.line for name, pod in pods.items()}
    draft.spec["command"] = first.line if len(set(lines.values())) == 1 else by_case(variable, lines)
    hooks = {pod.pre_stop for pod in pods.values()}
    if len(hooks) > 1:
        message = "preStop is not carried over: an Experiment has one shutdownCommand for all members"
        draft.report.losses.append(draft.report.problem(first.source.loc, message))
    stopping_of(draft, [*pods.values()], first.pre_stop if len(hooks) == 1 else ())


def stopping_of(draft: Draft, pods: Sequence[Pod], command: Sequence[str]) -> None:
    """Write the grace period, the longest that a pod states, and what runs before the request to stop."""
    graceful: dict[str, object] = {}
    if stated := [pod.grace for pod in pods if pod.grace is not None]:
        graceful["terminationGracePeriodSeconds"] = max(stated)
        for pod in pods:
            if pod.grace not in (None, max(stated)):
                message = f"not carried over for each group: the grace period of all members is {max(stated)} s"
                pod.source.lost(message, "", "spec", "terminationGracePeriodSeconds")
    if command:
        graceful["shutdownCommand"] = [*command]
    if graceful:
        draft.spec["gracefulTermination"] = graceful
