"""What each bucket must be, from the lines that the ranks wrote and the second of each, and from nothing of Muster."""

import json
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from muster.api.goodput import Bucket

Line = dict[str, Any]
WAY: Final = "to the roll"
"""The time before a roll is complete, which the programs do not see in parts."""
PARTS: Final = frozenset((Bucket.SCHEDULING, Bucket.STARTUP, Bucket.ASSEMBLY))
"""Its parts."""


def lines(folder: Path) -> list[Line]:
    """What all ranks wrote, by time. A line that is being written is none yet."""
    texts = [file.read_text() for file in folder.glob("log.*")]
    found = [json.loads(line) for text in texts for line in text.splitlines(keepends=True) if line.endswith("\n")]
    return sorted(found, key=lambda line: float(line["at"]))


def expected(
    log: Sequence[Line], began: float, suspended: Sequence[tuple[float, float]], ended: float
) -> dict[str, float]:
    """Seconds by bucket. ``suspended``: from when to when. The way to the first roll is one figure."""
    epochs = sorted({int(line["epoch"]) for line in log})
    found = dict.fromkeys((WAY, *(each.value for each in Bucket if each not in PARTS)), 0.0)
    ends: dict[int, float] = {}
    for epoch in epochs:
        mine = [line for line in log if line["epoch"] == epoch]
        lead = [line for line in mine if line["rank"] == 0]
        joined = max(float(line["at"]) for line in mine if line["what"] == "joined")
        killed = [float(line["at"]) for line in mine if line["what"] == "killed"]
        pauses = [begin for begin, _ in suspended if begin > joined]
        ends[epoch] = killed[0] if killed else min(pauses, default=ended) if epoch < epochs[-1] else ended
        found["program_startup"] += _begun(lead) - joined - _between(lead, "restoring", "restored")
        found["checkpoint_save"] += _between(lead, "saving", "saved")
        found["checkpoint_restore"] += _between(lead, "restoring", "restored")
        found["stuck"] += _frozen(lead, mine)
        before = [each for each in ends if each < epoch]
        if not before:
            found[WAY] += joined - began
            continue
        resumed = [end for _, end in suspended if ends[before[-1]] <= end < joined]
        if resumed:
            found[WAY] += joined - resumed[0]
        else:
            found["recovery"] += joined - ends[before[-1]]
        found["lost"] += _work_after(log, before[-1], _resumed(lead), ends[before[-1]])
    wall = ended - began - sum(end - begin for begin, end in suspended)
    found["productive"] = wall - sum(found.values())
    return found


def _begun(lead: Sequence[Line]) -> float:
    """When the first whole step began; what it took longer than the next one is compilation."""
    first, second, third = [float(line["at"]) for line in lead if line["what"] == "step"][:3]
    return max(first, second - (third - second))


def _resumed(lead: Iterable[Line]) -> int:
    return next(int(line["step"]) for line in lead if line["what"] == "step")


def _between(log: Sequence[Line], begin: str, end: str, after: float = 0.0) -> float:
    chosen = [line for line in log if line["what"] in (begin, end) and line["at"] >= after]
    return sum(float(b["at"]) - float(a["at"]) for a, b in pairwise(chosen) if (a["what"], b["what"]) == (begin, end))


def _frozen(lead: Sequence[Line], log: Sequence[Line]) -> float:
    """The time between the two steps of the lead between which a rank was stopped."""
    stopped = [float(line["at"]) for line in log if line["what"] == "thawed"]
    steps = [float(line["at"]) for line in lead if line["what"] == "step"]
    return sum(b - a for thawed in stopped for a, b in pairwise(steps) if a < thawed <= b)


def _work_after(log: Sequence[Line], epoch: int, step: int, end: float) -> float:
    """The work of an epoch after a step, without pauses."""
    lead = [line for line in log if line["epoch"] == epoch and line["rank"] == 0]
    reached = [float(line["at"]) for line in lead if line["what"] == "step" and line["step"] == step]
    if not reached:
        return 0.0
    return end - reached[0] - _between(lead, "saving", "saved", reached[0])
