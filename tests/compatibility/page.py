"""The report of compatibility, written from the tables: ``python -m tests.compatibility.page`` prints it.

``--all`` prints what Muster does with each field instead, and the test that shows it.
"""

import sys
from collections.abc import Iterator

from tests.compatibility.row import JOBSET, SECTIONS, Row, Section

_INTRODUCTION = """\
# Compatibility

Written by `python -m tests.compatibility.page` from the tables in `tests/compatibility`; do not edit.
`python -m tests.compatibility.page --all` prints what Muster does with each field, and the test that shows it.

What works of AIchor, JobSet and Kubeflow's JAXJob, and what is refused, with the words of the refusal. The fields of
JobSet and JAXJob are those of objects that Muster runs as they are.
"""
_MORE = ", as [JobSet objects](../../docs/operators/jobset-objects.md) describes"


def page() -> str:
    return "\n".join([_INTRODUCTION, *(line for section in SECTIONS for line in _lines(section))])


def report() -> str:
    """Return every row with what Muster does, and what shows it."""
    rows = ((section.title, row) for section in SECTIONS for row in section.rows)
    return "".join(f"{title}: {row.field}: {row.does} [{row.test or row.refused}]\n" for title, row in rows)


def _lines(section: Section) -> Iterator[str]:
    works = [row for row in section.rows if row.works]
    refused = [row for row in section.rows if not row.works]
    yield from (f"## {section.title}", "", section.text, "")
    yield from (f"{len(works)} work{_MORE if section is JOBSET else ''}:", "")
    if section is JOBSET:
        yield from ("; ".join(_cell(row.field) for row in works), "")
    else:
        yield from ("| field or behaviour | what Muster does |", "|---|---|")
        yield from (f"| {_cell(row.field)} | {_cell(row.does)} |" for row in works)
        yield ""
    yield from (f"{len(refused)} are refused:", "", "| field or behaviour | refusal |", "|---|---|")
    yield from (_refusal(row) for row in refused)
    yield ""


def _refusal(row: Row) -> str:
    return f"| {_cell(row.field)} | \u201c{_cell(row.refused)}\u201d |"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("[", "\\[").replace("]", "\\]").replace("<", "&lt;")


if __name__ == "__main__":
    sys.stdout.write(report() if "--all" in sys.argv[1:] else page())
