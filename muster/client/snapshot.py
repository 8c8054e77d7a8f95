"""An experiment as it was when it was last read, and its Events as people read them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from msgspec import structs

from muster.api.conditions import Condition
from muster.api.errors import Forbidden, NotFound
from muster.api.gang import MAX_MEMBERS
from muster.api.names import ANNOTATION_ABOUT, KIND, MANAGED_BY
from muster.api.status import ExperimentStatus
from muster.api.wire.kinds import WireError
from muster.client.errors import NoSuchExperiment, NotInstalled
from muster.client.subjects import parse
from muster.kube.listwatch.informer import Kind
from muster.kube.resources import ResourceClient, core
from muster.kube.unstructured import Json, mapping, moment, text, whole
from muster.state.vocabulary.subject import EXPERIMENT, PODS, Subject, title

if TYPE_CHECKING:
    from muster.client.member import Member
    from muster.kinds.planning.parts import Part
    from muster.state.view.view import View
    from muster.state.vocabulary.plan import Plan
    from muster.state.vocabulary.record import Record


Outcome = Literal["Succeeded", "Failed", "Deadline"]

DEADLINE = "DeadlineExceeded"
"""The end of every reason of a deadline (``muster.state.policies.deadline``)."""
DELETING = "Deleting"
"""Reason that replaces the one of the status, which is of the time before the deletion."""


@dataclass(frozen=True, slots=True)
class WatchedSnapshot:
    """A watched run. Without ``plan`` its object is not understood; ``members`` are those of the latest epoch."""

    plan: Plan | None
    record: Record | None
    view: View
    members: tuple[Member, ...] = ()
    all_members: tuple[Member, ...] = ()
    """Members of every epoch."""
    pods: tuple[Json, ...] = ()
    unreadable: tuple[str, ...] = ()
    roll: bool = False
    """musterd asks a coordinator who has arrived."""
    wanted: bool = True
    """musterd would watch over it, where its kind is one of ``--watch-kinds``."""
    absent: tuple[Part, ...] = ()
    """Objects whose Events may have the reason why its controller has not made all pods, while it waits for them."""
    news_at: float = 0.0
    """The last change in its pods, in wall seconds, as far as pods show it."""

    def with_pods(self) -> WatchedSnapshot:
        """Return it. Raises ``Forbidden`` where its pods may not be read: it seems to have none then."""
        if self.unreadable:
            raise Forbidden("; ".join(self.unreadable), status=403, reason="Forbidden")
        return self


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One experiment at one moment. The ``name`` of an object of another kind begins with it: ``jobset/train``.

    The object itself is in ``raw``, its status as ``muster.api.status`` reads it in ``status``. A status that cannot be
    read counts as empty; its object can still be shown, listed and cancelled.
    """

    namespace: str
    name: str
    uid: str
    version: str
    operator: str
    created: float | None
    """Wall seconds since 1970."""
    status: ExperimentStatus
    raw: Json
    watched: WatchedSnapshot | None = None
    """State of an object that another controller runs, by its pods. Then ``status`` was computed from object and pods,
    without the coordinator's roll, which only musterd calls."""

    context: str = ""
    """The context of the kubeconfig that it was read through, where the reader has asked several clusters."""

    @property
    def subject(self) -> Subject:
        """Return the kind of the object."""
        return parse(self.name)[0]

    @property
    def own_name(self) -> str:
        """Return its name among the objects of its kind."""
        return parse(self.name)[1]

    @property
    def who(self) -> str:
        """Return ``experiment team/train`` or ``Job team/train``, for a sentence."""
        return f"{'experiment' if self.subject == EXPERIMENT else self.subject.word} {self.namespace}/{self.own_name}"

    @property
    def phase(self) -> str:
        """Return a one-word summary; empty before the daemon has processed the experiment for the first time."""
        return self.status.phase

    @property
    def reason(self) -> str:
        """Return why it is in this phase, in one word."""
        return DELETING if self.deleting and not self.finished else self.status.reason

    @property
    def message(self) -> str:
        """Return what it waits for, or how it ended."""
        if not self.deleting or self.watched is not None:
            return self.status.message
        finalizers = mapping(self.raw.get("metadata")).get("finalizers")
        held = ", ".join(map(str, finalizers)) if isinstance(finalizers, list) else ""
        why = f"being deleted; held by the finalizer {held}" if held else "being deleted"
        return f"{why}; {self.status.message}" if self.finished and self.status.message else why

    @property
    def deleting(self) -> bool:
        """Return True if deletion was asked for, and finalizers hold it: its pods end and its status stays."""
        return "deletionTimestamp" in mapping(self.raw.get("metadata"))

    @property
    def managed_by(self) -> str:
        """Return the other manager that runs an Experiment, and writes its status; empty where Muster does."""
        named = mapping(self.raw.get("spec")).get("managedBy") if self.subject.kind == KIND else None
        return "" if named in (None, "", MANAGED_BY) else str(named)

    @property
    def deadline(self) -> float | None:
        """Return the end of the total clock, in wall seconds; None without a deadline."""
        return self.status.deadline

    def condition(self, kind: str) -> Condition | None:
        """Return the condition of that type, whatever the case of its letters."""
        return next((c for c in self.status.conditions if c.type.lower() == kind.lower()), None)

    @property
    def stuck(self) -> Condition | None:
        """Return the condition Stuck; None unless it is true."""
        return self.condition("Stuck") if self.holds("Stuck") else None

    def holds(self, kind: str) -> bool:
        """Return True if the condition of that type is true."""
        found = self.condition(kind)
        return found is not None and found.status is True

    @property
    def finished(self) -> bool:
        """Return True if it has succeeded or failed."""
        return self.outcome is not None

    @property
    def outcome(self) -> Outcome | None:
        """Return the outcome; None before the end. ``Deadline`` is a failure whose reason is a clock that ran out."""
        if self.phase == "Succeeded":
            return "Succeeded"
        if self.phase != "Failed":
            return None
        return "Deadline" if self.status.reason.endswith(DEADLINE) else "Failed"


@dataclass(frozen=True, slots=True)
class ExperimentChange:
    """A step of a watched collection: ADDED (or existing from the start), MODIFIED, DELETED."""

    kind: Kind
    experiment: Snapshot


def snapshot_of(obj: Json) -> Snapshot:
    """Return the snapshot of an Experiment, or of an object of another kind that Muster runs."""
    meta, kind = mapping(obj.get("metadata")), text(obj, "kind") or KIND
    other = kind != KIND
    status = ExperimentStatus.from_object(None)
    raw = mapping(obj.get("status"))
    if other:
        status = _status_of_object(raw) or status
    else:
        with suppress(WireError):
            status = ExperimentStatus.from_object(raw)
    if status.size > MAX_MEMBERS:  # musterd writes no such size, and readers make lists of all ranks
        status = structs.replace(status, size=MAX_MEMBERS)
    return Snapshot(
        namespace=text(meta, "namespace"),
        name=title(kind, text(meta, "name")),
        uid=text(meta, "uid"),
        version=text(meta, "resourceVersion"),
        operator=kind if other else text(mapping(obj.get("spec")), "operator"),
        created=moment(meta.get("creationTimestamp")),
        status=status,
        raw=obj,
    )


def _status_of_object(raw: Json) -> ExperimentStatus | None:
    """Return the status of the record in an object of another kind; None without one, or where it cannot be read."""
    from muster.kinds.planning.run_object import from_object
    from muster.state.vocabulary.record import StatusError

    with suppress(WireError, StatusError):
        return from_object(raw)
    return None


@contextmanager
def known_kind(name: str = "", space: str = "") -> Iterator[None]:
    """Distinguish the two meanings of 404: the server does not know the kind, or has no such object."""
    try:
        yield
    except NotFound as error:
        subject, own = parse(name)
        what, listed = (
            ("experiment", "") if subject == EXPERIMENT else (subject.word, f" --kind {subject.word.lower()}")
        )
        if own and own in error.message:
            raise NoSuchExperiment(
                f"{what} {space}/{own} does not exist; `muster list -A{listed}` lists those that do"
            ) from error
        if "could not find the requested resource" in error.message or "page not found" in error.message:
            if subject != EXPERIMENT:
                raise NotInstalled(f"this cluster does not know {what} objects: its CRD is not installed") from error
            raise NotInstalled(
                "this cluster does not know experiments: install Muster first (kubectl apply -f deploy/crds/), "
                "or choose another cluster with --context"
            ) from error
        raise


@dataclass(frozen=True, slots=True)
class EventSummary:
    """A Kubernetes Event about the experiment. ``at`` is the last time it occurred, in wall seconds."""

    at: float | None
    type: str
    reason: str
    message: str
    count: int
    source: str = ""
    """The component that recorded it: ``muster``."""
    about: str = ""
    """Subject, for programs; only in Events of Muster."""


def event_summary(event: Json) -> EventSummary:
    """Return the summary of an Event object (core/v1)."""
    series = mapping(event.get("series"))
    times = (series.get("lastObservedTime"), *map(event.get, ("lastTimestamp", "eventTime", "firstTimestamp")))
    return EventSummary(
        at=next((at for value in times if (at := moment(value)) is not None), None),
        type=text(event, "type"),
        reason=text(event, "reason"),
        message=text(event, "message"),
        count=whole(series, "count") or whole(event, "count", 1),
        source=text(mapping(event.get("source")), "component") or text(event, "reportingComponent"),
        about=text(mapping(mapping(event.get("metadata")).get("annotations")), ANNOTATION_ABOUT),
    )


def uids_of(seen: Snapshot) -> set[str]:
    """Return the uids of the objects that its Events are about: of labelled pods those of its pods."""
    if seen.subject != PODS:
        return {seen.uid}
    return {member.uid for member in seen.watched.all_members} if seen.watched is not None else set()


async def events_of(resources: ResourceClient, seen: Snapshot) -> Sequence[EventSummary]:
    """Return the Events about an object, oldest first; those without a time come first.

    Those of labelled pods are on the pods.
    """
    pods = seen.subject == PODS
    chosen = "kind=Pod" if pods else f"kind={seen.subject.kind},involvedObject.uid={seen.uid}"
    found = await resources.list(core(seen.namespace, "events"), {"fieldSelector": f"involvedObject.{chosen}"})
    if pods:
        members = uids_of(seen)
        found = [each for each in found if text(mapping(each.get("involvedObject")), "uid") in members]
    return sorted(map(event_summary, found), key=lambda event: event.at or 0.0)
