"""What a pretended pod does: a few words in its command, for instance:

    rank=1 epoch=0: run 2, exit 1
    *: run 5, exit 0

The first line that fits a pod's rank and epoch is its script; without one the pod runs until it is deleted.
Steps: ``pull N`` (seconds until the image is pulled), ``run N`` (seconds of work), ``ready`` (readiness, at once unless
``unready`` comes first), ``exit N``, ``oom``, ``wait REASON`` (a container that cannot start, for good), ``deaf``
(SIGTERM is ignored), ``gone N`` (SIGTERM is answered after N seconds), ``evicted``, ``late N`` (the end is reported N
seconds after it was), ``hold`` (until the test lets the pod go on, see ``Site.lets_go``), ``init-wait REASON`` and
``init-exit N`` (the same of the first init container).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from muster.api.names import LABEL_EPOCH, LABEL_RANK


@dataclass(frozen=True, slots=True)
class Step:
    """One word and what follows it."""

    word: str
    argument: str = ""

    @property
    def seconds(self) -> float:
        """The argument of `pull`, `run`, `gone` and `late`."""
        return float(self.argument or 0)


def steps(command: str, labels: Mapping[str, str]) -> list[Step]:
    """The steps of one pod. A command that is no script has none."""
    rank, epoch = labels.get(LABEL_RANK, ""), labels.get(LABEL_EPOCH, "")
    for line in command.splitlines():
        selector, colon, text = line.partition(":")
        if colon and _fits(selector.split(), rank, epoch):
            return [Step(*part.split(maxsplit=1)) for part in text.split(",") if part.strip()]
    return []


def _fits(words: list[str], rank: str, epoch: str) -> bool:
    known = {"rank": rank, "epoch": epoch}
    if words == ["*"]:
        return True
    return bool(words) and all(known.get(name) == value for name, _, value in (word.partition("=") for word in words))
