"""The state of a watched object, with the condition that complains of something, whatever its kind.

A condition complains where it is True and its type names a trouble (``ReplicaFailure``), or False and its reason does
(``Created`` is False: ``JobsBuildFailed``). It is a remark and no verdict: the kind's own reader gives those.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import msgspec

from muster.api.values.printable import clean, word
from muster.api.values.secrets.credentials import without_credentials
from muster.api.values.timestamps import seconds_of
from muster.kinds.declaration.watched_kind import WatchedKind
from muster.kinds.planning.statuses import MAX_MESSAGE, conditions_of
from muster.state.view.own.own_state import OwnState, Said
from muster.state.view.own.remark import Remark

_TROUBLE: Final = re.compile(r"(?i:fail|error|invalid|forbidden|denied|exceed|unschedulable|insufficient|refused)")
LONGEST_NAME: Final = 253


def state_of(kind: WatchedKind, obj: Mapping[str, Any]) -> OwnState:
    """Return the state of the object as its kind reads it, with its newest complaint."""
    state = kind.own_state(obj)
    if state.said is not Said.NOTHING or (found := complaint(obj)) is None:
        return state
    return msgspec.structs.replace(state, remark=found)


def complaint(obj: Mapping[str, Any]) -> Remark | None:
    """Return the newest condition that complains."""
    found = filter(None, map(_complaint, conditions_of(obj)))
    return max(found, key=lambda each: each.at, default=None)


def _complaint(condition: Mapping[str, Any]) -> Remark | None:
    kind, status, reason = (condition.get(name) for name in ("type", "status", "reason"))
    if not isinstance(kind, str) or not isinstance(reason, str):
        return None
    trouble = bool(_TROUBLE.search(kind[:LONGEST_NAME]))
    untrue = status == "False" and not trouble and bool(_TROUBLE.search(reason[:LONGEST_NAME]))
    if not (untrue or (trouble and status == "True")):
        return None
    message, at = condition.get("message"), condition.get("lastTransitionTime")
    words = clean(message, MAX_MESSAGE) if isinstance(message, str) else ""
    return Remark(
        reason=word(reason or kind),
        message=without_credentials(words),
        at=seconds_of(at) if isinstance(at, str) else 0.0,
    )
