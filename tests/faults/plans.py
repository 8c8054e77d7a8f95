"""A plan: a scenario at one size and what goes wrong in it, as one line of text that replays it.

``member-fails:n=2:crash-after=PUT-experiments.Restarting1-1`` is a gang of 2 of which the last member fails in epoch 0,
and in which musterd is killed when its first status write with phase Restarting and epoch 1 has been carried out and
not yet answered. The words are those of ``tests.simulation.plans``; but here requests run side by side, and how many
status writes there are depends on how fast the machine is. So a fault names its request by verb and resource
(``VERB-resource-nth``, counted over all lives of the daemon; a status write by its phase and epoch, too) and a line of
a watch by its stream (``stream-nth``, bookmarks not counted).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

SURVIVORS = {"member-fails": "hang", "gang-aborts": "abort"}
"""Scenario by scenario, what the others do when the last member has failed: hang until they are deleted, or die of
it."""

RETRY_AFTER = 1
"""Seconds, in the answer to every injected 429."""

REQUEST_KINDS = {
    "crash-before": "musterd dies with that request not carried out",
    "crash-after": "musterd dies with that request carried out and unanswered",
    "crash-told": "musterd dies right after it has the answer to that request",
    "late": "musterd dies at that request, which is carried out some seconds later, when its next life is at work",
    "refuse": "that request is answered with an error, or reset, and not carried out",
    "lose": "that request is carried out, and answered with an error, reset, or half an answer",
    "delay": "the answer to that request comes some seconds late",
}
STREAM_KINDS = {
    "expire": "the watch says 410 in the place of that line",
    "cut": "the watch ends in the middle of that line, in good order as far as HTTP is concerned",
    "sever": "the watch is reset in the place of that line",
    "stall": "nothing comes any more in the place of that line, and the connection stays open",
    "hold": "only bookmarks come for some seconds, then that line and what has happened since",
    "double": "that line comes twice",
}
CRASHES = ("crash-before", "crash-after", "crash-told", "late")
STREAMS = ("experiments", "pods", "services")


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong: what, where, and how (an HTTP status, ``reset``, ``half``, or seconds)."""

    kind: str
    at: str
    how: str = ""

    def __str__(self) -> str:
        return f"{self.kind}={self.at}" + (f"/{self.how}" if self.how else "")

    @property
    def resource(self) -> str:
        """What it is about."""
        return self.at.split("-")[-2]

    @property
    def seconds(self) -> float:
        """Seconds of its own making: what it holds back."""
        return float(self.how) if self.kind in ("late", "delay", "hold") else 0.0


@dataclass(frozen=True, slots=True)
class Plan:
    """A scenario, its size, and its faults."""

    scenario: str
    size: int = 2
    faults: tuple[Fault, ...] = ()

    def __str__(self) -> str:
        return ":".join([self.scenario, f"n={self.size}", *map(str, self.faults)])

    @property
    def kind(self) -> str:
        """For counting: the kinds of its faults."""
        return "+".join(fault.kind for fault in self.faults) or "clean"

    def has(self, *kinds: str) -> bool:
        """Whether a fault of one of these kinds is in it."""
        return any(fault.kind in kinds for fault in self.faults)


def parse(text: str) -> Plan:
    """A plan from its line. Raises ValueError for what is no plan."""
    scenario, *parts = text.strip().split(":")
    if scenario not in SURVIVORS:
        raise ValueError(f"{scenario!r} is no scenario; there are {', '.join(SURVIVORS)}")
    size, faults = 2, []
    for part in parts:
        key, _, value = part.partition("=")
        at, _, how = value.partition("/")
        if key == "n":
            size = int(value)
        elif (key in REQUEST_KINDS and at.count("-") == 2) or (key in STREAM_KINDS and at.split("-")[0] in STREAMS):
            faults.append(Fault(key, at, how))
        else:
            known = ", ".join([*REQUEST_KINDS, *STREAM_KINDS])
            raise ValueError(f"{part!r} in {text!r} is no fault; there are n, {known}")
    return Plan(scenario, size, tuple(faults))


def catalogue(clean: Plan, requests: list[str], lines: Counter[str]) -> Iterator[Plan]:
    """Every single fault at every place of a clean run: its requests by name, and the lines each stream had."""
    for fault in (*_of_requests(requests), *_of_streams(lines)):
        yield Plan(clean.scenario, clean.size, (fault,))


def _of_requests(requests: list[str]) -> Iterator[Fault]:
    for at in requests:
        verb, resource, _ = at.split("-")
        if verb == "WATCH":
            yield from (Fault("refuse", at, how) for how in ("500", "429", "504", "410", "reset"))
        elif verb in ("GET", "LIST"):
            yield from (Fault("refuse", at, how) for how in ("500", "429", "504", "reset"))
            yield from (Fault("lose", at, "half"), Fault("delay", at, "1.5"))
        elif resource == "events":  # nothing follows from an Event: fewer ways to break it are worth their time
            yield Fault("crash-after", at)
            yield from (Fault("refuse", at, how) for how in ("500", "reset"))
            yield Fault("lose", at, "reset")
        else:
            yield from (Fault(kind, at) for kind in CRASHES[:3])
            yield Fault("late", at, "1.5")
            yield from (Fault("refuse", at, how) for how in ("500", "429", "409", "504", "reset"))
            yield from (Fault("lose", at, how) for how in ("504", "reset", "half"))
            yield Fault("delay", at, "1.5")
            if verb == "POST":
                yield Fault("refuse", at, "403")


def _of_streams(lines: Counter[str]) -> Iterator[Fault]:
    for stream in STREAMS:
        for position in _spread(lines[stream]):
            for kind in STREAM_KINDS:
                yield Fault(kind, f"{stream}-{position}", "2" if kind == "hold" else "")


def _spread(count: int, most: int = 5) -> list[int]:
    """Some positions from the first to the last."""
    if count <= most:
        return list(range(1, count + 1))
    return sorted({1 + round(step * (count - 1) / (most - 1)) for step in range(most)})
