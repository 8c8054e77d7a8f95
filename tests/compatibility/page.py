"""docs/compatibility.md, written from the table: ``python -m tests.compatibility.page > docs/compatibility.md``."""

import sys
from collections.abc import Iterator

from tests.compatibility.row import SECTIONS, Row, Section

_INTRODUCTION = """\
# Compatibility

Written by `python -m tests.compatibility.page` from the tables in `tests/compatibility`; do not edit.

What AIchor, JobSet and Kubeflow's JAXJob have, and what Muster does with it. A row that works names the test that shows
it. A row that is refused was refused when this page was tested, with the words that it quotes. The rows of JobSet and
JAXJob are of objects that Muster runs as they are.
"""


def page() -> str:
    """The whole document."""
    return "\n".join([_INTRODUCTION, *(line for section in SECTIONS for line in _lines(section))])


def _lines(section: Section) -> Iterator[str]:
    works = sum(row.works for row in section.rows)
    yield from (
        f"## {section.title}",
        "",
        section.text,
        "",
        f"{works} rows work, {len(section.rows) - works} are refused.",
        "",
        "| field or behaviour | what Muster does | shown by |",
        "|---|---|---|",
    )
    yield from (f"| {_cell(row.field)} | {_cell(row.does)} | {_shown(row)} |" for row in section.rows)
    yield ""


def _shown(row: Row) -> str:
    if not row.works:
        return f"refused: \u201c{_cell(row.refused)}\u201d"
    path, _, name = row.test.partition("::")
    return f"[{_cell(name)}](../{path})"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("[", "\\[").replace("]", "\\]").replace("<", "&lt;")


if __name__ == "__main__":
    sys.stdout.write(page())
