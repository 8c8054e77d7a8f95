"""Sentences are made in ``state.summary``, and nothing reads one of them back.

``BELOW`` and ``READ`` list what is left, with its reason. Both only shrink: a row that says more than there is fails.
"""

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

MUSTER: Final = Path(__file__).parents[2] / "muster"
STATE: Final = MUSTER / "state"

CAUSES = "rows of the table of causes: a new cause is one row, with its words; members with equal words are one finding"
EVIDENCE = "evidence of findings: quotes others, and the names of members"
ENDS = "how an epoch or a run ended: status.message and status.cause.message, which nothing reads"
TABLE = "a table for people and documents: it is in no record"
ERROR = "an error, or a key of a format"
LOG = "why an action is taken, for the log and the audit"
PLACES = "where ranks are, as programs report it"

BELOW: Final[dict[str, tuple[int, str]]] = {
    "facts/admission.py": (17, "Kueue's words, and what the queue waits for"),
    "facts/causes/at_work.py": (62, CAUSES),
    "facts/causes/cannot_start.py": (36, CAUSES),
    "facts/causes/cause.py": (4, CAUSES),
    "facts/causes/has_ended.py": (40, CAUSES),
    "facts/causes/on_its_way.py": (42, CAUSES),
    "facts/diagnosis/classifier.py": (36, EVIDENCE),
    "facts/diagnosis/diagnose.py": (22, CAUSES),
    "facts/diagnosis/hangs.py": (95, PLACES),
    "facts/failure_cause.py": (4, ENDS),
    "facts/gates.py": (1, "what a group waits for"),
    "facts/incidents/grouping.py": (8, TABLE),
    "facts/incidents/belief.py": (6, TABLE),
    "facts/incidents/readings.py": (5, TABLE),
    "facts/incidents/signs.py": (1, TABLE),
    "facts/incidents/subjects.py": (31, TABLE),
    "facts/obstacle.py": (3, TABLE),
    "facts/sentences.py": (69, EVIDENCE),
    "policies/barrier.py": (8, LOG),
    "policies/deadline.py": (7, ENDS),
    "policies/request.py": (3, EVIDENCE),
    "policies/ending.py": (9, ENDS),
    "policies/failures/known.py": (3, ENDS),
    "policies/failures/culprit.py": (2, ENDS),
    "policies/failures/recurrence.py": (4, ENDS),
    "policies/queueing.py": (12, ENDS),
    "policies/restart.py": (1, ENDS),
    "policies/watched/following.py": (17, ENDS),
    "view/recorder/collectives.py": (1, PLACES),
    "view/recorder/ras.py": (2, ERROR),
    "view/recorder/arrivals.py": (2, ERROR),
    "view/roll.py": (2, TABLE),
    "vocabulary/group.py": (1, TABLE),
    "vocabulary/plan.py": (1, "the address of a coordinator that has no name"),
    "vocabulary/record.py": (1, ERROR),
    "vocabulary/rules.py": (7, TABLE),
    "vocabulary/transitions.py": (23, "the labels of the diagram of phases"),
}
"""By module below ``summary``: how many sentences it has."""

OTHERS = "what others say: the kubelet, the scheduler, the API server, Kueue, or a program"
TEMPLATE = "fills names into a template"
CHANGED = "whether a sentence has changed, so that it is written"

READ: Final[dict[str, tuple[int, str]]] = {
    "daemon/one_run/ports.py": (1, OTHERS),
    "state/facts/causes/on_its_way.py": (1, OTHERS),
    "state/facts/diagnosis/diagnose.py": (2, TEMPLATE),
    "state/facts/incidents/readings.py": (19, OTHERS),
    "state/facts/failure_cause.py": (1, TEMPLATE),
    "state/policies/failures/culprit.py": (3, OTHERS),
    "state/policies/failures/known.py": (1, OTHERS),
    "state/policies/failures/recurrence.py": (1, OTHERS),
    "state/summary/status.py": (1, CHANGED),
    "daemon/web/certificate.py": (3, OTHERS),
    "daemon/web/page/html.py": (1, "times in a sentence become elements of the page"),
    "client/explaining/bundle.py": (2, "values of secrets are removed from every text"),
    "client/explaining/lines.py": (1, OTHERS),
    "client/logs/last_lines.py": (1, OTHERS),
    "client/logs/pod_log.py": (1, OTHERS),
    "client/snapshot.py": (3, OTHERS),
    "client/stacks/reading.py": (6, OTHERS),
    "client/stacks/processes.py": (1, OTHERS),
    "client/waiting.py": (2, "an argument of the command"),
    "cli/commands/files/convert.py": (1, "a prefix of the problems of one kind"),
    "cli/commands/get.py": (1, OTHERS),
    "cli/options.py": (2, "the text of a file"),
    "cli/processes/evidence.py": (1, OTHERS),
    "cli/terminal/colours.py": (2, OTHERS),
    "metrics/exposition.py": (2, "characters that a format escapes"),
    "state/vocabulary/node_faults.py": (2, OTHERS),
}
"""By module: how often it looks into a text that may be a sentence."""

TEXTS: Final = frozenset(
    {"message", "sentence", "what", "evidence", "how", "waits_for", "waited_for", "stuck_by", "text", "last_line"}
    | {"detail", "partial", "said", "words", "why"}
)
"""Names of what may hold a sentence."""
CUTS: Final = frozenset(
    {"startswith", "endswith", "removeprefix", "removesuffix", "partition", "rpartition", "split", "splitlines"}
    | {"find", "index", "replace", "count"}
)
SEARCHES: Final = frozenset({"search", "match", "fullmatch", "findall", "finditer", "sub"})


def modules(*rooms: str) -> Iterator[tuple[str, ast.Module]]:
    for room in rooms:
        for path in sorted((MUSTER / room).rglob("*.py")):
            yield path.relative_to(MUSTER).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def sentences(tree: ast.Module) -> int:
    """How many texts with a space there are, but for docstrings, patterns and what is raised."""
    left: set[int] = set()
    found = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            left.add(id(node.value))
        elif isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and _is_pattern(node)):
            left.update(id(each) for each in ast.walk(node))
        elif isinstance(node, ast.JoinedStr) and id(node) not in left:
            literals = [each for each in node.values if isinstance(each, ast.Constant)]
            left.update(map(id, literals))
            found += any(" " in str(each.value) for each in literals)
    constants = (each for each in ast.walk(tree) if isinstance(each, ast.Constant) and id(each) not in left)
    return found + sum(isinstance(each.value, str) and " " in each.value for each in constants)


def _is_pattern(node: ast.Call) -> bool:
    function = node.func
    return isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "re"


def reads(tree: ast.Module) -> int:
    """How often a text that may be a sentence is cut, searched, or compared."""
    return sum(map(_reads, ast.walk(tree)))


def _reads(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        cuts = node.func.attr in CUTS and _holds(node.func.value)
        return cuts or (node.func.attr in SEARCHES and any(map(_holds, node.args)))
    if not isinstance(node, ast.Compare):
        return False
    pairs = list(zip(node.ops, node.comparators, strict=True))
    inside = any(isinstance(op, ast.In | ast.NotIn) and _is_text(right) for op, right in pairs)
    same = any(isinstance(op, ast.Eq | ast.NotEq) and _is_text(right) and _is_text(node.left) for op, right in pairs)
    return inside or same


def _holds(node: ast.expr) -> bool:
    if isinstance(node, ast.Call):
        of = isinstance(node.func, ast.Attribute) and _is_text(node.func.value)
        return of or any(map(_is_text, node.args))
    return _is_text(node)


def _is_text(node: ast.expr) -> bool:
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return name in TEXTS


def test_no_module_below_summary_makes_a_sentence_but_those_that_are_listed() -> None:
    counts = {path.removeprefix("state/"): sentences(tree) for path, tree in modules("state")}
    below = {path: count for path, count in counts.items() if count and not path.startswith("summary/")}
    assert below == {path: count for path, (count, _) in BELOW.items()}


def test_no_module_looks_into_a_sentence_but_those_that_are_listed() -> None:
    rooms = "state", "daemon", "client", "cli", "rollcall", "metrics"
    counts = Counter({path: reads(tree) for path, tree in modules(*rooms)})
    assert +counts == {path: count for path, (count, _) in READ.items()}


@pytest.mark.parametrize(
    "line",
    [
        "stuck.message.removeprefix(opening)",
        "'no rank' in status.message",
        "re.search(pattern, cause.evidence)",
        "said.partition(': ')[2]",
        "cause.evidence == end.message",
        "_STAMP.finditer(text.strip())",
    ],
)
def test_a_look_into_a_sentence_is_seen(line: str) -> None:
    assert reads(ast.parse(line)) == 1


@pytest.mark.parametrize("line", ["status.reason == 'Hung'", "'jax' in names", "uid.removeprefix('pod-')"])
def test_a_look_into_a_word_is_none(line: str) -> None:
    assert reads(ast.parse(line)) == 0


def test_a_sentence_is_counted_and_a_docstring_or_a_pattern_is_not() -> None:
    source = (
        '"""A module."""\nX = re.compile("a b")\nraise ValueError("no such thing")\nY = f"rank {X} failed"\nZ = "on it"'
    )
    assert sentences(ast.parse(source)) == 2
