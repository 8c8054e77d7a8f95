"""Reads YAML from untrusted authors.

A manifest needs mappings, lists and plain values. The other features of YAML are refused: with aliases and merge keys,
700 bytes cost 22 seconds; duplicate keys drop a setting silently; tags build objects. The reader takes the parser's
events one at a time and stops at the first one that is not allowed, before anything is expanded or nested deeper. The
tree has the line and column of every key and value.
"""

import re
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from muster.api.manifest.problems import Problem, path, quoted
from muster.api.manifest.yaml.scalars import ScalarError, Value, resolve, resolve_tagged

MAX_BYTES: Final = 256 * 1024
MAX_DEPTH: Final = 32
MAX_NODES: Final = 3_000
MAX_KEY: Final = 512
"""Longest key, in characters."""

# libyaml's scanner is ten times as fast as PyYAML's own; the rules are the same with both.
_LOADER: Any = yaml.CSafeLoader if yaml.__with_libyaml__ else yaml.SafeLoader

# Control characters, other line ends, direction marks, surrogates: invisible in an editor, unsafe in a terminal.
_UNPRINTABLE: Final = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\ufffe\uffff\ud800-\udfff]"
)
_OPENS: Final = re.compile(r"""[^"'#]*[:-][ ]+(["'])""")
"""A line whose value begins with a quote."""


@dataclass(slots=True)
class Scalar:
    """A value as resolved, and as written."""

    line: int
    column: int
    value: Value
    raw: str


@dataclass(slots=True)
class Entry:
    """One pair of a mapping: line and column of the key, and the value."""

    line: int
    column: int
    node: "Node"


@dataclass(slots=True)
class Mapping:
    """Pairs in the order they were written; ``node`` of an entry is the value."""

    line: int
    column: int
    entries: dict[str, Entry] = field(default_factory=dict)


@dataclass(slots=True)
class Sequence:
    """A list."""

    line: int
    column: int
    items: list["Node"] = field(default_factory=list)


Node = Scalar | Mapping | Sequence


def read_yaml(text: str, *, filename: str) -> tuple[Node | None, list[Problem]]:
    """Return the document's tree, None if reading had to stop, and all problems on the way."""
    text = text.removeprefix("\ufeff")
    reader = _Reader(filename)
    try:
        reader.check_text(text)
        reader.read(text)
    except _Stop as stop:
        return None, [*reader.problems, *stop.args]
    return reader.root, reader.problems


def plain(node: Node) -> Any:
    """Return the tree as dicts, lists and values."""
    if isinstance(node, Mapping):
        return {key: plain(entry.node) for key, entry in node.entries.items()}
    if isinstance(node, Sequence):
        return [plain(item) for item in node.items]
    return node.value


def at(node: Node | None, *loc: str | int) -> Node | None:
    """Return the value at a path; None if there is none."""
    for part in loc:
        if isinstance(node, Mapping) and isinstance(part, str):
            node = node.entries[part].node if part in node.entries else None
        elif isinstance(node, Sequence) and isinstance(part, int) and part < len(node.items):
            node = node.items[part]
        else:
            return None
    return node


def scalar_at(node: Node | None, *loc: str | int) -> Value:
    """Return the plain value at a path; None if there is none, or it is a mapping or a list."""
    found = at(node, *loc)
    return found.value if isinstance(found, Scalar) else None


def tree_of(value: Any) -> Node:
    """Return plain data as a tree at line 0, which is no place: a value of the command line, a converted manifest."""
    if isinstance(value, dict):
        return Mapping(0, 0, {key: Entry(0, 0, tree_of(inner)) for key, inner in value.items()})
    if isinstance(value, list | tuple):
        return Sequence(0, 0, [tree_of(inner) for inner in value])
    return Scalar(0, 0, value, "" if value is None else str(value))


class _Stop(Exception):
    """Carries the problem that ends reading, as its argument."""


@dataclass(slots=True)
class _Frame:
    node: Mapping | Sequence
    key: str | None = None
    key_line: int = 0
    key_column: int = 0
    wants_value: bool = False


class _Reader:
    """One pass over the events of one document."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.root: Node | None = None
        self.problems: list[Problem] = []
        self._stack: list[_Frame] = []
        self.nodes = 0

    def stop(self, line: int, column: int, message: str, hint: str) -> _Stop:
        """Return the exception that ends reading here."""
        return _Stop(Problem(self.filename, line, column, self._path(), message, hint))

    def check_text(self, text: str) -> None:
        """Check size and characters before anything is parsed."""
        if len(text) > MAX_BYTES or len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES:
            hint = "a manifest is a few KiB; is this the right file?"
            raise self.stop(1, 1, f"the file is larger than {MAX_BYTES // 1024} KiB", hint)
        found = _UNPRINTABLE.search(text)
        if found:
            before = text[: found.start()]
            line, column = before.count("\n") + 1, found.start() - before.rfind("\n")
            code = ord(found[0])
            if 0xDC80 <= code <= 0xDCFF:  # how the error handler surrogateescape keeps a byte
                message = f"a byte that is not UTF-8 (0x{code - 0xDC00:02X})"
                raise self.stop(line, column, message, "save it as UTF-8 text")
            raise self.stop(line, column, f"the invisible character U+{code:04X}", "remove it")

    def read(self, text: str) -> None:
        """Read all events. An error of the parser becomes one problem."""
        loader = _LOADER(text)
        try:
            while True:
                event = loader.get_event()
                if event is None or isinstance(event, yaml.StreamEndEvent):
                    break
                self._take(event)
        except yaml.MarkedYAMLError as error:
            raise self._unreadable(error, text) from None
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            raise self.stop(1, 1, f"not YAML: {quoted(str(error))}", "save it as plain UTF-8 text") from None
        finally:
            loader.dispose()
        if self.root is None:
            hint = "write a manifest with kind, spec.operator, spec.image, spec.command and spec.types"
            raise self.stop(1, 1, "the file is empty", hint)

    def _take(self, event: Any) -> None:
        kind = type(event)
        if kind is yaml.StreamStartEvent or kind is yaml.DocumentEndEvent:
            return
        mark = event.start_mark
        line, column = mark.line + 1, mark.column + 1
        if kind is yaml.DocumentStartEvent:
            if self.root is not None:
                raise self.stop(line, column, "a second document begins", "keep one manifest per file")
            if event.version or event.tags:
                raise self.stop(line, column, "a YAML directive", "remove the line that begins with %")
            return
        if kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._stack.pop()
            return
        if kind is yaml.AliasEvent:
            raise self.stop(line, column, f"a YAML alias (*{event.anchor[:40]})", "write the value out")
        if event.anchor:
            hint = "remove it, and write each value out"
            raise self.stop(line, column, f"a YAML anchor (&{event.anchor[:40]})", hint)
        self.nodes += 1
        if self.nodes > MAX_NODES:
            hint = "a manifest has a few dozen; is this the right file?"
            raise self.stop(line, column, f"more than {MAX_NODES} values", hint)
        if kind is yaml.ScalarEvent:
            self._scalar(event, line, column)
            return
        if event.tag not in (None, "tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"):
            raise self.stop(line, column, f"a YAML tag ({quoted(event.tag)})", "remove it")
        node = Mapping(line, column) if kind is yaml.MappingStartEvent else Sequence(line, column)
        self._place(node)
        if len(self._stack) >= MAX_DEPTH:
            raise self.stop(line, column, f"nested deeper than {MAX_DEPTH} levels", "a manifest has about eight")
        self._stack.append(_Frame(node))

    def _scalar(self, event: Any, line: int, column: int) -> None:
        raw: str = event.value
        bare: bool = event.implicit[0]
        found = _UNPRINTABLE.search(raw)
        if found:
            raise self.stop(line, column, f"an escape for the invisible character U+{ord(found[0]):04X}", "remove it")
        value: Value = raw
        try:
            if event.tag is not None:
                value = resolve_tagged(event.tag, raw, plain=not event.style)
            elif bare:
                value = resolve(raw)
        except ScalarError as error:
            self.problems.append(Problem(self.filename, line, column, self._path(), str(error)))
        frame = self._stack[-1] if self._stack else None
        if frame is None or isinstance(frame.node, Sequence) or frame.wants_value:
            self._place(Scalar(line, column, value, raw))
            return
        if bare and raw == "<<":
            raise self.stop(line, column, "a YAML merge key (<<)", "write the fields out")
        if not isinstance(value, str):
            hint = f'put it in quotes: "{raw}"' if raw else "write the name of a field before the colon"
            self.problems.append(
                Problem(self.filename, line, column, self._path(), f"a key is text, not {quoted(value)}", hint)
            )
        if len(raw) > MAX_KEY:
            raise self.stop(line, column, f"a key longer than {MAX_KEY} characters", "shorten it")
        frame.key, frame.key_line, frame.key_column, frame.wants_value = raw, line, column, True

    def _place(self, node: Node) -> None:
        """Attach ``node`` to the innermost open mapping or list."""
        if not self._stack:
            self.root = node
            return
        frame = self._stack[-1]
        if isinstance(frame.node, Sequence):
            frame.node.items.append(node)
            return
        if frame.key is None or not frame.wants_value:
            message = "a key is text, not a list or a mapping"
            raise self.stop(node.line, node.column, message, "write a plain word before the colon")
        entry = Entry(frame.key_line, frame.key_column, node)
        first = frame.node.entries.setdefault(frame.key, entry)
        if first is not entry:
            message = f"{quoted(frame.key)} is given twice, first in line {first.line}"
            self.problems.append(
                Problem(self.filename, entry.line, entry.column, self._path(), message, "keep one of the two")
            )
        frame.wants_value = False

    def _path(self) -> str:
        parts: list[str | int] = []
        for depth, frame in enumerate(self._stack, start=1):
            if isinstance(frame.node, Sequence):
                parts.append(len(frame.node.items) - (depth < len(self._stack)))
            elif frame.key is not None and (frame.wants_value or depth < len(self._stack)):
                parts.append(frame.key)
        return path(parts)

    def _unreadable(self, error: yaml.MarkedYAMLError, text: str) -> _Stop:
        mark = error.problem_mark or error.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        rows = text.splitlines()
        row = rows[line - 1] if line <= len(rows) else ""
        indent = row[: len(row) - len(row.lstrip())]
        if "\t" in indent:
            return self.stop(line, indent.index("\t") + 1, "a tab in the indentation", "YAML indents with spaces only")
        what = (error.problem or "it cannot be parsed").replace("\n", " ")[:120]
        if "mapping values are not allowed" in what:
            hint = "check the indentation of this line, and put a value that contains ': ' in quotes"
        elif "':'" in what or "expected key" in what or "block end" in what or "block mapping" in what:
            hint = "check the indentation of this line and the one before, and that every line is `name: value`"
        elif "cannot start any token" in what:
            hint = "put a value that begins with a special character in quotes"
        else:
            hint = "check quotes, brackets and indentation"
        if opened := _left_open(rows[: line - 1]):
            hint = f"close the quote that line {opened} opens, or {hint}"
        return self.stop(line, column, f"not YAML: {what}", hint)


def _left_open(rows: list[str]) -> int:
    """Return the last of these lines whose value begins with a quote that occurs once in it; 0 if none does."""
    for number in range(len(rows), 0, -1):
        found = _OPENS.match(rows[number - 1])
        if found and rows[number - 1].count(found[1]) == 1:
            return number
    return 0
