"""Entries by uid, and by namespace, name and kind: a post names its run, which is found among 10,000 without a walk."""

from muster.tracking.entry import Entry

_Name = tuple[str, str, str]
"""Namespace, name and kind."""


class Entries(dict[str, Entry]):
    """Entries by uid. They are added by assignment and removed by ``pop``."""

    def __init__(self) -> None:
        super().__init__()
        self._uids: dict[_Name, str] = {}

    def __setitem__(self, uid: str, entry: Entry) -> None:
        super().__setitem__(uid, entry)
        self._uids[_name(entry)] = uid

    def pop(self, uid: str, default: Entry | None = None) -> Entry | None:  # type: ignore[override]
        """Remove the entry of that uid, and return it."""
        entry = super().pop(uid, None)
        if entry is None:
            return default
        if self._uids.get(_name(entry)) == uid:
            del self._uids[_name(entry)]
        return entry

    def named(self, namespace: str, name: str, kind: str) -> Entry | None:
        """Return the entry of the object of that kind and name; of several, the one that was added last."""
        wanted = namespace, name, kind
        entry = self.get(self._uids.get(wanted, ""))
        return entry if entry is not None and _name(entry) == wanted else None


def _name(entry: Entry) -> _Name:
    return entry.seen.namespace, entry.seen.name, entry.seen.kind
