"""Names of objects of every kind: ``train`` is an Experiment, ``jobset/train`` a JobSet, ``job/train`` a Job.

Experiments, JobSets and JAXJobs can be run by Muster. The other kinds are only observed: other controllers run them.
"""

from typing import Final

from muster.api.errors import MusterError
from muster.api.manifest.problems import quoted
from muster.client.errors import CannotCancel, OnlyObserved
from muster.kube.paths import custom
from muster.kube.unstructured import Json, text
from muster.state.foreign import kinds
from muster.state.foreign.subject import EXPERIMENT, JAXJOB, JOBSET, Subject
from muster.state.observed.kinds import OBSERVED

SUBJECTS: Final = (EXPERIMENT, JOBSET, JAXJOB)
OBSERVED_ONLY: Final = tuple(each.subject for each in OBSERVED.values() if each.subject not in SUBJECTS)
_NAMED: Final = (*SUBJECTS, *OBSERVED_ONLY)
_KNOWN: Final = {word: each for each in _NAMED for word in (each.kind.lower(), each.plural)} | {"": EXPERIMENT}


class UnknownKind(MusterError, ValueError):
    """The word names no kind that Muster runs or observes."""


def subject_of(word: str) -> Subject:
    """The kind of that name: ``jobset``, ``jobsets`` or ``JobSet``; empty for Experiment. Raises ``UnknownKind``."""
    found = _KNOWN.get(word.lower())
    if found is None:
        known = ", ".join(each.kind.lower() for each in _NAMED)
        raise UnknownKind(f"{quoted(word)} is not a kind that Muster runs or observes; the kinds are {known}")
    return found


def parse(name: str) -> tuple[Subject, str]:
    """The kind and the object's own name in ``jobset/train``. Raises ``UnknownKind``."""
    kind, _, own = name.rpartition("/")
    return subject_of(kind), own


def refuse_to_cancel(name: str) -> None:
    """Raise ``CannotCancel`` for an object of another kind: its API has no field for it."""
    if parse(name)[0] != EXPERIMENT:
        raise CannotCancel(f"{name} is not an Experiment and cannot be cancelled: suspend or delete it")


def refuse_observed(name: str, what: str) -> None:
    """Raise ``OnlyObserved`` for an object of a kind that Muster never runs; ``what`` is to be done instead."""
    if parse(name)[0] in OBSERVED_ONLY:
        raise OnlyObserved(f"{name.partition('/')[0]} objects are run by another controller: {what}")


def collection_path(namespace: str | None, subject: Subject = EXPERIMENT) -> str:
    """The objects of a kind in a namespace, or in all of them (None)."""
    return custom(subject.api_version, namespace, subject.plural)


def object_path(namespace: str, name: str) -> str:
    """The object of that name. Raises ``UnknownKind``."""
    subject, own = parse(name)
    return custom(subject.api_version, namespace, subject.plural, own)


def ours(obj: Json) -> bool:
    """Whether Muster is to run an object: every Experiment, and those of other kinds that no other manager has."""
    kind = kinds.SUBJECTS.get(text(obj, "kind"))
    return kind.ours(obj) if kind is not None else text(obj, "kind") in ("", EXPERIMENT.kind)
