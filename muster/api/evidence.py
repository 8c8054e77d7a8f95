"""Facts of an epoch that ended without success, in the status (``muster.api.status``).

The pods that showed it are deleted with the epoch, so nothing of it can be read again. Its size is bounded: an epoch
takes about 2 KB, and 32 KB whatever its programs and the cluster report: 64 KB where JSON escapes all of it.
"""

from typing import Annotated, Final

import msgspec

from muster.api.gang import RollCall
from muster.api.wire.kinds import Counter, Message, Name, RankRanges, Reason, Time, text
from muster.api.wire.structs import Wire

MAX_EPOCHS: Final = 3
"""Epochs whose evidence a status holds, the newest."""
MAX_FINDINGS: Final = 6
MAX_STACKS: Final = 8
"""Rows of ranks with equal stacks: a look reads as many stacks (``muster.watchers.probes.jax.places``)."""
SENTENCE: Final = 512
RANGES: Final = 200
"""Characters of the ranges of ranks of one row."""

Sentence = Annotated[str, text(SENTENCE)]


class FindingThen(msgspec.Struct, frozen=True, gc=False):
    """Members that one cause kept when the epoch ended."""

    cause: Annotated[Reason, Wire("The cause, in one word of docs/reasons.md.", required=True)]
    sentence: Annotated[Sentence, Wire("Which members it blocked, and how.")]
    evidence: Annotated[Message, Wire("What showed it.")] = ""
    ranks: Annotated[RankRanges, Wire("Their ranks, the lowest of them where they are many.")] = ""
    count: Annotated[Counter, Wire("How many members they were.")] = 0
    node: Annotated[Name, Wire("Their node, where the node was the cause.")] = ""


class StackThen(msgspec.Struct, frozen=True, gc=False):
    """Ranks with equal stacks, as their own processes wrote them, or with none for one reason."""

    rank: Annotated[Counter, Wire("The lowest of the ranks.", required=True)]
    calls: Annotated[
        Message,
        Wire(
            "Their calls, the innermost first: function, file and line. Of ranks without a stack why, and where they "
            "were seen last. Empty in a row for the ranks of all that are not listed."
        ),
    ]
    ranks: Annotated[RankRanges, Wire("The ranks, the lowest of them where they are many.")] = ""
    count: Annotated[Counter, Wire("How many ranks they are.")] = 0


class EpochEvidence(msgspec.Struct, frozen=True, gc=False):
    """An epoch that ended without success, as it was before its pods were stopped."""

    epoch: Annotated[Counter, Wire("The epoch.", required=True)]
    at: Annotated[Time, Wire("When it was ended, and this was seen.", name="time", stays="it is over")]
    phase: Annotated[Reason, Wire("The phase that it had.")]
    next: Annotated[Reason, Wire("The phase that followed: Restarting, Failed, Queued or Suspended.")]
    reason: Annotated[Reason, Wire("Why it was ended, in one word.")] = ""
    how: Annotated[Message, Wire("The same in a sentence.")] = ""
    began_at: Annotated[Time | None, Wire("When it had begun.", name="beganTime", stays="it is over")] = None
    waited_for: Annotated[Message, Wire("What it waited for, in a sentence.")] = ""
    stuck: Annotated[Reason, Wire("Reason of its condition Stuck, where that was true.")] = ""
    stuck_at: Annotated[
        Time | None, Wire("Since when it was true for that reason.", name="stuckTime", stays="it is over")
    ] = None
    stuck_by: Annotated[Message, Wire("The sentence of that condition.")] = ""
    known: Annotated[Message, Wire("Which members were known to block the gang while it was Stuck.")] = ""
    roll: Annotated[RollCall | None, Wire("The last roll call.")] = None
    steps: Annotated[Sentence, Wire("How far the programs had come, where they report steps.")] = ""
    collectives: Annotated[Message, Wire("Who had not entered which collective, where processes publish them.")] = ""
    places: Annotated[Message, Wire("Where the ranks were, if their processes report it.")] = ""
    findings: Annotated[
        tuple[FindingThen, ...],
        Wire("Why members were missing or not at work, the most decisive cause first.", most=MAX_FINDINGS, sparse=True),
    ] = ()
    stacks: Annotated[
        tuple[StackThen, ...],
        Wire(
            "Stacks of all ranks, grouped, the rarest first; only where some ranks were stuck.",
            most=MAX_STACKS,
            sparse=True,
        ),
    ] = ()
