"""The scheduler's sentence about why no node fits a pod, read as a whole.

``0/9 nodes are available: 1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }, 8 Insufficient
nvidia.com/gpu. preemption: ...``: each reason has the number of nodes that it excludes. A reason is the subject only
if it excludes most of the nodes that are meant for the pod, and no other reason excludes more.

Three kinds of nodes are not meant for a pod: those of the control plane, those that it does not select itself, and, for
a pod that asks for no accelerator, those whose taint keeps accelerators free.
"""

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from muster.api.values.accelerators import USUAL

LONGEST: Final = 4096
"""Characters of a sentence that are read."""
_NODES: Final = re.compile(r"\b0/(\d{1,6}) nodes are available: ")
_ENDS: Final = re.compile(r"\. (?:preemption|no new claims)|\.?$", re.DOTALL)
_REASON: Final = re.compile(r"(?:^|, )(\d{1,6}) ")
_TAINT: Final = re.compile(r"node\(s\) had (?:untolerated )?taint \{([^{}\s:]{1,200})")
_DEVICE: Final = re.compile(r"Insufficient ([a-z0-9.-]{1,100}/[A-Za-z0-9._-]{0,62}[A-Za-z0-9])")
_NOT_SELECTED: Final = re.compile(r"node\(s\) didn't match (?:Pod's node affinity|node selector)")
CONTROL_PLANE: Final = frozenset({"node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master"})


class Reason(NamedTuple):
    """The reason why so many nodes do not fit, in the scheduler's words."""

    nodes: int
    words: str


class Unfit(NamedTuple):
    """A whole sentence: the number of nodes, and the reasons."""

    nodes: int
    reasons: tuple[Reason, ...]

    @property
    def taint(self) -> str:
        """Return the taint that excludes most nodes that are meant for the pod; empty if another reason does."""
        return self._decides(_TAINT)

    @property
    def device(self) -> str:
        """Return the extended resource that most nodes meant for the pod lack; empty if another reason decides."""
        return self._decides(_DEVICE)

    def _decides(self, pattern: re.Pattern[str]) -> str:
        others = [each for each in self.reasons if not _not_meant(each)]
        most = max((each.nodes for each in others), default=0)
        if 2 * most <= self.nodes - sum(each.nodes for each in self.reasons if _not_meant(each)):
            return ""
        first = (pattern.match(each.words) for each in others if each.nodes == most)
        return next((match[1] for match in first if match), "")


def _not_meant(reason: Reason) -> bool:
    if _NOT_SELECTED.match(reason.words):
        return True
    taint = _TAINT.match(reason.words)
    return taint is not None and (taint[1] in CONTROL_PLANE or USUAL.has(taint[1]))


def unfit(text: str) -> Unfit | None:
    """Return the sentence in ``text``; None without one."""
    text = text[:LONGEST]
    opening = _NODES.search(text)
    if opening is None:
        return None
    rest = text[opening.end() :]
    end = _ENDS.search(rest)
    return Unfit(int(opening[1]), tuple(_reasons(rest[: end.start()] if end else rest)))


def _reasons(text: str) -> Iterator[Reason]:
    marks = list(_REASON.finditer(text))
    ends = [*(each.start() for each in marks[1:]), len(text)]
    for mark, after in zip(marks, ends, strict=False):
        yield Reason(int(mark[1]), text[mark.end() : after])
