"""Plain data as a tree without lines, for what no file holds: a value of the command line, a converted manifest."""

from typing import Any

from muster.api.manifest.yaml.reader import Entry, Mapping, Node, Scalar, Sequence


def tree_of(value: Any, line: int = 0, column: int = 0) -> Node:
    """The tree of plain data, all of it at one place; line 0 is no place."""
    if isinstance(value, dict):
        entries = {key: Entry(line, column, tree_of(inner, line, column)) for key, inner in value.items()}
        return Mapping(line, column, entries)
    if isinstance(value, list | tuple):
        return Sequence(line, column, [tree_of(inner, line, column) for inner in value])
    return Scalar(line, column, value, "" if value is None else str(value))
