"""A plan: a scenario, an operator, a gang size and the faults to inject, as one line of text that replays it.

``member-fails:op=pytorch:n=4:crash-after=17`` is the scenario ``member-fails`` with a PyTorch gang of 4, in which the
daemon is killed right after its 17th write. Faults are placed by what does not depend on time: the number
of a write of the daemon (from 1, over all its runs), or a resourceVersion.
"""

from dataclasses import dataclass, replace

from muster.api.errors import ApiError, Unreachable, error_of
from muster.kube.listwatch.reflector import ReflectorSettings
from tests.scenarios.operators import JAX, OPERATORS

RESTART_DELAY = 5.0
"""Seconds between a crash and the next start."""
STALE_FOR = 10.0
"""Seconds for which the watches of a daemon that began with a stale list deliver nothing newer."""
RELIST_AFTER = 5.0
"""Seconds after a dropped event at which its watch ends, and a new list shows what was lost."""
SILENCE = ReflectorSettings().silence
RETRY_AFTER = 2.0
TAKEOVER = 25.0
"""Seconds within which a standby leads when the leader does not renew its Lease any more (a Lease lasts 15 s)."""
RESYNC = 60.0
"""Seconds within which the daemon looks again at every experiment, whatever its wall clock shows."""
LISTS = 4
"""Live lists that may follow each other before a gang runs: of a failure or a loss, of a clock, and of two launches."""
ALTERED_FOR = 20.0
"""Seconds after which a user undoes what was done to the labels of a pod."""
RETRIED = 30.0
"""Seconds after which a pod that no watch shows is asked for again."""
EVERY = 0
"""In place of a resourceVersion: all of them (``double`` only)."""

KINDS = {
    "crash-before": "the daemon is killed at its nth write, which is not carried out",
    "crash-after": "the daemon is killed at its nth write, which is carried out but not answered",
    "late": "the daemon is killed at its nth write, which is carried out seconds later, when the next daemon runs",
    "stale": "the daemon is killed after its nth write, and the next one begins with lists of an older resourceVersion",
    "skew": "the daemon is killed after its nth write, and the wall clock of the next one differs by some seconds",
    "failover": "the leader is killed after its nth write, and a standby takes over, whose wall clock may differ",
    "cut": "the leader is cut off after its nth write for some seconds, and a standby takes over meanwhile",
    "refuse": "the nth write is answered with an error and not carried out",
    "lose": "the nth write is carried out, but answered with an error",
    "slow-answer": "the nth write is carried out, and its answer comes some seconds late",
    "hold": "the events of one kind, from a resourceVersion on, come some seconds late",
    "slow-list": "the answers to live lists of pods, from a resourceVersion on, arrive some seconds late",
    "expire-page": "the next live list of pods with several pages is answered with 410 after its first page",
    "drop": "an event is lost; a list shows what was lost some seconds later",
    "double": "an event comes twice; 0: each event does",
    "expire": "a watch ends with 410 in place of an event",
    "step-clock": "the wall clock of the daemon's node steps by some seconds at a resourceVersion",
    "delete-pod": "a user deletes the pod of a rank at a resourceVersion",
    "edit-pod": "a user annotates the pod of a rank at a resourceVersion",
    "alter-pod": "a user takes the label or the owner from the pod of a rank, and gives it back some seconds later",
    "edit-spec": "a user changes the command in the spec at a resourceVersion",
}
TAKEOVERS = ("failover", "cut")
CRASHES = ("crash-before", "crash-after", "late", "stale", "skew", *TAKEOVERS)
FOREIGN_CHANGES = ("delete-pod", "edit-pod", "edit-spec", "alter-pod")
COUNTED_IN_WRITES = (*CRASHES, "refuse", "lose", "slow-answer")


@dataclass(frozen=True, slots=True)
class Fault:
    """One fault. ``at`` is the number of a write or a resourceVersion; the meaning of ``how`` depends on the kind."""

    kind: str
    at: int
    how: str = ""

    def __str__(self) -> str:
        return f"{self.kind}={self.at}" + (f"/{self.how}" if self.how else "")

    def applies_to(self, version: int) -> bool:
        """Whether the event of that resourceVersion is meant."""
        return self.at in (version, EVERY)

    @property
    def seconds(self) -> float:
        """For how many seconds it can delay the daemon's work."""
        match self.kind:
            case "crash-before" | "crash-after":
                return RESTART_DELAY
            case "late":
                return RESTART_DELAY + float(self.how)
            case "stale":
                return RESTART_DELAY + STALE_FOR
            case "skew":
                return RESTART_DELAY + RESYNC
            case "failover":
                return TAKEOVER + (RESYNC if self.how else 0.0)
            case "cut":
                return TAKEOVER
            case "step-clock":
                return RESYNC
            case "refuse" | "lose":
                return 10.0  # delays between attempts double from 50 ms, and a refused create is repeated after 5 s
            case "slow-answer":
                return float(self.how)
            case "slow-list":
                return LISTS * float(self.how)
            case "hold":
                return float(self.how) + SILENCE * (float(self.how) > SILENCE)  # reopened, and silent again
            case "drop":
                return RELIST_AFTER + 2.0
            case "alter-pod":
                return ALTERED_FOR + RETRIED
            case "expire" | "expire-page":
                return 2.0
        return 1.0


@dataclass(frozen=True, slots=True)
class Plan:
    """``seed`` feeds the daemon's random numbers and, with ``shuffle``, the loop and every delay.

    ``operator`` is a name of ``scenarios.operators``.
    """

    scenario: str
    size: int
    faults: tuple[Fault, ...] = ()
    seed: int = 0
    shuffle: bool = False
    operator: str = JAX.name

    def __str__(self) -> str:
        parts = [self.scenario, *[f"op={self.operator}"] * (self.operator != JAX.name), f"n={self.size}"]
        parts += map(str, self.faults)
        parts += [f"seed={self.seed}"] * bool(self.seed) + ["shuffle"] * self.shuffle
        return ":".join(parts)

    @property
    def clean(self) -> "Plan":
        """The run without faults that this plan is compared with."""
        return Plan(self.scenario, self.size, operator=self.operator)

    @property
    def seconds(self) -> float:
        """For how many seconds all its faults can delay the daemon's work."""
        return sum(fault.seconds for fault in self.faults)

    def has(self, *kinds: str) -> bool:
        """Whether it has a fault of one of these kinds."""
        return any(fault.kind in kinds for fault in self.faults)

    def without(self, fault: Fault) -> "Plan":
        """The plan without that fault."""
        return replace(self, faults=tuple(each for each in self.faults if each is not fault))


def parse(text: str) -> Plan:
    """Read a plan from its line. Raises ValueError for anything that is not a plan."""
    name, *parts = text.strip().split(":")
    plan = Plan(name, 4)
    for part in parts:
        key, _, value = part.partition("=")
        match key:
            case "n":
                plan = replace(plan, size=int(value))
            case "op" if value in OPERATORS:
                plan = replace(plan, operator=value)
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
                raise ValueError(f"{part!r} in {text!r} is not a fault; use op, n, seed, shuffle, {', '.join(KINDS)}")
    return plan


REFUSALS = ("500", "429", "409", "403")
LOSSES = ("504", "reset")


def error(how: str, request: str) -> ApiError:
    """The answer to a write that a ``refuse`` or ``lose`` fault is injected into."""
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
