"""A file as people keep it: with several documents, or a List, one of them to be run; or a script.

Exactly one document of a kind that Muster runs, or converts, is read. Each other one is named with its line, as nothing
creates it. Where several would run, or none, the file is refused.
"""

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from muster.api.manifest.load import AICHOR, KINDS, kind_of
from muster.api.manifest.problems import ManifestError, Problem, bounded, quoted
from muster.api.manifest.yaml.reader import MAX_BYTES, Mapping, Node, Scalar, Sequence, read_yaml
from muster.kinds.manifests import slurm

MOST: Final = 64
"""Documents of one file."""
NAMED: Final = 8
"""Documents that a message names."""
_MARK: Final = re.compile(r"^---(?=[ \t\r]|$)", re.MULTILINE)
_TEXT: Final = re.compile(r"^(?![ \t\r]*(?:#|$)|\.\.\.|%)", re.MULTILINE)
"""A line with something in it."""
_SCRIPT: Final = re.compile(r"#!.*\b(?:sh|bash|zsh|ksh|dash|python[0-9.]*|perl)\b")


class Document(NamedTuple):
    """One document, or item of a List; ``node`` is None where it cannot be read."""

    line: int
    node: Node | None
    problems: tuple[Problem, ...] = ()

    @property
    def kind(self) -> str:
        """Return the kind, for a message."""
        found = kind_of(self.node) if self.node is not None else None
        return found if isinstance(found, str) and found.isidentifier() and len(found) <= 60 else "document"

    @property
    def called(self) -> str:
        """Return ``ConfigMap train-script``."""
        name = _at(_at(self.node, "metadata"), "name")
        text = name.value if isinstance(name, Scalar) else None
        return f"{self.kind} {quoted(text)[1:-1]}" if isinstance(text, str) and text else self.kind


class Read(NamedTuple):
    """The document that runs, None if reading had to stop; all problems; and a warning for each other document."""

    node: Node | None
    problems: list[Problem]
    others: tuple[Problem, ...] = ()


def read_one(text: str, *, filename: str) -> Read:
    """Return the one document of a file that is a manifest. Raises ``ManifestError`` where none is, or several are."""
    _refuse_script(text, filename)
    parts = list(_parts(text)) if len(text) <= MAX_BYTES else []
    if len(parts) > MOST:
        raise ManifestError([Problem(filename, parts[MOST][0], 1, "", f"more than {MOST} documents", "split the file")])
    if len(parts) < 2:
        node, problems = read_yaml(parts[0][1] if parts else text, filename=filename)
        if node is None or not _is_list(node):
            return Read(node, problems)
        found = [*_items(node)]
    else:
        found = [each for line, part in parts for each in _documents(line, part, filename)]
        problems = []
    if unread := [problem for each in found if each.node is None for problem in each.problems]:
        raise ManifestError(bounded(unread))
    runs = [each for each in found if _runs(each)]
    if len(runs) == 1:
        others = tuple(_not_created(each, filename) for each in found if each is not runs[0])
        return Read(runs[0].node, [*problems, *runs[0].problems], bounded(others))
    raise ManifestError(bounded(_several(runs, filename) if runs else _none(found, filename)))


def _parts(text: str) -> Iterator[tuple[int, str]]:
    """Yield the documents with something in them, from their first lines, and with as many empty lines before them."""
    starts = [0, *(found.start() for found in _MARK.finditer(text)), len(text)]
    line = 1
    for start, end in pairwise(starts):
        part = text[start:end]
        body = f"   {part[3:]}" if part.startswith("---") else part
        if _TEXT.search(body):
            yield line, "\n" * (line - 1) + body
        line += part.count("\n")


def _documents(line: int, part: str, filename: str) -> Iterator[Document]:
    node, problems = read_yaml(part, filename=filename)
    if node is not None and _is_list(node):
        yield from _items(node)
    else:
        yield Document(line if node is None else node.line, node, tuple(problems))


def _is_list(node: Node) -> bool:
    return kind_of(node) == "List" and isinstance(_at(node, "items"), Sequence)


def _items(node: Node) -> Iterator[Document]:
    found = _at(node, "items")
    for each in found.items[: MOST + 1] if isinstance(found, Sequence) else ():
        yield Document(each.line, each)


def _at(node: Node | None, key: str) -> Node | None:
    entry = node.entries.get(key) if isinstance(node, Mapping) else None
    return entry.node if entry is not None else None


def _runs(document: Document) -> bool:
    """Return True for a manifest: of a kind that is run or converted, or AIchor's, which needs no kind."""
    from muster.kinds.manifests.converters import CONVERTERS

    kind = kind_of(document.node) if document.node is not None else None
    if kind == AICHOR and _at(document.node, "kind") is None:
        return _at(document.node, "spec") is not None
    return kind in KINDS or kind in CONVERTERS


def _not_created(document: Document, filename: str) -> Problem:
    message = f"the {document.called} is not created with the run"
    return Problem(filename, document.line, 1, "", message, "create it before, with kubectl, where the run needs it")


def _several(runs: list[Document], filename: str) -> list[Problem]:
    hint = "keep one of them in the file"
    return [
        Problem(filename, each.line, 1, "", f"the {each.called} is one of {len(runs)} that would run", hint)
        for each in runs
    ]


def _none(found: list[Document], filename: str) -> list[Problem]:
    what = ", ".join(f"{each.called} (line {each.line})" for each in found[:NAMED])
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    hint = "the file needs one manifest: an AIchorManifest, an Experiment, or what muster convert reads"
    return [Problem(filename, 1, 1, "", f"none of its documents is run: {what}{more}", hint)]


def _refuse_script(text: str, filename: str) -> None:
    """Raise ``ManifestError`` for a script; that of a batch job with the manifest to write instead."""
    if not _SCRIPT.match(text[:200]):
        return
    if job := slurm.job_of(text):
        error = ManifestError(
            [Problem(filename, job.line, 1, "", "a batch script of Slurm, not a manifest", "write one such as this")]
        )
        error.advice = slurm.manifest_of(job)
        raise error
    hint = "run it as a program: muster run -n 4 -- PROGRAM"
    raise ManifestError([Problem(filename, 1, 1, "", "a script, not a manifest", hint)])
