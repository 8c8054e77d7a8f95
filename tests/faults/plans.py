"""A plan: a scenario, a gang size and the faults to inject, as one line of text that replays it.

``survivors-hang:n=2:crash-after=PUT-experiments.Restarting1-1`` is the scenario of that name with a gang of 2, and
musterd is killed when its first status write with phase Restarting and epoch 1 has been carried out and not yet
answered. The terms are those of ``tests.simulation.plans``; but here requests are concurrent, and the number of status
writes depends on the speed of the machine. So a fault names a request by verb and resource (``VERB-resource-nth``,
counted over all processes of the daemon; a status write also by phase and epoch), and a line of a watch by its stream
(``stream-nth``, without bookmarks).
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

PLAYED = ("survivors-hang", "member-fails")
"""The scenarios that are played here: programs fail, and the others hang until they are deleted, or abort."""

RETRY_AFTER = 1
"""Seconds, in every injected 429."""

REQUEST_KINDS = {
    "crash-before": "musterd is killed at that request, which is not carried out",
    "crash-after": "musterd is killed at that request, which is carried out but not answered",
    "crash-told": "musterd is killed right after the answer to that request",
    "late": "musterd is killed at that request, which is carried out seconds later, when the next process runs",
    "refuse": "that request is answered with an error or reset, and not carried out",
    "lose": "that request is carried out, and answered with an error, a reset, or half an answer",
    "delay": "the answer to that request comes some seconds late",
}
STREAM_KINDS = {
    "expire": "the watch ends with 410 in place of that line",
    "cut": "the watch ends in the middle of that line, correctly as far as HTTP is concerned",
    "sever": "the watch is reset in place of that line",
    "stall": "nothing comes any more from that line on, and the connection stays open",
    "hold": "only bookmarks come for some seconds, then that line and everything since",
    "double": "that line comes twice",
}
CRASHES = ("crash-before", "crash-after", "crash-told", "late")
LATE = "0.6"
"""Seconds by which a request of a killed daemon is late: the next process runs by then, and the first epoch still does.
A create that comes after the pod of its name was deleted makes another one, which the sweep removes."""
STREAMS = ("experiments", "pods", "services")


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault: kind, place, and how (an HTTP status, ``reset``, ``half``, or seconds)."""

    kind: str
    at: str
    how: str = ""

    def __str__(self) -> str:
        return f"{self.kind}={self.at}" + (f"/{self.how}" if self.how else "")

    @property
    def resource(self) -> str:
        """The resource of its request."""
        return self.at.split("-")[-2]

    @property
    def seconds(self) -> float:
        """Seconds by which it delays something."""
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
        """The kinds of its faults, for statistics."""
        return "+".join(fault.kind for fault in self.faults) or "clean"

    def has(self, *kinds: str) -> bool:
        """Whether it has a fault of one of these kinds."""
        return any(fault.kind in kinds for fault in self.faults)


def parse(text: str) -> Plan:
    """Read a plan from its line. Raises ValueError for anything that is not a plan."""
    scenario, *parts = text.strip().split(":")
    if scenario not in PLAYED:
        raise ValueError(f"{scenario!r} is not a scenario; use {', '.join(PLAYED)}")
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
            raise ValueError(f"{part!r} in {text!r} is not a fault; use n, {known}")
    return Plan(scenario, size, tuple(faults))


def catalogue(clean: Plan, requests: list[str], lines: Counter[str]) -> Iterator[Plan]:
    """All plans of one fault: at every request of a clean run, and at some lines of each stream."""
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
        elif resource == "events":  # fewer kinds: no other request depends on an Event
            yield Fault("crash-after", at)
            yield from (Fault("refuse", at, how) for how in ("500", "reset"))
            yield Fault("lose", at, "reset")
        else:
            yield from (Fault(kind, at) for kind in CRASHES[:3])
            yield Fault("late", at, LATE)
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
    """At most ``most`` positions, spread evenly from the first to the last."""
    if count <= most:
        return list(range(1, count + 1))
    return sorted({1 + round(step * (count - 1) / (most - 1)) for step in range(most)})
