"""The table of docs/watched-runs.md, made from the declarations: ``python -m tests.watched_kinds_page FILE``."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from muster.kinds.registry import WATCHED_KINDS
from muster.state.vocabulary.subject import title

BEGIN: Final = "<!-- Made by `python -m tests.watched_kinds_page`. Do not edit. -->"
END: Final = "<!-- end of the table -->"
ORDER: Final = "A pod that fits several kinds belongs to the first row that is watched and has a place for it."


def with_table(page: str) -> str:
    """Return the page with the table of now."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join((f"{before}{BEGIN}", "", *_rows(), "", ORDER, f"{END}{after}"))


def _rows() -> Iterator[str]:
    yield "| name | run | objects | members, in order | epochs |"
    yield "|---|---|---|---|---|"
    for kind in WATCHED_KINDS.values():
        run = title(kind.subject.word, "NAME")
        yield f"| `{kind.name}` | `{run}` | {kind.about} | {kind.members} | {kind.epochs} |"


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(with_table(path.read_text(encoding="utf-8")), encoding="utf-8")
