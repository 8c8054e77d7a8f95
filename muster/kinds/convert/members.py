"""Parts that every kind has: metadata, and the one image, line and grace period of an Experiment."""

from collections.abc import Mapping, Sequence
from typing import Final

from muster.api.manifest.load import SERVER_FIELDS
from muster.api.manifest.naming import slug
from muster.api.manifest.problems import quoted
from muster.kinds.convert.command import by_case
from muster.kinds.convert.draft import Draft
from muster.kinds.convert.pod import Pod
from muster.kinds.convert.source import Fields

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"


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
        found.pop(_LAST_APPLIED, None)
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
    """Carry ``activeDeadlineSeconds`` over; of several the shortest holds. ``part``: what of the run it is of there."""
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
