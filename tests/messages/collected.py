"""The sentences of a status, its conditions and Events, and of findings, as decisions in many situations have them.

Every scenario is played once without faults, and every situation of ``tests.diagnosis``. Of all of these a sentence
is kept if it has a clause that none before it has: a clause without its numbers, times and names is a template.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any, Final, NamedTuple
from unittest.mock import patch

from muster.state.decide.machine import Decision, decide
from tests.diagnosis.situations import SITUATIONS
from tests.diagnosis.test_situations import played
from tests.scenarios.catalogue import scenarios
from tests.simulation.plans.families import gangs
from tests.simulation.plans.plan import Plan
from tests.simulation.world.world import World

CONTROLLER: Final = "muster.daemon.steps.controller.decide"
PLACES: Final = {
    "status": "Status, conditions and Events",
    "finding": "Findings: which ranks, and why",
    "evidence": "Evidence of findings",
    "next": "Next steps",
}
"""The places of sentences, in the order of the golden file; a clause is kept in the first place that has it."""
NAMES: Final = (
    (re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+Z|\b\d\d:\d\d:\d\dZ"), "TIME"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4,12}){1,4}\b"), "UID"),
    (re.compile(r"(?:\b[a-z]{1,9}-\d+, )?\b[a-z][a-z0-9]*(?:-[a-z0-9]+)*-\d+-[a-z0-9]{5}\b"), "POD"),
    (re.compile(r"\b(?:gang|train-worker|run-f)-?[0-9a-f]+\b"), "POD"),
    (re.compile(r"POD(?:\.[a-z0-9-]+)+:\d+|port \d+ of rank \d+"), "ADDRESS"),
    (re.compile(r"exit code \d+(?: \(SIG[A-Z]+\))?|signal \d+ \(SIG[A-Z]+\)"), "exit code #"),
    (re.compile(r"\b[A-Z]\w*Error: [^;)]*"), "EXCEPTION"),
    (re.compile(r"(?<=resolved: )\w+|(?<=\(was: )\w+"), "REASON"),
    (re.compile(r"\bnode n(?:ode-)?\d+\b"), "NODE"),
    (re.compile(r"\b(?:1 of \d+|restart \d+)(?: of \d+)?\b"), "restart #"),
    (re.compile(r"\d+(?:[-,.:]+ ?\d+)*"), "#"),
)
"""What is not of a template, and what takes its place, one after another."""
PLANS: Final = tuple(
    Plan(name, size, operator=operator)
    for name, scenario in scenarios().items()
    for size, operator in islice(gangs(scenario), 1)
)
"""The plan of each scenario without faults, with its first gang."""
CLAUSES: Final = re.compile(r"; |: |, then ")


class Text(NamedTuple):
    """A sentence, where it is written, and with which reason or cause."""

    place: str
    reason: str
    text: str

    def templates(self) -> Iterator[str]:
        """Yield its clauses without numbers, times and names."""
        text = self.text
        for pattern, name in NAMES:
            text = pattern.sub(name, text)
        yield from filter(None, CLAUSES.split(text))


def of_plan(plan: Plan) -> set[Text]:
    """Return every sentence of the decisions of that plan."""
    found: set[Text] = set()

    def noted(*args: Any, **kwargs: Any) -> Decision:
        decision = decide(*args, **kwargs)
        found.update(_of_decision(decision))
        return decision

    with patch(CONTROLLER, noted):
        world = World(plan)
        world.play()
    assert not world.violations, f"{plan} does not end as it should: {world.violations}"
    return {each for each in found if each.text}


def of_situations() -> set[Text]:
    """Return every sentence of the findings of all situations."""
    found: set[Text] = set()
    for situation in SITUATIONS:
        for finding in played(situation).findings():
            name = str(finding.cause)
            found |= {Text("finding", name, finding.sentence), Text("evidence", name, finding.evidence)}
            found.add(Text("next", name, finding.next_step))
    return {each for each in found if each.text}


def everything(known: Mapping[str, set[Text]]) -> set[Text]:
    """Return every sentence of all plans and situations. Plans whose sentences are known are not played again."""
    return of_situations().union(*(known.get(plan.scenario) or of_plan(plan) for plan in PLANS))


def templates(file: str) -> set[str]:
    """Return the templates of a golden file."""
    lines = (line.partition(" | ") for line in file.splitlines())
    return {each for _, bar, text in lines if bar for each in Text("", "", text).templates()}


def golden(every: Iterable[Text]) -> str:
    """Return the text of the golden file: by place and reason, the sentences with the fewest clauses first."""
    places, seen = list(PLACES), set[str]()
    kept: dict[str, list[str]] = {place: [] for place in places}
    for said, templates in sorted(((each, set(each.templates())) for each in every), key=_simplest):
        if not templates <= seen:
            seen |= templates
            kept[said.place].append(f"{said.reason} | {said.text}\n")
    return "\n".join(f"## {PLACES[place]}\n\n{''.join(sorted(kept[place]))}" for place in places)


def _simplest(row: tuple[Text, set[str]]) -> tuple[int, int, int, Text]:
    said, templates = row
    return list(PLACES).index(said.place), len(templates), len(said.text), said


def _of_decision(decision: Decision) -> Iterator[Text]:
    record = decision.record
    yield Text("status", record.reason, record.message)
    for condition in record.conditions:
        yield Text("status", condition.reason, condition.message)
    for line in decision.story:
        if line.reason != "Stuck":  # it repeats the condition
            yield Text("status", line.reason, line.message)
    for epoch in record.evidence:
        yield Text("status", epoch.reason, epoch.how)
        for finding in epoch.findings:
            yield Text("finding", finding.cause, finding.sentence)
            yield Text("evidence", finding.cause, finding.evidence)
