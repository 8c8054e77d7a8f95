"""A plan: a scenario at one size, and everything that goes wrong in it, as one line of text that replays it.

``member-fails:n=4:crash-after=17`` is the scenario ``member-fails`` with a gang of 4, in which the daemon is killed
right after its 17th write. Faults are counted in what does not depend on time: writes of the daemon (from 1, over all
its lives), and resourceVersions.
"""

from dataclasses import dataclass, replace

from muster.api.errors import ApiError, Unreachable, error_of

DOWN = 5.0
"""Seconds between a crash and the next life."""
BEHIND = 10.0
"""Seconds for which the watches of a daemon that began with a stale list stay where that list was."""
REPAIR = 5.0
"""Seconds after which a dropped event is made up for by a list, because the watch was renewed and its version gone."""
RETRY_AFTER = 2.0
EVERY = 0
"""In the place of a resourceVersion: all of them. Only what is doubled may be."""

KINDS = {
    "crash-before": "the daemon dies with its nth write not carried out",
    "crash-after": "the daemon dies with its nth write carried out and unanswered",
    "late": "the daemon dies at its nth write, which is carried out some seconds later, when the next life is at work",
    "stale": "the daemon dies after its nth write, and its next life begins with lists of an older resourceVersion",
    "refuse": "the nth write is answered with an error and not carried out",
    "lose": "the nth write is carried out, but answered with an error",
    "hold": "one kind's events from a resourceVersion on come some seconds late",
    "drop": "an event is lost, and made up for by a list some seconds later",
    "double": "an event comes twice; 0: each event does",
    "expire": "a watch ends with 410 in the place of an event",
    "delete-pod": "somebody deletes the pod of a rank at a resourceVersion",
    "edit-pod": "somebody annotates the pod of a rank at a resourceVersion",
    "edit-spec": "somebody changes the command in the spec at a resourceVersion",
}
CRASHES = ("crash-before", "crash-after", "late", "stale")
STRANGERS = ("delete-pod", "edit-pod", "edit-spec")
COUNTED_IN_WRITES = (*CRASHES, "refuse", "lose")


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that goes wrong. ``at`` counts writes or is a resourceVersion; ``how`` depends on the kind."""

    kind: str
    at: int
    how: str = ""

    def __str__(self) -> str:
        return f"{self.kind}={self.at}" + (f"/{self.how}" if self.how else "")

    def meets(self, version: int) -> bool:
        """Whether it befalls the event of that resourceVersion."""
        return self.at in (version, EVERY)

    @property
    def seconds(self) -> float:
        """For how long it may keep the daemon from its work."""
        match self.kind:
            case "crash-before" | "crash-after":
                return DOWN
            case "late":
                return DOWN + float(self.how)
            case "stale":
                return DOWN + BEHIND
            case "refuse" | "lose":
                return 10.0  # waits between attempts double from 50 ms, and a refusal is tried again after 5 s
            case "hold":
                return float(self.how) + 70.0 * (float(self.how) > 70)  # a silent watch is opened anew, and waits again
            case "drop":
                return REPAIR + 2.0
            case "expire":
                return 2.0
        return 1.0


@dataclass(frozen=True, slots=True)
class Plan:
    """``seed`` feeds what is random in the daemon and, with ``shuffle``, in the loop and in every delay."""

    scenario: str
    size: int
    faults: tuple[Fault, ...] = ()
    seed: int = 0
    shuffle: bool = False

    def __str__(self) -> str:
        parts = [self.scenario, f"n={self.size}", *map(str, self.faults)]
        parts += [f"seed={self.seed}"] * bool(self.seed) + ["shuffle"] * self.shuffle
        return ":".join(parts)

    def has(self, *kinds: str) -> bool:
        """Whether a fault of one of these kinds is in it."""
        return any(fault.kind in kinds for fault in self.faults)

    def without(self, fault: Fault) -> "Plan":
        """The plan without that fault."""
        return replace(self, faults=tuple(each for each in self.faults if each is not fault))


def parse(text: str) -> Plan:
    """A plan from its line. Raises ValueError for what is no plan."""
    name, *parts = text.strip().split(":")
    plan = Plan(name, 4)
    for part in parts:
        key, _, value = part.partition("=")
        match key:
            case "n":
                plan = replace(plan, size=int(value))
            case "seed":
                plan = replace(plan, seed=int(value))
            case "shuffle":
                plan = replace(plan, shuffle=True)
            case _ if key in KINDS:
                at, _, how = value.partition("/")
                if int(at) < 1 and (key, int(at)) != ("double", EVERY):
                    raise ValueError(f"{part!r} in {text!r} never happens: writes and resourceVersions begin at 1")
                plan = replace(plan, faults=(*plan.faults, Fault(key, int(at), how)))
            case _:
                raise ValueError(f"{part!r} in {text!r} is no fault; there are n, seed, shuffle, {', '.join(KINDS)}")
    return plan


REFUSALS = ("500", "429", "409", "403")
LOSSES = ("504", "reset")


def error(how: str, request: str) -> ApiError:
    """The answer that a ``refuse`` or ``lose`` fault gives."""
    if how == "reset":
        return Unreachable("connection reset by peer", reason="Reset", request=request)
    status = int(how)
    reasons = {429: "TooManyRequests", 409: "Conflict", 403: "Forbidden", 504: "Timeout", 500: "InternalError"}
    text = {
        403: "exceeded quota: pods, requested: 1, used: 10, limited: 10",
        409: "Operation cannot be fulfilled on resourcequotas: the object has been modified",
    }.get(status, "injected")
    wait = RETRY_AFTER if status == 429 else None
    return error_of(status, reasons[status], text, retry_after=wait, request=request)
