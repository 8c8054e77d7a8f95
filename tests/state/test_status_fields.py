"""Every field of the status is written by some code: one that is not shows nothing, and people wait for it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from muster.api import causes, status

STATE = Path(__file__).parents[2] / "muster" / "state"
STRUCTS = {
    name: found
    for module in (status, causes)
    for name, found in vars(module).items()
    if isinstance(found, type) and issubclass(found, msgspec.Struct) and found.__module__ == module.__name__
}


def written() -> Iterator[str]:
    """Names of the fields that calls in the room ``state`` set: by keyword or key, or by position in a struct."""
    for path in STATE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Dict):
                yield from (str(key.value) for key in node.keys if isinstance(key, ast.Constant))
            if not isinstance(node, ast.Call):
                continue
            yield from (keyword.arg for keyword in node.keywords if keyword.arg)
            if isinstance(node.func, ast.Name) and node.func.id in STRUCTS:
                yield from STRUCTS[node.func.id].__struct_fields__[: len(node.args)]


@pytest.mark.parametrize("struct", STRUCTS.values(), ids=STRUCTS.keys())
def test_every_field_of_the_status_is_written(struct: type[msgspec.Struct]) -> None:
    assert sorted(set(struct.__struct_fields__) - set(written())) == []
