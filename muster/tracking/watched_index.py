"""The watched objects of the index: which objects and sets of pods are subjects, and whose each pod is.

An object whose controller is itself watched is a part of it and no subject: the Job of a JobSet. Pods are kept by owner
key, with or without an object that claims them, as the watches are independent.

The content of one object or pod never disturbs another: an exception is logged and counted, and the object is read
again from all of its pods, or left out until its next change.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import takewhile
from typing import Any

from muster.api.errors import MusterError
from muster.api.manifest.yaml.reader import MAX_BYTES
from muster.api.values.secrets import NO_SECRETS, secrets_within
from muster.api.values.timestamps import seconds_of
from muster.kinds.declaration import Made, Object, WatchedKind, every, list_of, part_of, texts_of
from muster.kinds.planning.watched_plan import ON_DEADLINE, state_of
from muster.state.view.membership import Membership
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Pod
from muster.tracking.entry import Entries, Entry, WatchedRun
from muster.tracking.labelled import Key, LabelledSets
from muster.watchers.experiments import ExperimentRecord, stripped
from muster.watchers.watched import object_decoder_of, watched_object


class MadeObjects:
    """The objects that controllers make for objects of ``kinds``, as the plans of their pods: the JobSet of a TrainJob.

    The two are watched apart, so either may be seen first. What was made may go before the object it was made for: a
    TrainJob whose deadline has passed has no JobSet left. Its plan is kept, by the uid of the latter, as long as one of
    the two is known.
    """

    def __init__(self, kinds: Mapping[str, WatchedKind], report: Callable[..., object]) -> None:
        self._report = report
        self._outer = {each.made.subject.words: each for each in kinds.values() if each.made is not None}
        self._plans: dict[str, tuple[str, Plan]] = {}
        """The uid and the plan of the object that was made last, by the uid of the outer object."""
        self._here: dict[str, str] = {}
        """The uid of the outer object, by the uid of each made object that still exists."""

    def change(self, name: str, obj: Object, *, too_large: bool = False) -> str:
        """Take in an object of that kind. Return the uid of the object that it was made for; empty without one."""
        kind = self._outer.get(name)
        uid, outer = str(part_of(obj, "metadata").get("uid") or ""), _controller(obj, kind) if kind is not None else ""
        if kind is None or kind.made is None or not outer or too_large:
            return ""
        try:
            plan = kind.made.plan_of(obj)
        except MusterError as error:
            self._report(
                "object that was made for another one cannot be read", object=name, uid=uid, problem=str(error)
            )
            return ""
        self._plans[outer], self._here[uid] = (uid, plan), outer
        return outer

    def gone(self, uid: str) -> str:
        """Forget an object that is gone. Return the uid of the object that it was made for; empty without one."""
        return self._here.pop(uid, "")

    def forget(self, outer: str) -> None:
        """Forget the plan for an outer object that is no longer known."""
        found = self._plans.get(outer)
        if found is not None and found[0] not in self._here:
            del self._plans[outer]

    def joined(self, kind: WatchedKind, outer: str, alone: Plan) -> Plan:
        """Return the plan of the object of that kind and uid, with that of the object made for it."""
        found = self._plans.get(outer)
        return alone if found is None or kind.made is None else kind.made.joined(alone, found[1])


def _controller(obj: Object, kind: WatchedKind) -> str:
    """Return the uid of the controller, if it is of that kind."""
    return next((str(each.get("uid") or "") for each in _controllers(obj) if _is_of(each, kind)), "")


def _controllers(obj: Object) -> Iterator[Mapping[str, Any]]:
    """Yield the references to its controller: Kubernetes lets an object have one."""
    for each in list_of(obj, "metadata", "ownerReferences"):
        if isinstance(each, Mapping) and each.get("controller") is True:
            yield each


def _is_of(reference: Mapping[str, Any], kind: WatchedKind) -> bool:
    group = str(reference.get("apiVersion")).partition("/")[0]
    return (reference.get("kind"), group) == (kind.subject.kind, kind.subject.group)


PODS = "pods"


Report = Callable[..., object]
"""A function that logs a message with named fields; ``exc_info`` is the exception behind it."""


def unreported(message: str, **_fields: Any) -> None:
    """Report nothing."""


class WatchedIndex:
    """The index of watched objects, which keeps their entries in ``entries``, where those of other runs may be, too.

    ``kinds`` are those that are watched, by name, outermost first. ``wanted`` is called with the uid of each run whose
    tracked facts changed, and ``gone`` with that of a run that is about to leave. ``ours`` returns True for an object
    that Muster runs. ``count`` counts an exception by place, and ``report`` logs it. ``alone``: no controller but
    Muster runs objects of these kinds.
    """

    def __init__(
        self,
        entries: Entries,
        kinds: Mapping[str, WatchedKind],
        *,
        wanted: Callable[[str], None] = lambda _uid: None,
        gone: Callable[[str], None] = lambda _uid: None,
        ours: Callable[[str, Object], bool] = lambda _kind, _obj: False,
        count: Callable[[str], None] = lambda _place: None,
        report: Report = unreported,
        alone: bool = False,
    ) -> None:
        self.pods = 0
        """Number of pods that are watched."""
        self._entries, self._wanted, self._gone = entries, wanted, gone
        self._alone = alone
        self._kinds = kinds
        self._ours = ours
        self._count = count
        self._report = report
        self._pods: dict[Key, dict[str, Pod]] = {}
        self._claimants: dict[Key, str] = {}
        """The uid of the object that claims the pods, by owner key."""
        self._sets = LabelledSets()
        self._made = MadeObjects(kinds, report)

    def object_changed(self, name: str, old: ExperimentRecord | None, new: ExperimentRecord | None) -> None:
        """Take in a new, changed or deleted object of the kind of that name."""
        either = new or old
        try:
            self._object(name, new, old)
        except Exception as error:  # noqa: BLE001 - whatever one object causes must not reach the others
            self._failed(error, either)
            if either is not None:
                self._forget(either.uid)

    def pod_changed(self, old: Pod | None, new: Pod | None) -> None:
        """Take in a new, changed or deleted pod."""
        self.pods += (new is not None) - (old is not None)
        if old is not None and new is not None and (old.owner, old.namespace) != (new.owner, new.namespace):
            self._pod(old, old, None)
            self._pod(new, None, new)
        elif either := new or old:
            self._pod(either, old, new)

    def _object(self, name: str, new: ExperimentRecord | None, old: ExperimentRecord | None) -> None:
        obj = self._read(new) if new is not None else None
        self._part(name, obj, new, old)
        if new is None or obj is None or not self._subject(name, obj):
            gone = new or old
            if gone is not None:
                self._forget(gone.uid)
            return
        entry = self._entries.get(new.uid)
        if entry is None:
            created = seconds_of(texts_of(obj, "metadata").get("creationTimestamp", ""))
            run = WatchedRun(name, self._kinds[name], created)
            members = Membership(view=run.members.view)
            entry = self._entries[new.uid] = Entry(seen=new, members=members, watched=run)
        entry.seen = stripped(new)
        assert entry.watched is not None
        self._take(entry, entry.watched, obj, too_large=len(new.spec) > MAX_BYTES)
        self._wanted(new.uid)

    def _take(self, entry: Entry, run: WatchedRun, obj: Object, *, too_large: bool) -> None:
        """Read the object: its plan, its own status, and the pods that it claims."""
        try:
            plan = _plan(run.kind, obj, too_large=too_large)
            if self._alone and not run.kind.virtual:
                plan = replace(plan, watching=replace(plan.watching, unrun=run.kind.handed))
        except MusterError as error:
            if entry.problem != str(error):
                self._report("object cannot be watched over", **_which(entry.seen), problem=str(error))
            entry.plan, run.alone, entry.problem = None, None, str(error)
            if run.kind.virtual:
                there = self._pods.get((entry.seen.namespace, f"{PODS}/{entry.seen.name}"), {})
                run.pod = min(there.values(), key=lambda pod: (pod.created, pod.name), default=None)
            return
        run.alone, entry.problem = plan, ""
        run.members.view.own, claims = run.attempts.follow(state_of(run.kind, obj), run.kind.claims(obj))
        self._claim(entry, run, {each.owner: each for each in claims})
        self._follow(entry, run, plan)
        counted = sum(tally.pods for tally in run.members.view.epochs.values())
        run.secrets = secrets_within(obj.get("spec")) if counted < plan.size else NO_SECRETS

    def _follow(self, entry: Entry, run: WatchedRun, alone: Plan) -> None:
        """Follow the pods by the plan of the object and of the one that its controller made."""
        entry.plan = plan = self._made.joined(run.kind, entry.seen.uid, alone)
        held = (pod for key in self._keys(entry, run) for pod in self._pods.get(key, {}).values())
        run.members.follow(plan, run.claims, held)

    def _part(self, name: str, obj: Object | None, new: ExperimentRecord | None, old: ExperimentRecord | None) -> None:
        """Take in an object that was made for another one: its plan names the pods of the other."""
        if new is None or obj is None:
            if old is not None and (outer := self._made.gone(old.uid)) and outer not in self._entries:
                self._made.forget(outer)
            return
        outer = self._made.change(name, obj, too_large=len(new.spec) > MAX_BYTES)
        entry = self._entries.get(outer)
        if entry is not None and entry.watched is not None and entry.watched.alone is not None:
            self._follow(entry, entry.watched, entry.watched.alone)
            self._wanted(outer)

    def _claim(self, entry: Entry, run: WatchedRun, claims: Mapping[str, Any]) -> None:
        namespace, uid = entry.seen.namespace, entry.seen.uid
        for owner in run.claims.keys() - claims.keys():
            if self._claimants.get((namespace, owner)) == uid:
                del self._claimants[namespace, owner]
        run.claims = claims
        for owner in claims:
            self._claimants.setdefault((namespace, owner), uid)

    def _keys(self, entry: Entry, run: WatchedRun) -> list[Key]:
        """Return the owner keys that the object claims and no other object claimed before it."""
        keys = [(entry.seen.namespace, owner) for owner in run.claims]
        return [key for key in keys if self._claimants.get(key) == entry.seen.uid]

    def _pod(self, pod: Pod, old: Pod | None, new: Pod | None) -> None:
        if not pod.owner:
            return
        key = pod.namespace, pod.owner
        held = self._pods.setdefault(key, {})
        if new is not None:
            held[new.uid] = new
        else:
            held.pop(pod.uid, None)
        entry = self._entries.get(self._claimants.get(key, ""))
        try:
            if entry is not None and entry.watched is not None and entry.watched.members.change(old, new):
                self._wanted(entry.seen.uid)
            if pod.owner.startswith(f"{PODS}/") and (turn := self._sets.change(key, old, new, held)):
                self.object_changed(PODS, *turn)
        except Exception as error:  # noqa: BLE001 - see above
            self._failed(error, pod)
            if entry is not None:
                self._forget(entry.seen.uid)
        if not held:
            self._pods.pop(key, None)

    def _subject(self, name: str, obj: Object) -> bool:
        """Return True if the object is watched by itself."""
        kind = self._kinds.get(name)
        if kind is None or self._ours(kind.subject.kind, obj) or not kind.wanted(obj):
            return False
        outer = list(takewhile(lambda each: each is not kind, self._kinds.values()))
        return not any(_is_of(controller, each) for controller in _controllers(obj) for each in outer)

    def _forget(self, uid: str) -> None:
        entry = self._entries.get(uid)
        if entry is None or entry.watched is None:
            return
        self._gone(uid)
        self._entries.discard(uid)
        self._made.forget(uid)
        for owner in entry.watched.claims:
            if self._claimants.get((entry.seen.namespace, owner)) == uid:
                del self._claimants[entry.seen.namespace, owner]

    def _read(self, record: ExperimentRecord) -> dict[str, Any] | None:
        """Return the object; None if its JSON cannot be read."""
        try:
            return watched_object(record)
        except (ValueError, RecursionError):
            self._report("object cannot be watched over", **_which(record), problem="its JSON cannot be read")
            return None

    def _failed(self, error: Exception, about: ExperimentRecord | Pod | None) -> None:
        self._count("watch")
        self._report("change of a watched object failed, leaving it out", **_which(about), exc_info=error)


def _plan(kind: WatchedKind, obj: Object, *, too_large: bool) -> Plan:
    if too_large:
        raise MusterError(f"spec: it is larger than {MAX_BYTES} bytes of JSON")
    plan = kind.plan_of(obj)
    if plan.watching.on_deadline == "suspend" and kind.suspend is None:
        raise MusterError(f"annotation {ON_DEADLINE}: {kind.subject.kind} cannot be suspended; write delete")
    return plan


def _which(about: ExperimentRecord | Pod | None) -> dict[str, str]:
    if about is None:
        return {}
    return {"namespace": about.namespace, "object": about.name, "uid": about.uid}


def entry_of(kind: WatchedKind, obj: Object, pods: Iterable[Pod], made: Object | None = None) -> Entry | None:
    """Return the entry of one object, read once by musterd's own rules; None if it cannot be read.

    ``made`` is the object that its controller made. A set of labelled pods has no object but its pods, so ``obj`` is
    ignored.
    """
    entries = Entries()
    index = WatchedIndex(entries, {kind.name: replace(kind, wanted=every)})
    if kind.made is not None and made is not None and (record := record_of(kind.made, made)) is not None:
        index.object_changed(kind.made.subject.words, None, record)
    for pod in pods:
        index.pod_changed(None, pod)
    if not kind.virtual and (record := record_of(kind, obj)) is not None:
        index.object_changed(kind.name, None, record)
    return next(iter(entries.values()), None)


def record_of(kind: WatchedKind | Made, obj: Object) -> ExperimentRecord | None:
    """Return the flat record of an object, as a list of the API server has it; None if it cannot be used."""
    body = json.dumps({"metadata": {"resourceVersion": "1"}, "items": [obj]}).encode("utf-8", "replace")
    return next(iter(object_decoder_of(kind).page(body).objects.values()), None)


def unasked(plan: Plan) -> Plan:
    """Return the plan of a run whose coordinator is not asked: a member has arrived when its pod is ready."""
    if plan.coordinator is None:
        return plan
    return replace(plan, coordinator=replace(plan.coordinator, probe=ProbeKind.NONE))
