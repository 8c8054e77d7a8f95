"""Fields of the pod templates of a JobSet or JAXJob file that no pod has, and values of another shape than a pod's.

Such an object is created as it is written, and its API server drops a field that it does not know. So a misspelt field
is a warning, with the nearest name. The levels that are looked at are the pod, its containers and their variables.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pydantic import BaseModel

from muster.api.manifest.error_text import Loc, position
from muster.api.manifest.problems import Problem, nearest, path
from muster.api.manifest.template.container import EnvVar, ExtraContainer, InitContainer
from muster.api.manifest.template.pod import PodSpec
from muster.api.manifest.yaml.reader import Node, plain
from muster.kinds.declaration import list_of, part_of


def _names(*models: type[BaseModel]) -> frozenset[str]:
    return frozenset(field.alias or name for model in models for name, field in model.model_fields.items())


_POD: Final = _names(PodSpec)
_CONTAINER: Final = _names(ExtraContainer, InitContainer) | {"restartPolicyRules"}
_VARIABLE: Final = _names(EnvVar)
_EXPECTED: Final = {
    **dict.fromkeys(("image", "imagePullPolicy", "workingDir", "name"), (str, "text")),
    **dict.fromkeys(("command", "args", "env"), (list, "a list")),
    "terminationGracePeriodSeconds": (int, "a number of seconds"),
}


def pod_fields(node: Node, *, file: str) -> tuple[Problem, ...]:
    """Return the problems of the pod templates of the object in that tree, each with its place."""
    spec = part_of(plain(node), "spec")
    return tuple(Problem(file, *position(node, loc, key=True), path(loc), *problem) for loc, *problem in _found(spec))


def _found(spec: Mapping[str, Any]) -> Iterator[tuple[Loc, str, str]]:
    pod = ("template", "spec")
    for number, job in enumerate(list_of(spec, "replicatedJobs")):
        yield from _of_pod(("spec", "replicatedJobs", number, *pod, *pod), part_of(job, *pod, *pod))
    for name, replica in part_of(spec, "jaxReplicaSpecs").items():
        yield from _of_pod(("spec", "jaxReplicaSpecs", str(name), *pod), part_of(replica, *pod))


def _of_pod(where: Loc, pod: Mapping[str, Any]) -> Iterator[tuple[Loc, str, str]]:
    yield from _of(where, pod, _POD, "a pod")
    for kind in ("initContainers", "containers"):
        for number, container in enumerate(map(part_of, list_of(pod, kind))):
            place = (*where, kind, number)
            yield from _of(place, container, _CONTAINER, "a container")
            if container and not container.get("image"):
                yield place, "the container has no image", "write image"
            for index, variable in enumerate(map(part_of, list_of(container, "env"))):
                yield from _of((*place, "env", index), variable, _VARIABLE, "a variable")


def _of(where: Loc, found: Mapping[str, Any], known: frozenset[str], what: str) -> Iterator[tuple[Loc, str, str]]:
    for name, value in found.items():
        if name not in known:
            close = nearest(str(name), known)
            hint = f"did you mean {close}?" if close else "remove it"
            yield (*where, str(name)), f"{what} has no such field, and it is dropped", hint
        kind, words = _EXPECTED.get(name, (object, ""))
        if value is not None and not isinstance(value, kind):
            yield (*where, name), f"{words} is expected", "correct it: the pod would be refused"
