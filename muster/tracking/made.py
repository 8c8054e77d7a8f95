"""The objects that controllers make for watched ones, as the plans of their pods: the JobSet of a TrainJob.

The two are watched apart, so either may be seen first. What was made may go before the object it was made for: a
TrainJob whose deadline has passed has no JobSet left. Its plan is kept as long as one of the two is known.
"""

from collections.abc import Callable, Mapping

from muster.api.errors import MusterError
from muster.kinds.declaration.watched_kind import Object, WatchedKind
from muster.kinds.planning.watched_plan import metadata_of
from muster.state.vocabulary.plan import Plan


class MadeObjects:
    """The objects made for objects of ``kinds``, by the uids of the latter."""

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
        uid, outer = str(metadata_of(obj).get("uid") or ""), _controller(obj, kind) if kind is not None else ""
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
    references = metadata_of(obj).get("ownerReferences")
    for each in references if isinstance(references, list) else ():
        if isinstance(each, Mapping) and each.get("controller") is True and each.get("kind") == kind.subject.kind:
            same = str(each.get("apiVersion")).partition("/")[0] == kind.subject.group
            return str(each.get("uid") or "") if same else ""
    return ""
