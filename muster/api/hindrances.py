"""Obstacles of a gang that starts or works, in the status (``muster.api.status``)."""

from typing import Annotated

import msgspec

from muster.api.wire.kinds import Message, Name, RankRanges, Reason, Time
from muster.api.wire.structs import Wire


class Blocked(msgspec.Struct, frozen=True, gc=False):
    """Obstacle of a member of this epoch that starts or works."""

    reason: Annotated[Reason, Wire("The obstacle in one word, such as ImagePullBackOff.")]
    since: Annotated[Time, Wire("Since when there is an obstacle of this kind.", name="time", moves=True)]
    gone_at: Annotated[
        Time | None, Wire("Since when it is not seen, while it may come back.", name="goneTime", moves=True)
    ] = None


class Stuck(msgspec.Struct, frozen=True, gc=False):
    """Why the gang is stuck, and by which members: what its end is charged to where the others give up."""

    cause: Annotated[
        Reason, Wire("Why these members block the gang, in one word of docs/reasons.md; empty where none does.")
    ]
    evidence: Annotated[Message, Wire("What showed it.")]
    ranks: Annotated[RankRanges, Wire("Their ranks, such as 2 or 8-15; empty where it is the whole gang.")]
    since: Annotated[Time, Wire("Since when it is known.", name="time", moves=True)]
    until: Annotated[
        Time | None, Wire("When it was resolved, while the ranks have not arrived.", name="untilTime", moves=True)
    ] = None
    reason: Annotated[Reason, Wire("Reason of the condition Stuck.")] = ""
    subject: Annotated[Name, Wire("The node, pod or queue that it is about, where there is one.")] = ""
