"""What is added to a message: edits that pods do not follow, a volume that was lost, nodes that are avoided."""

from muster.state.policies.failures.avoidance import avoided
from muster.state.vocabulary.record import Record


def of_edits(record: Record, remark: str = "") -> str:
    """Return what is said of edits that the pods do not follow; empty without one. ``remark``: what the kind adds."""
    if not record.pending_edits:
        return ""
    if record.edit_refused:
        return f"the last edit is not applied, and the run continues without it: {record.pending_edits}"
    said = f"the edit of {record.pending_edits} applies to pods that are created from now on, not to those that run"
    if not record.groups:
        return said
    more = "the number of pods changes only while it is suspended"
    return "; ".join(filter(None, (said, more, remark)))


def of_volume(record: Record) -> str:
    """Return what is said of a volume that was lost; empty where none was."""
    if record.volume_lost_at is None:
        return ""
    return "the shared volume was deleted, not by Muster, and is created again: its data is lost"


def of_avoided(record: Record) -> str:
    """Return the avoided nodes, for a message about a pod that finds no node; empty where there are none."""
    names = avoided(record)
    if not names:
        return ""
    return f"; left out because the experiment failed on {'it' if len(names) == 1 else 'them'}: {', '.join(names)}"
