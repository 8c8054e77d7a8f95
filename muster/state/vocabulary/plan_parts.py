"""The parts of a plan: what a failure means, how often it is restarted, what its object asks for, how it is named."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from muster.api.gang import GroupSize
from muster.state.vocabulary.rules import DEFAULT_BACKOFF, GANG_FAILURE_RULES, Backoff, CulpritRule, FailureRule
from muster.state.vocabulary.subject import Names

LONGEST_GRACE: Final = 600.0
"""Seconds of grace that a restart leaves to pods that are being deleted, unless the clock over them is longer."""


@dataclass(frozen=True, slots=True)
class Failures:
    """What the end of a member means."""

    rules: tuple[FailureRule, ...] = GANG_FAILURE_RULES
    by_rule: bool = False
    """Of failures that are seen together the one that the earliest rule matches ends the epoch; else the first one."""
    survivor_exits: frozenset[int] = frozenset()
    """Exit codes with which members end because another member was lost: a consequence and not a cause."""
    survivor_text: str = ""
    """Regular expression of the last words of such members; empty: only the exit code is known."""
    culprits: tuple[CulpritRule, ...] = ()
    """How they, or the coordinator, name the member that was lost."""
    _by_group: Mapping[str, tuple[FailureRule, ...]] = field(init=False, repr=False, compare=False)
    _places: Mapping[int, int] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        every: list[FailureRule] = []
        found: dict[str, list[FailureRule]] = {"": every}
        for rule in self.rules:
            for group in rule.groups:
                if group not in found:
                    found[group] = list(every)
                found[group].append(rule)
            for rules in found.values() if not rule.groups else ():
                rules.append(rule)
        object.__setattr__(self, "_by_group", {group: tuple(rules) for group, rules in found.items()})  # frozen
        object.__setattr__(self, "_places", {id(rule): place for place, rule in enumerate(self.rules)})

    def of_group(self, name: str) -> tuple[FailureRule, ...]:
        """The rules that may match a failure of a member of that group, in order: a JobSet may have thousands."""
        return self._by_group.get(name, self._by_group[""])

    def place(self, rule: FailureRule) -> int:
        """How many rules come before that one."""
        return self._places.get(id(rule), len(self.rules))


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """How often, when and where the gang is run again. ``limit`` counts gang restarts."""

    limit: int = 3
    max_disruptions: int | None = None
    """Disruptions in a row, without progress between them, that the experiment survives; None: any number."""
    same_failure_limit: int = 0
    """Failures in a row that are the same, without an advance, from which it is called SameFailureAgain; 0: never."""
    same_failure_ends: bool = False
    """That ends the experiment; else it is only said."""
    renews: bool = False
    """Restarts count no more against ``limit`` once the gang has made progress since."""
    backoff: Backoff = DEFAULT_BACKOFF
    jitter: float = 0.0
    """Up to which share of itself a wait is shortened (0 to 1), so that not all gangs of a broken node come at once."""
    avoid_nodes_after: int | None = None
    """Failures on a node after which later pods are kept off it; None: no node is avoided."""
    most_avoided: int = 16
    """Nodes that are avoided at most: those that failed last."""
    grace: int | None = None
    """Seconds of grace for the pods of a broken gang; None: the grace of each pod."""
    longest_grace: float = LONGEST_GRACE
    """Seconds for which a restart waits for pods whose grace period is longer."""


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """What the object asks for besides running, and what remains of it."""

    suspend: bool = False
    cancel: bool = False
    cancelled_by: str = ""
    """Who cancelled it, and when, as far as that is said."""
    restart_request: str = ""
    """Who asked last for a restart of the gang, and when; each other text is another request."""
    deleting: bool = False
    """A deletionTimestamp is set: the object is gone as soon as its last finalizer is."""
    orphans: bool = False
    """It was deleted and its pods are to stay (``kubectl delete --cascade=orphan``)."""
    foreground: bool = False
    """The object stays until the last of its pods is gone (``kubectl delete --cascade=foreground``)."""
    ttl: float | None = None
    """Seconds after its end for which the object stays, as it says itself; None: until it is deleted."""
    retention: int | None = None
    """Seconds for which the installation keeps a finished object that does not say so; None: until it is deleted."""
    keep_ended: bool = True
    """Pods that have ended stay, for their logs, when the experiment is over; else they are all deleted then."""

    @property
    def stays(self) -> float | None:
        """Seconds after its end for which the object stays; None: until it is deleted."""
        return self.retention if self.ttl is None else self.ttl


@dataclass(frozen=True, slots=True)
class Edits:
    """What an edit of the spec may change, and which edit is not followed."""

    shape: str = ""
    """Digests of what cannot change (``muster.api.manifest.edits``); empty: they are not compared."""
    sizes: tuple[GroupSize, ...] = ()
    """Of an object of another kind, which can be edited while it runs: how many pods each group has."""
    problem: str = ""
    """What is wrong with the latest spec, which is not followed: the plan is of the one before. Empty: nothing."""
    waits: str = ""
    """Field of the spec whose edit waits until the object was suspended; empty: the plan is that of the spec."""
    remark: str = ""
    """What else is said of an edit that is not followed."""


@dataclass(frozen=True, slots=True)
class Naming:
    """How pods, hosts and the submission are called, and whether the cluster's DNS knows the hosts."""

    names: Names = Names.MUSTER
    subdomain: str = ""
    """Name of the headless Service; empty: that of the object."""
    service: bool = True
    """The pods have host names, and so a headless Service."""
    publish_not_ready: bool = True
    """Pods that are not ready have an address too: a member needs the coordinator's to become ready."""
    submits_as: str = ""
    """Name under which the program is handed to the coordinator, where another controller names it."""


@dataclass(frozen=True, slots=True)
class Watching:
    """What an object says that another controller runs, or might run."""

    rivals: str = ""
    """Label selector by which pods that another controller makes for this object are found; empty: none can be."""
    unrun: str = ""
    """What a person does about an object that no controller of this cluster runs; empty where one may."""
    local_queue: str = ""
    """The LocalQueue that the label of the object names: Kueue itself suspends and resumes it."""
    on_deadline: str = ""
    """``suspend`` or ``delete`` when a clock with the action Fail runs out."""
    deleted_at: float | None = None
    """When the deletion of the object was asked for."""
    finalizers: tuple[str, ...] = ()
    """What holds its deletion."""
    chosen: bool = False
    """It has no object and no name: a person's selector chose its pods."""
