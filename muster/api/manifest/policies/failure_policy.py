"""Rules for failures (``spec.failurePolicy``): the first that matches applies.

Names and semantics are JobSet's v1alpha2 where it has them (``failurePolicy.rules``); exit codes, groups of single
members, limits per rule and Ignore are Muster's. Failures that no rule matches are left to the rules of the operator:
a gang restart.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Final, Literal

from pydantic import AfterValidator, Field

from muster.api.manifest.operators import operators
from muster.api.manifest.policies.gates import unknown_type
from muster.api.manifest.problems import Refused
from muster.api.values.fields import TEXT, WORD, Count, GroupName, Shape, Word, Wrong, limited, listed
from muster.api.values.patterns import MAX_PATTERN, PatternError, compiled

if TYPE_CHECKING:
    from muster.api.manifest.groups import Group

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
