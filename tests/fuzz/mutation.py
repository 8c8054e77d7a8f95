"""Mutates valid objects: their tree, and the bytes they are encoded as."""

import json
import marshal
from random import Random
from typing import Any

from tests.fuzz.values import hostile, like

Place = tuple[Any, Any]
"""A container and the key or index in it."""


def places(tree: Any) -> list[Place]:
    """Every place in the tree that holds a value."""
    found: list[Place] = []
    todo = [tree]
    for node in todo:
        if isinstance(node, dict):
            found += [(node, key) for key in node]
            todo += [value for value in node.values() if isinstance(value, dict | list)]
        elif isinstance(node, list):
            found += [(node, index) for index in range(len(node))]
            todo += [value for value in node if isinstance(value, dict | list)]
    return found


def mutate(rng: Random, tree: Any) -> Any:
    """A copy of the tree with a few changes."""
    mutated = marshal.loads(marshal.dumps(tree))
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        found = places(mutated)
        if not found:
            return hostile(rng)
        _change(rng, *rng.choice(found))
    return mutated


def _change(rng: Random, node: Any, key: Any) -> None:
    value = node[key]
    match rng.randrange(10):
        case 0 if isinstance(node, dict):
            del node[key]
        case 1 if isinstance(node, dict):
            node[rng.choice(("", "x", "status", "\x00", "a" * 300, key.upper()))] = node.pop(key)
        case 2 if isinstance(value, list) and value:
            node[key] = value * rng.choice((2, 2, 2, 3, 3, 100))
        case 3 if isinstance(value, list) and value:
            rng.shuffle(value)
        case 4 | 5:
            node[key] = hostile(rng)
        case _:
            node[key] = like(rng, value)


def to_bytes(rng: Random, tree: Any) -> bytes:
    """JSON as any server might write it: escaped or not, with lone surrogates and huge numbers."""
    text = json.dumps(tree, ensure_ascii=rng.random() < 0.5, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass" if rng.random() < 0.2 else "replace")


def damage(rng: Random, data: bytes) -> bytes:
    """The bytes, truncated, flipped, repeated or with insertions."""
    if not data:
        return b"\x00"
    at = rng.randrange(len(data))
    match rng.randrange(9):
        case 0:
            return data[:at]
        case 7:
            return data[: data.find(b":", at) + 1] + b"[" * rng.choice((900, 3_000, 100_000))
        case 1:
            return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
        case 2:
            return data[:at] + rng.randbytes(rng.choice((1, 4, 50))) + data[at:]
        case 3:
            return data[:at] + data[max(0, at - rng.randrange(80)) :]
        case 4:
            return b"\xef\xbb\xbf" + data
        case 5:
            return data.replace(b":", b": NaN,", 1)
        case 6:
            return data.replace(b"0", b"1" * 5_000, 1)
        case _:
            return data[:at] + b'"\\ud800"' + data[at:]
