"""The parts of a plan: the rules of failures and restarts, the life and edits of its object, and its names."""

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
    """The rules for the end of a member."""

    rules: tuple[FailureRule, ...] = GANG_FAILURE_RULES
    by_rule: bool = False
    """True if, among failures seen together, the one that the earliest rule matches ends the epoch; else the first."""
    survivor_exits: frozenset[int] = frozenset()
    """Exit codes of members that end because another member was lost: a consequence and not a cause."""
    survivor_text: str = ""
    """Regular expression of the last words of such members; empty: only the exit code is known."""
    culprits: tuple[CulpritRule, ...] = ()
    """Patterns by which survivors, or the coordinator, name the lost member."""
    launcher: float = 0.0
    """Seconds that a launcher in a pod needs to see that a process of it has ended."""
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
        """Return the rules that may match a failure in that group, in order: a JobSet may have thousands."""
        return self._by_group.get(name, self._by_group[""])

    def place(self, rule: FailureRule) -> int:
        """Return the number of rules before that one."""
        return self._places.get(id(rule), len(self.rules))


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """The number, time and place of restarts of the gang. ``limit`` counts gang restarts."""

    limit: int = 3
    max_disruptions: int | None = None
    """Disruptions in a row, without progress between them, that the experiment survives; None: any number."""
    same_failure_limit: int = 0
    """Equal failures in a row, without an advance, from which the reason is SameFailureAgain; 0: never."""
    same_failure_ends: bool = False
    """True if SameFailureAgain ends the experiment; else it is only reported."""
    renews: bool = False
    """True if restarts no longer count against ``limit`` once the gang has made progress since."""
    backoff: Backoff = DEFAULT_BACKOFF
    jitter: float = 0.0
    """Largest share (0 to 1) by which a wait is shortened, so that not all gangs of a broken node restart at once."""
    avoid_nodes_after: int | None = None
    """Failures on a node after which later pods are kept off it; None: no node is avoided."""
    most_avoided: int = 16
    """The most nodes that are avoided: those that failed last."""
    grace: int | None = None
    """Seconds of grace for the pods of a broken gang; None: the grace of each pod."""
    longest_grace: float = LONGEST_GRACE
    """Seconds for which a restart waits for pods whose grace period is longer."""


@dataclass(frozen=True, slots=True)
class Lifecycle:
    """Requests of the object besides running, and what is kept after its end."""

    suspend: bool = False
    cancel: bool = False
    cancelled_by: str = ""
    """The person who cancelled it, and the time, as far as that is known."""
    restart_request: str = ""
    """The person who last asked for a restart of the gang, and the time; each new text is another request."""
    deleting: bool = False
    """True if a deletionTimestamp is set: the object is gone as soon as its last finalizer is."""
    orphans: bool = False
    """True if the object was deleted and its pods are to stay (``kubectl delete --cascade=orphan``)."""
    foreground: bool = False
    """True if the object stays until its last pod is gone (``kubectl delete --cascade=foreground``)."""
    ttl: float | None = None
    """Seconds after its end for which the object stays, from its own spec; None: the spec sets none."""
    retention: int | None = None
    """Seconds for which the installation keeps a finished object without a ``ttl``; None: until it is deleted."""
    keep_ended: bool = True
    """True if ended pods stay, for their logs, after the experiment; else they are all deleted then."""

    @property
    def stays(self) -> float | None:
        """Return the seconds after its end for which the object stays; None: until it is deleted."""
        return self.retention if self.ttl is None else self.ttl


@dataclass(frozen=True, slots=True)
class Edits:
    """The changes that an edit of the spec may make, and the edit that is not followed."""

    shape: str = ""
    """Digests of the fields that cannot change (``muster.api.manifest.edits``); empty: they are not compared."""
    sizes: tuple[GroupSize, ...] = ()
    """The number of pods of each group, for an object of another kind, which can be edited while it runs."""
    problem: str = ""
    """The error in the latest spec, which is not followed: the plan is of the one before. Empty: none."""
    waits: str = ""
    """Field of the spec whose edit waits for a suspension of the object; empty: the plan is that of the spec."""
    remark: str = ""
    """A further remark about an edit that is not followed."""


@dataclass(frozen=True, slots=True)
class Naming:
    """The names of pods, hosts and the submission, and whether the cluster's DNS has the hosts."""

    names: Names = Names.MUSTER
    subdomain: str = ""
    """Name of the headless Service; empty: that of the object."""
    service: bool = True
    """True if the pods have host names, and so a headless Service."""
    publish_not_ready: bool = True
    """True if pods that are not ready have an address too: a member needs the coordinator's to become ready."""
    submits_as: str = ""
    """Name under which the program is handed to the coordinator, if another controller names it."""


@dataclass(frozen=True, slots=True)
class Watching:
    """The fields of an object that another controller runs, or might run."""

    rivals: str = ""
    """Label selector of the pods that another controller makes for this object; empty: none can be found."""
    unrun: str = ""
    """The step of a person for an object that no controller of this cluster runs; empty if one may."""
    local_queue: str = ""
    """The LocalQueue in the object's label: Kueue itself suspends and resumes the object."""
    on_deadline: str = ""
    """``suspend`` or ``delete``, for a clock with the action Fail that runs out."""
    deleted_at: float | None = None
    """The time at which the deletion of the object was asked for."""
    finalizers: tuple[str, ...] = ()
    """The finalizers that block its deletion."""
    chosen: bool = False
    """True if the run has no object and no name: a person's selector chose its pods."""
