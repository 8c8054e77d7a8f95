"""The list of docs/watched-runs.md, made from the declarations: ``python -m tests.watched_kinds_page FILE``."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from muster.kinds.registry.watched_kinds import WATCHED_KINDS
from muster.state.vocabulary.subject import title

BEGIN: Final = "<!-- Made by `python -m tests.watched_kinds_page`. Do not edit. -->"
END: Final = "<!-- end of the table -->"


def with_table(page: str) -> str:
    """Return the page with the list of now."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return "\n".join((f"{before}{BEGIN}", "", *_rows(), "", *_order(), f"{END}{after}"))


def _rows() -> Iterator[str]:
    yield "Each with a name of a run, its objects, the order of its members, and its epochs where there may be several:"
    yield ""
    for kind in reversed(WATCHED_KINDS.values()):
        run = title(kind.subject.word, "NAME")
        epochs = "" if kind.epochs == "one" else f"; epochs: {kind.epochs}"
        yield f"- `{kind.name}`: `{run}`, {kind.about}; {kind.members}{epochs}"


def _order() -> Iterator[str]:
    named = ", ".join(f"`{name}`" for name in WATCHED_KINDS)
    yield "A pod that fits several kinds belongs to the first that is watched and has a place for it, in the order"
    yield f"{named}."


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(with_table(path.read_text(encoding="utf-8")), encoding="utf-8")
