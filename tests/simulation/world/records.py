"""Objects of other kinds as the oracles see them: with the record in place of their own status.

What must hold of an Experiment must hold of every object that Muster runs. So each change of such an object is shown to
the oracles as that of an Experiment whose status is the record. Its own status is judged apart (``oracles.run_kinds``).
"""

from muster.kinds.planning.run_object import from_object
from muster.state.vocabulary.record import to_status
from muster.state.vocabulary.subject import EXPERIMENT, Subject
from tests.fakes.history import Change, Object


class Records:
    """Translates the objects of one other kind."""

    def __init__(self, subject: Subject) -> None:
        self.subject = subject
        self._seen: dict[str, tuple[Object, Object]] = {}
        """By path: the last object, and what became of it."""

    def change(self, change: Change) -> Change:
        """That change as the oracles see it."""
        if change.resource != self.subject.plural:
            return change
        before = self.object(change.path, change.before) if change.before is not None else None
        after = self.object(change.path, change.after)
        return Change(change.version, change.kind, self.path(change.path), before, after, change.at)

    def path(self, path: str) -> str:
        """The path that an Experiment of that namespace and name has."""
        return _moved(path, self.subject, EXPERIMENT)

    def own_path(self, path: str) -> str:
        """The path of the object, from that of an Experiment of its namespace and name."""
        return _moved(path, EXPERIMENT, self.subject)

    def object(self, path: str, obj: Object) -> Object:
        """That object as the oracles see it."""
        known = self._seen.get(path)
        if known is None or known[0] is not obj:
            known = self._seen[path] = obj, self._object(obj)
        return known[1]

    def _object(self, obj: Object) -> Object:
        record = from_object(obj.get("status"))
        spec = obj["spec"]
        shown: Object = {**obj, "spec": {**spec, "suspend": bool((spec.get("runPolicy") or spec).get("suspend"))}}
        shown["status"] = to_status(record) if record is not None else {}
        return shown


def _moved(path: str, one: Subject, other: Subject) -> str:
    path = path.replace(f"/apis/{one.api_version}/", f"/apis/{other.api_version}/")
    return path.replace(f"/{one.plural}/", f"/{other.plural}/")
