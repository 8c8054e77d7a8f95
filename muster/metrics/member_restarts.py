"""How many members were run again within their epoch, and why, between two records."""

from collections import Counter
from collections.abc import Mapping

from muster.state.vocabulary.record import Record, attempts_of


def member_restarts(old: Record, new: Record) -> Mapping[str, int]:
    """Members by the reason of their failure. A job that is run again as a whole counts each of its members.

    Jobs of a JobSet keep no count of reasons: their members are counted under that of the first failure.
    """
    before = attempts_of(old.attempts)
    begun = sum(attempt > before.get(rank, 0) for rank, attempt in attempts_of(new.attempts).items())
    if not begun:
        return {}
    met = Counter({each.reason: each.count for each in new.restart_reasons})
    found = met - Counter({each.reason: each.count for each in old.restart_reasons})
    first = new.cause.reason if new.cause is not None else "Unknown"
    if not found:
        return {first: begun}
    main = first if first in found else next(iter(found))
    found[main] += begun - found.total()
    return +found
