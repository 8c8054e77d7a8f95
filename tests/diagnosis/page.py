"""docs/diagnosis.md, written from the causes and the table: ``python -m tests.diagnosis.page > docs/diagnosis.md``."""

import sys
from collections.abc import Iterator

from muster.state.facts.causes.table import CAUSES
from muster.state.facts.diagnosis.finding import sentence
from tests.diagnosis.gang import Gang
from tests.diagnosis.situations import SITUATIONS

_INTRODUCTION = """\
# Diagnosis

Written by `python -m tests.diagnosis.page` from the code and from the table in `tests/diagnosis`; do not edit.

Every member that is missing, has failed or is silent has one cause of a closed list, with what shows it and what to do
next. Members that share a cause, and the node, image or reason of it, are one finding. The findings are on the page of
an experiment, in its JSON document (`findings`), and in `muster explain NAME` (`-o json` too).

## Causes

The most decisive come first, as in a sentence; those at the end are steps of a normal start, or follow from others.
The metric `muster_experiment_ranks_missing_by_cause` counts the finer causes under a wider one, in parentheses.
Where another controller carries out the run, some next steps are others: they stand behind "Watched run".

| cause | what it means | shown by | next step |
|---|---|---|---|
"""
_TABLE = """
## Situations

How each was induced, and what was said, by the daemon's own code on objects and answers as API server and probes give
them. The gangs have four members; the submitter of Ray is a fifth.

| situation | framework | cause | ranks | within | what was said | also shown by |
|---|---|---|---|---|---|---|
"""


def page() -> str:
    """The whole document."""
    return _INTRODUCTION + "".join(_causes()) + _TABLE + "".join(_situations())


def _causes() -> Iterator[str]:
    for cause in CAUSES:
        name = f"`{cause}`" + (f" (`{cause.counted_as}`)" if cause.counted_as else "")
        other = f" **Watched run:** {cause.watched}" if cause.watched else ""
        cells = (cause.meaning, cause.shown_by, cause.next_step + other)
        yield f"| {name} | {' | '.join(map(_cell, cells))} |\n"


def _situations() -> Iterator[str]:
    for each in SITUATIONS:
        gang = Gang(each.operator)
        each.induce(gang)
        said = _cell(sentence(gang.findings()))
        within = f"{each.within:g} s" if each.within else "at once"
        also = f"`{each.also}`" if each.also else ""
        ranks = ", ".join(map(str, each.ranks))
        yield f"| {each.name} | {each.operator} | `{each.cause}` | {ranks} | {within} | {said} | {also} |\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    sys.stdout.write(page())
