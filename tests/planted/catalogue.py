"""All bugs, and the pairs that are planted together."""

from tests.planted import deciding, watching, writing
from tests.planted.bug import Bug, Hunt, Pair

BUGS: tuple[Bug, ...] = (
    deciding.epoch_in_memory,
    writing.random_names,
    deciding.failures_by_edge,
    writing.no_live_check,
    writing.loss_taken_for_granted,
    writing.blind_write,
    deciding.no_barrier,
    watching.own_writes_unread,
    watching.cache_by_name,
    watching.old_generation,
    watching.pods_before_record,
    writing.deleted_before_persisted,
    deciding.deadline_in_a_timer,
    deciding.late_cache_believed,
    deciding.suspended_pods_stay,
    deciding.cancelled_pods_stay,
    deciding.coordinator_first_ignored,
    deciding.endless_grace,
    deciding.swept_late,
    watching.found_by_name_alone,
    watching.view_leaked,
    watching.old_answer_credited,
    deciding.charged_unseen,
    writing.status_written_twice,
    writing.told_before_written,
    writing.anybody_is_us,
    writing.conflicting_delete_dropped,
)

PAIRS: tuple[Pair, ...] = (
    Pair(
        deciding.no_barrier,
        writing.no_live_check,
        (Hunt("crash", "survivors-hang"), Hunt("stale", "survivors-hang"), Hunt("late-write", "survivors-hang")),
    ),
    Pair(
        watching.own_writes_unread,
        writing.no_live_check,
        (Hunt("hold", "survivors-hang"), Hunt("stale", "member-fails", most=250)),
    ),
    Pair(
        watching.own_writes_unread,
        writing.loss_taken_for_granted,
        (Hunt("hold", "member-fails"), Hunt("reorder", "member-fails"), Hunt("drop", "member-fails")),
    ),
    Pair(watching.own_writes_unread, writing.blind_write, (Hunt("hold", "member-fails"), Hunt("late-write", "happy"))),
)
