"""The reader accepts mappings, lists and plain values, and stops at anything else before it is expanded."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from muster.api.manifest.yaml import reader as reader
from muster.api.manifest.yaml.reader import MAX_BYTES, MAX_DEPTH, MAX_NODES, Mapping, Node, Scalar, plain, read_yaml
from muster.api.manifest.yaml.scalars import resolve


class Counter:
    events = 0


@pytest.fixture(params=["libyaml", "python"])
def counter(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Counter:
    """Both scanners of PyYAML, each counting its events: the rules hold with libyaml and without."""
    if request.param == "libyaml" and not yaml.__with_libyaml__:
        pytest.fail("PyYAML has no libyaml here")
    base: Any = yaml.CSafeLoader if request.param == "libyaml" else yaml.SafeLoader
    counts = Counter()

    class Counting(base):  # type: ignore[misc]
        def get_event(self) -> Any:
            counts.events += 1
            return super().get_event()

    monkeypatch.setattr(reader, "_LOADER", Counting)
    return counts


def parsed(document: str) -> Node:
    node, problems = read_yaml(document, filename="m")
    assert problems == []
    assert node is not None
    return node


def problem_of(document: str) -> str:
    (problem,) = read_yaml(document, filename="m.yaml")[1]
    message = str(problem)
    assert message.isprintable()
    assert len(message) < 500
    return message


def merge_bomb(levels: int) -> str:
    rows = [f"a{i}: &a{i}\n  <<: [*a{i - 1}, *a{i - 1}]\n" for i in range(1, levels)]
    return "a0: &a0 {x: 1}\n" + "".join(rows)


ALIAS_BOMB = "a: &a [l, l, l]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join(['*' + chr(97 + i)] * 9)}]\n" for i in range(9)
)

HOSTILE = {
    "merge-key bomb": (merge_bomb(26), "1:5: a0: a YAML anchor (&a0)", 8),
    "alias bomb": (ALIAS_BOMB, "1:4: a: a YAML anchor (&a)", 8),
    "alias": ("a: 1\nb: *a\n", "2:4: b: a YAML alias (*a)", 12),
    "merge key": ("a:\n  <<: {b: 1}\n", "2:3: a: a YAML merge key (<<)", 12),
    "flow nesting": ("[" * 2_000, "nested deeper than 32 levels", MAX_DEPTH + 8),
    "flow nesting to the brim": ("[" * MAX_BYTES, "nested deeper than 32 levels", MAX_DEPTH + 8),
    "flow mappings": ("{a: " * 50_000, "nested deeper than 32 levels", 2 * MAX_DEPTH + 8),
    "list nesting": ("- " * 100_000, "nested deeper than 32 levels", MAX_DEPTH + 8),
    "mapping nesting": ("".join(" " * i + "a:\n" for i in range(700)), "nested deeper", 2 * MAX_DEPTH + 8),
    "too many values": ("- 1\n" * 60_000, f"more than {MAX_NODES} values", MAX_NODES + 8),
    "too large": ("#" * (MAX_BYTES + 1), "the file is larger than 256 KiB", 0),
    "too large in bytes": ("ü" * (MAX_BYTES // 2 + 1), "the file is larger than 256 KiB", 0),
    "huge int": ("a: " + "9" * 5_000, "1:4: a: a number of 5000 characters", 12),
    "beyond 64 bits": ("a: 9223372036854775808", "1:4: a: a number beyond 64 bits", 12),
    "huge float": ("a: 1e999", "1:4: a: a number too large to hold", 12),
    "NaN": ("a: .nan", "1:4: a: .nan is not a number Muster accepts", 12),
    "infinity": ("a: [-.inf]", "1:5: a[0]: -.inf is not a number Muster accepts", 12),
    "duplicate key": ("a: 1\nb: 2\na: 3\n", "3:1: a: 'a' is given twice, first in line 1", 12),
    "NUL": ("a: \0b", "1:4: the invisible character U+0000", 0),
    "escape sequence": ("a: b\n\x1b[31m", "2:1: the invisible character U+001B", 0),
    "lone surrogate": ("a: \ud800", "1:4: the invisible character U+D800", 0),
    "no UTF-8": (b"a: \xff".decode("utf-8", "surrogateescape"), "1:4: a byte that is not UTF-8 (0xFF)", 0),
    "line separator": ("a: b\u2028c: d", "1:5: the invisible character U+2028", 0),
    "direction override": ("a: \u202eb", "1:4: the invisible character U+202E", 0),
    "escaped NUL": ('a: "\\0"', "1:4: a: an escape for the invisible character U+0000", 12),
    "escaped ESC": ('- "\\e[0m"', "1:3: [0]: an escape for the invisible character U+001B", 12),
    "tag": ("a: !!python/object/apply:os.system [id]", "1:4: a: a YAML tag", 12),
    "own tag": ("a: !secret b", "1:4: a: a YAML tag that is not one of the core types", 12),
    "tag of another type": ("a: !!int x", "1:4: a: the tag !!int does not fit this value", 12),
    "directive": ("%YAML 1.1\n---\na: 1\n", "a YAML directive", 4),
    "two documents": ("a: 1\n---\nb: 2\n", "2:1: a second document begins", 12),
    "number as key": ("a: 1\n7: 2\n", "2:1: a key is text, not 7, put it in quotes", 12),
    "truth value as key": ("true: 1\n", "1:1: a key is text, not true", 12),
    "nothing as key": ("~: 1\n", "1:1: a key is text, not nothing", 12),
    "list as key": ("[a, b]: 1\n", "1:1: a key is text, not a list or a mapping", 12),
    "mapping as key": ("? {a: b}\n: 1\n", "1:3: a key is text, not a list or a mapping", 12),
    "long key": ("k" * 600 + ": 1\n", "1:1: a key longer than 512 characters", 12),
    "tab": ("a:\n\tb: 1\n", "2:1: a: a tab in the indentation, YAML indents with spaces only", 12),
    "empty": ("", "1:1: the file is empty", 4),
    "comments only": ("# nothing\n" * 20, "1:1: the file is empty", 4),
    "not closed": ('a: "b', "not YAML: ", 12),
    "quote not closed": ('a: "b\nc:\n  - 1\nd: "e"\n', "close the quote that line 1 opens, or check", 12),
    "wrong indentation": ("a: 1\n  b: 2\n", "2:4: not YAML: mapping values are not allowed", 12),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_one_error_before_expansion(name: str, counter: Counter) -> None:
    document, says, most_events = HOSTILE[name]
    assert says in problem_of(document)
    assert counter.events <= most_events


def test_scalars_follow_yaml_1_2() -> None:
    document = "{a: yes, b: no, c: on, d: 010, e: 0x10, f: 1_000, g: 190:20:30, h: 2024-01-01, i: 0.2.3, j: '1', k: =}"
    tree = plain(parsed(document))
    assert all(isinstance(value, str) for value in tree.values())
    tree = plain(parsed("[true, False, null, ~, 0, -7, +3, 1.5, 2e3, .5, 4.]"))
    assert tree == [True, False, None, None, 0, -7, 3, 1.5, 2000.0, 0.5, 4.0]
    assert plain(parsed("[!!str 1, !!int 1, !!float 2, !!bool true]")) == ["1", 1, 2, True]


def test_every_key_and_value_has_its_line_and_column(counter: Counter) -> None:
    root = parsed("\ufeffa: 1\nb:\n  - x\n  - {c: 'd e'}\n")
    assert isinstance(root, Mapping)
    assert (root.entries["a"].line, root.entries["a"].column) == (1, 1)
    listed = root.entries["b"].node
    assert isinstance(listed, reader.Sequence)
    inner = listed.items[1]
    assert isinstance(inner, Mapping)
    leaf = inner.entries["c"].node
    assert isinstance(leaf, Scalar)
    assert (leaf.line, leaf.column, leaf.value, leaf.raw) == (4, 9, "d e", "d e")


def test_tabs_inside_a_block_of_text_are_text(counter: Counter) -> None:
    assert plain(parsed("a: |\n  all:\n  \tmake\n")) == {"a": "all:\n\tmake\n"}


def test_all_recoverable_problems_are_reported_together() -> None:
    _, problems = read_yaml("a: 1\na: .nan\n2: 3\n", filename="m")
    assert [problem.line for problem in problems] == [2, 2, 3]


@given(st.text(max_size=200) | st.text("ab:- \n\t[]{}&*!<>|'\"%@`#?,0123456789.", max_size=80))
def test_any_text_has_a_tree_or_problems_with_a_place(document: str) -> None:
    node, problems = read_yaml(document, filename="m")
    assert node is not None or problems
    assert all(problem.line >= 1 and problem.column >= 1 for problem in problems)
    if node is not None:
        plain(node)


@given(st.text(max_size=50))
def test_any_scalar_has_a_value_or_is_a_value_error(word: str) -> None:
    try:
        value = resolve(word)
    except ValueError:
        return
    assert value is None or isinstance(value, str | bool | int | float)
