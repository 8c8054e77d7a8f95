"""Names of objects of every kind: ``train`` is an Experiment, ``jobset/train`` a JobSet, ``job/train`` a Job.

Experiments, and the kinds that declare it, can be run by Muster. The others are only watched: other controllers run
them. The declarations take 0.3 s to import, so an Experiment is named without them.
"""

from collections.abc import Mapping
from typing import Any

from muster.api.errors import MusterError
from muster.api.manifest.problems import quoted
from muster.client.errors import CannotCancel, OnlyWatched
from muster.kube.resources import custom
from muster.kube.unstructured import Json, text
from muster.state.vocabulary.subject import EXPERIMENT, PODS, Subject


class UnknownKind(MusterError, ValueError):
    """The word names no kind that Muster runs or watches over."""


def subject_of(word: str) -> Subject:
    """Return the kind named ``jobset``, ``jobsets`` or ``JobSet``; empty for Experiment. Raises ``UnknownKind``."""
    if not word:
        return EXPERIMENT
    from muster.kinds.registry import RUN_KINDS, WATCHED_KINDS

    run, watched = RUN_KINDS.values(), WATCHED_KINDS.values()
    named = dict.fromkeys((EXPERIMENT, *(each.subject for each in run), *(each.subject for each in watched)))
    found = next((each for each in named if word.lower() in (each.word.lower(), each.words)), None)
    if found is None:
        known = ", ".join(each.word.lower() for each in named)
        raise UnknownKind(f"{quoted(word)} is not a kind that Muster runs or watches over; the kinds are {known}")
    return found


def parse(name: str) -> tuple[Subject, str]:
    """Return the kind and the object's own name in ``jobset/train``. Raises ``UnknownKind``."""
    kind, _, own = name.rpartition("/")
    return subject_of(kind), own


def refuse_to_ask(name: str, verb: str) -> None:
    """Raise ``CannotCancel`` for an object of another kind: its API has no such request. It has the next step."""
    subject, _ = parse(name)
    if subject != EXPERIMENT:
        raise CannotCancel(f"{name} is not an Experiment, and only those can be {verb}: {_instead(subject, verb)}")


def _instead(subject: Subject, verb: str) -> str:
    if subject == PODS:
        return "its pods are made by another program, which has to do it"
    field = _field_that_suspends(subject)
    if not field:
        return "it has no field that suspends it; delete it with kubectl, and create it again where it is to run"
    if verb == "restarted":
        return f"set {field} to true with kubectl, and to false when its pods have ended"
    if verb == "submitted again":
        return "create it with kubectl under another name"
    return f"set {field} to true with kubectl, or delete it"


def refuse_watched(name: str, what: str) -> None:
    """Raise ``OnlyWatched`` for an object of a kind that Muster never runs; ``what`` is to be done instead."""
    subject, _ = parse(name)
    if subject == EXPERIMENT:
        return
    from muster.kinds.registry import RUN_KINDS

    if subject.kind not in RUN_KINDS:
        raise OnlyWatched(f"{name.partition('/')[0]} objects are run by another controller: {what}")


def collection_path(namespace: str | None, subject: Subject = EXPERIMENT) -> str:
    """Return the objects of a kind in a namespace, or in all of them (None)."""
    return custom(subject.api_version, namespace, subject.plural)


def object_path(namespace: str, name: str) -> str:
    """Return the object of that name. Raises ``UnknownKind``."""
    subject, own = parse(name)
    return custom(subject.api_version, namespace, subject.plural, own)


def ours(obj: Json) -> bool:
    """Return True if Muster is to run an object: every Experiment, and others that no other manager has."""
    name = text(obj, "kind")
    if name in ("", EXPERIMENT.kind):
        return True
    from muster.kinds.registry import RUN_KINDS

    kind = RUN_KINDS.get(name)
    return kind is not None and kind.ours(obj)


def _field_that_suspends(subject: Subject) -> str:
    """Return the path of the field that the declaration of the kind sets."""
    from muster.kinds.registry import WATCHED_KINDS

    patch: Any = WATCHED_KINDS[subject.words].suspend
    path = []
    while isinstance(patch, Mapping):
        ((name, patch),) = patch.items()
        path.append(str(name))
    return ".".join(path)
