"""The effect of an edit of each field of a spec while the experiment runs.

A gang is one program on a fixed set of ranks: an edit of its pods is refused (ADR 16). An edit of the experiment's
policies is applied at once. The API server refuses by transition rules of the CRD, which are made from this table. The
kind of an older release may let an edit through: then only pods that are created from then on follow it, and the status
reports it (``state.policies.request``).
"""

import json
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from muster.api.manifest.experiment import ExperimentSpec


class Edit(StrEnum):
    """Effect of an edit."""

    APPLIED = "applied"
    NEXT_EPOCH = "next epoch"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Field:
    """One field of the spec, by its name on the wire."""

    edit: Edit
    about: str


def _refused(about: str) -> Field:
    return Field(Edit.REFUSED, about)


def _applied(about: str) -> Field:
    return Field(Edit.APPLIED, about)


EDITS: Final[dict[str, Field]] = {
    "operator": _refused("another framework is another experiment"),
    "image": _refused("another image is another experiment"),
    "command": _refused("another program is another experiment"),
    "types": _refused("the ranks of a gang are fixed; resources, templates and gates of a type are part of it"),
    "rayVersion": _refused("it belongs to the image"),
    "template": _refused("pods of one gang are alike"),
    "tensorboard": _refused("pods of one gang are alike"),
    "storage": _refused("volumes cannot be added to pods that run"),
    "debug": _refused("it replaces the command"),
    "securityContext": _refused("pods of one gang are alike"),
    "gracefulTermination": _refused("pods of one gang are alike"),
    "managedBy": _refused("two controllers would run it, or none"),
    "suspend": _applied("true deletes the gang's pods, false starts the next epoch"),
    "cancel": _applied("true ends the experiment for good"),
    "timeout": _applied("counts from the start: a time that is over ends the experiment at once"),
    "activeDeadlineSeconds": _applied("as timeout"),
    "clocks": _applied("counts from the times in the status: one that is over acts at once"),
    "restartPolicy": _applied("judges the next failure; a back-off that has begun keeps its end"),
    "failurePolicy": _applied("judges the next failure"),
    "successPolicy": _applied("what has succeeded by then counts"),
    "ttlAfterFinished": _applied("counts from the end, also of an experiment that has finished"),
    "startup": Field(Edit.NEXT_EPOCH, "members that have a pod are no longer held back"),
    "assist": Field(Edit.NEXT_EPOCH, "pods that are created from then on have it"),
    "progressEndpoint": Field(Edit.NEXT_EPOCH, "pods that are created from then on have it"),
    "engineName": _applied("it is ignored"),
}
"""Every field of the spec."""

FROZEN: Final = tuple(name for name, field in EDITS.items() if field.edit is Edit.REFUSED)


def shape_of(spec: "ExperimentSpec") -> str:
    """Return a digest of each field that cannot change, as ``image=1f3a,command=…``.

    Defaults are left out, so that a release with a new field gives the same digests of the same spec.
    """
    written = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return ",".join(f"{name}={digest(written.get(name))}" for name in FROZEN)


def changed(before: str, after: str) -> tuple[str, ...]:
    """Return the fields that two shapes differ in. A field that one lacks was unknown to its writer."""
    old = dict(part.split("=", 1) for part in before.split(",") if "=" in part)
    new = dict(part.split("=", 1) for part in after.split(",") if "=" in part)
    return tuple(name for name, digest in new.items() if name in old and old[name] != digest)


def digest(value: object) -> str:
    """Return a short digest of what may not be edited while an object runs."""
    return sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:4]
