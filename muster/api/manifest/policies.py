"""The policies that a spec states: clocks, gates and success, rules for failures, restarts; and what is refused.

Names and semantics are JobSet's v1alpha2 where it has them: for gates (``types.<t>.dependsOn``), which have one more
status, ``Serving``, for ``spec.successPolicy``, and for ``failurePolicy.rules``. Exit codes, groups of single members,
limits per rule and Ignore are Muster's. Failures that no rule matches are left to the rules of the operator, most often
a gang restart.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Final, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, model_validator

from muster.api.gang import MAX_NODES
from muster.api.manifest.aichor import BackoffLimit
from muster.api.manifest.groups import MAX_GATES
from muster.api.manifest.operators import operators
from muster.api.manifest.problems import Refused, nearest
from muster.api.values.durations import parse_duration
from muster.api.values.fields import (
    TEXT,
    WORD,
    Count,
    Duration,
    GroupName,
    Number,
    Shape,
    Wait,
    Word,
    Wrong,
    limited,
    listed,
    null_is_empty,
)
from muster.api.values.patterns import MAX_PATTERN, PatternError, compiled

if TYPE_CHECKING:
    from muster.api.manifest.groups import Group


ClockAction = Literal["Fail", "Restart", "Alert"]


class Clock(Shape):
    """A deadline of one stage of an epoch."""

    after: Duration = Field(description="How long the stage may take.")
    action: ClockAction = Field(
        "Alert", description="What happens then: Fail the experiment, Restart the gang, or Alert only."
    )

    @property
    def after_seconds(self) -> int:
        """Return the limit of the stage, in seconds."""
        return parse_duration(self.after)


class Clocks(Shape):
    """Deadlines of the stages; a clock that is absent does not run. The total is spec.timeout."""

    pending: Clock | None = Field(None, description="From an epoch's start until every member has a node.")
    starting: Clock | None = Field(
        None,
        description="From the moment every member has a node until the first program runs. 10 minutes and Alert if "
        "absent.",
    )
    assembly: Clock | None = Field(None, description="From the first process of an epoch until no rank is missing.")
    run: Clock | None = Field(None, description="From the moment no rank is missing until the epoch ends.")
    progress: Clock | None = Field(
        None,
        description="From one sign of progress to the next: the gang is assembled, a member ends with exit code 0, a "
        "program reports. An announced pause does not hold it.",
    )
    terminating: Clock | None = Field(
        None,
        description="For old pods to end. Restart deletes by force those that do not: safe only on dead nodes.",
    )


class SuccessPolicy(Shape):
    """Which jobs must succeed; when they have, the rest is stopped."""

    operator: Literal["All", "Any"] = Field("All", description="All jobs of the targets, or any one of them.")
    targets: Annotated[tuple[GroupName, ...], listed(MAX_GATES)] = Field(
        (), description="Types whose jobs count; absent: every type."
    )


def refused_gates(operator: str, groups: tuple["Group", ...], *, coordinator_first: bool) -> Iterator[Refused]:
    """Yield gates that name no other group, or that could never open.

    An experiment that waits forever looks like one that is slow.
    """
    staged = operators()[operator].staged
    names = [group.name for group in groups]
    first = next((group.name for group in groups if group.members), "")
    for group in groups:
        for number, gate in enumerate(group.depends_on):
            loc = ("types", group.name, "dependsOn", number)
            if gate.group not in names:
                yield Refused((*loc, "group"), *unknown_type(gate.group, names))
            elif gate.group == group.name:
                yield Refused((*loc, "group"), "a type cannot wait for itself", "remove this entry")
            elif coordinator_first and not staged and group.name == first:
                message = f"startup.order CoordinatorFirst lets {gate.group} wait for the coordinator, which is here"
                yield Refused(loc, message, "remove this entry, or write startup.order: AllAtOnce")
            elif gate.status == "Complete" and not staged:
                message = f"the types of operator {operator} work together: none completes before the others start"
                yield Refused((*loc, "status"), message, "write Ready")
            elif gate.status == "Serving" and staged:
                message = f"operator {operator} has no coordinator that could serve"
                yield Refused((*loc, "status"), message, "write Ready")
            elif gate.status == "Serving" and gate.group != first:
                yield Refused((*loc, "group"), f"the coordinator is a member of {first}", f"write group: {first}")
    yield from _cycles({group.name: tuple(gate.group for gate in group.depends_on) for group in groups})


def refused_targets(operator: str, policy: SuccessPolicy | None, groups: tuple["Group", ...]) -> Iterator[Refused]:
    """Yield a success policy for an operator that has its own, and targets that name no group."""
    if policy is None:
        return
    if own := operators()[operator].success:
        yield Refused(("successPolicy",), own, "remove it")
        return
    names = [group.name for group in groups]
    for number, target in enumerate(policy.targets):
        if target not in names:
            yield Refused(("successPolicy", "targets", number), *unknown_type(target, names))


def unknown_type(name: str, names: list[str]) -> tuple[str, str]:
    """Return what is wrong with the name of a type that does not exist, and what to do about it."""
    close = nearest(name, names)
    return f"there is no type {name}", f"did you mean {close}?" if close else f"the types are {', '.join(names)}"


def _cycles(awaited: Mapping[str, tuple[str, ...]]) -> Iterator[Refused]:
    """Yield each type whose gates lead back to it, unless a cycle through it was named before."""
    named: set[str] = set()
    for start in awaited:
        way = _way_back(start, awaited)
        if way and not named.intersection(way):
            named.update(way)
            loc = ("types", start, "dependsOn", awaited[start].index(way[1]), "group")
            yield Refused(loc, " waits for ".join(way), "remove one of these entries: none starts")


def _way_back(start: str, awaited: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return a way of gates from ``start`` to itself over at least one other type; empty without one."""
    ways: list[tuple[str, ...]] = [(start,)]
    seen = set[str]()
    while ways:
        way = ways.pop()
        for name in awaited.get(way[-1], ()):
            if name == start and len(way) > 1:
                return (*way, start)
            if name not in seen and name != start:
                seen.add(name)
                ways.append((*way, name))
    return ()


Action = Literal["RestartGang", "RestartJob", "RestartMember", "Ignore", "FailExperiment"]

MAX_RULES: Final = 32
MAX_VALUES: Final = 32
MAX_PATTERNS: Final = 8
PARTIAL: Final = ("RestartJob", "RestartMember", "Ignore")
"""Actions after which the rest of the gang continues."""


def _pattern(text: str) -> str:
    try:
        compiled(text)
    except PatternError as error:
        raise Wrong(str(error), "see https://github.com/google/re2/wiki/Syntax") from None
    return text


Pattern = Annotated[str, limited(TEXT, MAX_PATTERN), AfterValidator(_pattern)]
ExitCode = Annotated[int, Field(ge=1, le=255)]


class Rule(Shape):
    """What follows the failures that it matches. A matcher that is absent matches every failure."""

    name: Annotated[str, limited(WORD, 63)] | None = Field(None, description="Name of the rule, for messages.")
    action: Action = Field(description="What follows. See docs/policies.md.")
    on_exit_codes: Annotated[tuple[ExitCode, ...], listed(MAX_VALUES)] = Field(
        (), description="Exit codes of the container that failed first."
    )
    on_reasons: Annotated[tuple[Word, ...], listed(MAX_VALUES)] = Field(
        (), description="Reasons as status.cause.reason has them: Error, OOMKilled, Evicted, PodDeleted ..."
    )
    on_message_patterns: Annotated[tuple[Pattern, ...], listed(MAX_PATTERNS)] = Field(
        (), description="Regular expressions (RE2); one is found in status.cause.message: the last words."
    )
    target_groups: Annotated[tuple[GroupName, ...], listed(MAX_VALUES)] = Field(
        (), description="Types whose members' failures it matches."
    )
    disruption: bool | None = Field(
        None,
        description="true: only disruptions. false: only failures of the program.",
    )
    counted: bool | None = Field(
        None,
        description="Whether a restart counts against restartPolicy.backoffLimit. Absent: failures do, disruptions "
        "do not.",
    )
    limit: Count | None = Field(
        None,
        description="How often the rule may apply; then the experiment fails.",
    )


class FailurePolicy(Shape):
    """Rules for failures."""

    rules: Annotated[tuple[Rule, ...], listed(MAX_RULES)] = Field(
        (), description="Rules in order: the first that matches applies."
    )


def refused_rules(operator: str, policy: FailurePolicy | None, groups: tuple["Group", ...]) -> Iterator[Refused]:
    """Yield rules that name no type, another one's name, or what the operator's framework cannot do."""
    names = [group.name for group in groups]
    seen = set[str]()
    for number, rule in enumerate(policy.rules if policy else ()):
        loc = ("failurePolicy", "rules", number)
        if rule.name in seen:
            yield Refused((*loc, "name"), f"another rule is named {rule.name}", "give each rule a name of its own")
        seen.add(rule.name or "")
        seen.discard("")
        for place, target in enumerate(rule.target_groups):
            if target not in names:
                yield Refused((*loc, "targetGroups", place), *unknown_type(target, names))
        if rule.action in PARTIAL:
            yield from _unfit(operator, rule, (*loc, "action"), names)


def _unfit(operator: str, rule: Rule, loc: tuple[str | int, ...], names: list[str]) -> Iterator[Refused]:
    declared = operators()[operator]
    if declared.collective:
        message = f"the members of operator {operator} are one program, which cannot continue without one of them"
        yield Refused(loc, message, "write RestartGang")
    elif declared.first_group and (not rule.target_groups or names[0] in rule.target_groups):
        yield Refused(loc, declared.first_group, f"name groups other than {names[0]} in targetGroups")


class Backoff(Shape):
    """Pause before a gang restart: initial, then factor times longer each time, up to max."""

    initial: Wait = Field("1s", description="Wait before the first restart; 0s restarts at once.")
    max: Wait = Field("5m", description="Longest wait.")
    factor: Annotated[Number, Field(ge=1, le=10)] = Field(
        2.0, description="Growth of the wait from restart to restart."
    )
    jitter: Annotated[Number, Field(ge=0, le=1)] = Field(
        0.0,
        description="Share by which a wait is shortened at most, at random.",
    )

    @model_validator(mode="after")
    def _growing(self) -> Self:
        if self.initial_seconds > self.max_seconds:
            raise Wrong(f"initial ({self.initial}) is longer than max ({self.max})", "raise max or lower initial")
        return self

    @property
    def initial_seconds(self) -> int:
        """Return the first wait in seconds."""
        return parse_duration(self.initial)

    @property
    def max_seconds(self) -> int:
        """Return the longest wait in seconds."""
        return parse_duration(self.max)


class AvoidNodes(Shape):
    """Nodes that the experiment failed on again and again are left out by its next pods."""

    after_failures: Annotated[int, Field(ge=1, le=100)] = Field(
        2, description="Restarts whose first failure was on a node, after which it is avoided."
    )
    most: Annotated[int, Field(ge=1, le=MAX_NODES)] = Field(
        16, description="Most nodes to avoid: those that failed last."
    )


class RestartPolicy(BackoffLimit):
    """Limit and pace of the restarts of the whole gang after failures."""

    same_failure_limit: Annotated[int, Field(ge=0, le=100)] = Field(
        2,
        description="Equal failures of the gang in a row, without an advance, from which it is SameFailureAgain; 0: "
        "never.",
    )
    same_failure_action: Literal["Alert", "Fail"] = Field(
        "Alert", description="What follows: Alert changes nothing, Fail ends the experiment."
    )
    renew_on_progress: bool = Field(
        False,
        description="Count only restarts since the last progress against backoffLimit: 5 minutes of work and, where "
        "steps are reported, a new best one.",
    )
    avoid_nodes: AvoidNodes | None = Field(
        None,
        description="Avoid nodes that the experiment failed on (by node anti-affinity); {} for the defaults. Absent: "
        "none.",
    )

    backoff: Annotated[Backoff, BeforeValidator(null_is_empty)] = Field(
        Backoff.model_construct(), description="Waits between restarts."
    )
    max_disruptions: Count | None = Field(
        None,
        description="Disruptions in a row, without 5 minutes of work between them, before the experiment fails. "
        "Absent: any number.",
    )

    @model_validator(mode="after")
    def _more_than_one(self) -> Self:
        if self.same_failure_limit == 1:
            raise Wrong("sameFailureLimit 1: one failure is not the same again", "write 2 or more, or 0 for never")
        return self
