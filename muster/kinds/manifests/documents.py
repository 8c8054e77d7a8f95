"""A file as people keep it: with several documents, or a List, one of them to be run; or a script.

Exactly one document of a kind that Muster runs, or converts, is read. Each other one is named with its line, as nothing
creates it. Where several would run, or none, the file is refused. So is a script; for one of Slurm the error has the
beginning of a manifest.
"""

import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from typing import Final, NamedTuple

from muster.api.manifest.load import AICHOR, KINDS, kind_of
from muster.api.manifest.problems import ManifestError, Problem, bounded, quoted
from muster.api.manifest.yaml.reader import MAX_BYTES, Node, Sequence, at, read_yaml, scalar_at

MOST_LINES: Final = 256
"""Lines that are looked at, and characters of an option's value."""
SHORT: Final = {"N": "nodes", "n": "ntasks", "c": "cpus-per-task", "t": "time", "J": "job-name", "G": "gpus"}
TAKEN: Final = frozenset(
    (
        *SHORT.values(),
        *("ntasks-per-node", "gpus-per-node", "gpus-per-task", "gres", "mem", "mem-per-cpu"),
    )
)
IMAGE: Final = "registry.example.com/team/train:1.0"
_OPTION: Final = re.compile(r"(?:--([a-z][a-z-]{0,40})|-([A-Za-z]))(?:[= \t]*)(.*)\Z")
_TIME: Final = re.compile(r"(?:(\d{1,4})-)?(\d{1,6})(?::(\d{1,2}))?(?::(\d{1,2}))?\Z")
_SIZE: Final = re.compile(r"(\d{1,9})([KMGT]?)B?\Z", re.IGNORECASE)
_STARTS: Final = re.compile(r"\s*(?:srun|mpirun|torchrun|python[0-9.]*|accelerate|deepspeed)\b")
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?\Z")
GB: Final = {"K": 1e-6, "M": 1e-3, "": 1e-3, "G": 1.0, "T": 1e3}


@dataclass(frozen=True, slots=True)
class Job:
    """A batch script of Slurm: its options by their long names (sbatch(1)), the line of the first, the command."""

    options: dict[str, str]
    line: int
    command: str = ""

    def number(self, name: str, default: int = 0) -> int:
        """Return a count; of ``gpu:a100:8`` the 8, of ``2-4`` nodes the 2."""
        found = re.search(r"(?:^|:)(\d{1,6})(?:-\d+)?$", self.options.get(name, ""))
        return int(found[1]) if found else default

    @property
    def members(self) -> int:
        """Return the number of tasks, which ``srun`` starts: each is a member."""
        return max(1, self.number("ntasks") or self.number("nodes", 1) * self.number("ntasks-per-node", 1))

    @property
    def gpus(self) -> int:
        """Return GPUs of one task."""
        nodes = self.number("nodes", 1)
        per_node = self.number("gpus-per-node") or self.number("gres")
        whole = self.number("gpus") or per_node * nodes
        return self.number("gpus-per-task") or ceil(whole / self.members)

    @property
    def memory(self) -> float:
        """Return GB of one task; 0 where no line states it."""
        per_cpu = _gigabytes(self.options.get("mem-per-cpu", ""))
        per_node = _gigabytes(self.options.get("mem", ""))
        return per_cpu * self.number("cpus-per-task", 1) or per_node * self.number("nodes", 1) / self.members

    @property
    def seconds(self) -> int:
        """Return the time limit; 0 if there is none."""
        found = _TIME.match(self.options.get("time", ""))
        if not found:
            return 0
        days, first, second, third = (int(each or 0) for each in found.groups())
        if found[1]:
            return days * 86_400 + first * 3_600 + second * 60 + third
        return first * 3_600 + second * 60 + third if found[4] else first * 60 + second


def job_of(text: str) -> Job | None:
    """Return the job of a script with ``#SBATCH`` lines, which are read before the first command; None without any."""
    options: dict[str, str] = {}
    first, command = 0, ""
    for number, line in enumerate(text.split("\n", MOST_LINES)[:MOST_LINES], start=1):
        if line.startswith("#SBATCH") and not command:
            first = first or number
            for name, value in _options(line[len("#SBATCH") :]):
                options[name] = value[:MOST_LINES]
        elif _STARTS.match(line) and not command:
            command = _program(line[: 4 * MOST_LINES])
    return Job(options, first, command) if first else None


def _options(text: str) -> list[tuple[str, str]]:
    try:
        words = shlex.split(text[: 4 * MOST_LINES], comments=True)
    except ValueError:
        words = text[: 4 * MOST_LINES].split()
    found: list[tuple[str, str]] = []
    for word in words:
        option = _OPTION.match(word) if word.startswith("-") else None
        if option:
            found.append((option[1] or SHORT.get(option[2], option[2]), option[3]))
        elif found:
            found[-1] = (found[-1][0], word)
    return found


def _program(line: str) -> str:
    """Return the command without ``srun`` and its options."""
    words = line.strip().rstrip("\\").split()
    if words and words[0] == "srun":
        words = words[1:]
        while words and words[0].startswith("-"):
            words = words[1:]
    return "".join(each for each in " ".join(words) if each.isprintable())


def _gigabytes(text: str) -> float:
    found = _SIZE.match(text)
    return int(found[1]) * GB[found[2].upper()] if found else 0.0


def manifest_of(job: Job) -> str:
    """Return the manifest that asks for the same, with what has to be filled in."""
    name, torch = job.options.get("job-name", ""), re.search(r"torch|accelerate|deepspeed", job.command)
    left = [f"--{each}" if len(each) > 1 else f"-{each}" for each in job.options if each not in TAKEN]
    variables = "MASTER_ADDR, MASTER_PORT, WORLD_SIZE, RANK" if torch else "JAXOPERATOR_* (for jax.distributed)"
    lines = [
        "kind: AIchorManifest",
        "apiVersion: 0.2.3",
        *([f"name: {name}"] if _NAME.match(name) else []),
        "spec:",
        f"  operator: {'pytorch' if torch else 'jax'}",
        f"  image: {IMAGE} # the image that holds the program",
        f"  # Each member runs it, in a shell. No variable of Slurm is set; there are {variables}.",
        f"  command: {json.dumps(job.command or 'python3 -u train.py', ensure_ascii=True)}",
        *([f"  timeout: {job.seconds}s"] if job.seconds else []),
        "  types:",
        "    worker:",
        f"      count: {job.members} # the tasks of the script, one member each",
        "      resources:",
        f"        cpus: {job.number('cpus-per-task', 1)}",
        f"        memory: {job.memory:g} # GB" if job.memory else "        ramRatio: 4 # GB of memory per CPU",
        *(["        accelerators:", "          gpu:", f"            count: {job.gpus}"] if job.gpus else []),
    ]
    if left:
        lines.append(f"# Not taken over: {' '.join(left[:16])}")
    return "\n".join(lines)


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
        text = scalar_at(self.node, "metadata", "name")
        return f"{self.kind} {quoted(text)[1:-1]}" if isinstance(text, str) and text else self.kind

    def problem(self, filename: str, predicate: str, hint: str) -> Problem:
        """Return a problem whose subject is the document."""
        return Problem(filename, self.line, 1, "", f"the {self.called} {predicate}", hint)


class Read(NamedTuple):
    """The document that runs; all problems; and a warning for each other document."""

    node: Node
    problems: list[Problem]
    others: tuple[Problem, ...] = ()


def read_one(text: str, *, filename: str) -> Read:
    """Return the one document of a file that is a manifest. Raises ``ManifestError`` for any other number."""
    _refuse_script(text, filename)
    parts = list(_parts(text)) if len(text) <= MAX_BYTES else []
    if len(parts) > MOST:
        raise ManifestError([Problem(filename, parts[MOST][0], 1, "", f"more than {MOST} documents", "split the file")])
    if len(parts) < 2:
        node, problems = read_yaml(parts[0][1] if parts else text, filename=filename)
        if node is None:
            raise ManifestError(bounded(problems))
        if (items := _items(node)) is None:
            return Read(node, problems)
        found = items
    else:
        found = [each for line, part in parts for each in _documents(line, part, filename)]
        problems = []
    if unread := [problem for each in found if each.node is None for problem in each.problems]:
        raise ManifestError(bounded(unread))
    runs = [each for each in found if _runs(each)]
    if len(runs) == 1 and (node := runs[0].node) is not None:
        hint = "create it before, with kubectl, where the run needs it"
        others = [each.problem(filename, "is not created with the run", hint) for each in found if each is not runs[0]]
        return Read(node, [*problems, *runs[0].problems], bounded(others))
    hint = "keep one of them in the file"
    several = [each.problem(filename, f"is one of {len(runs)} that would run", hint) for each in runs]
    raise ManifestError(bounded(several or [_none(found, filename)]))


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


def _documents(line: int, part: str, filename: str) -> list[Document]:
    node, problems = read_yaml(part, filename=filename)
    items = _items(node) if node is not None else None
    whole = Document(line if node is None else node.line, node, tuple(problems))
    return [whole] if items is None else items


def _items(node: Node) -> list[Document] | None:
    """Return the items of a List; None of any other document."""
    found = at(node, "items") if kind_of(node) == "List" else None
    return [Document(each.line, each) for each in found.items[: MOST + 1]] if isinstance(found, Sequence) else None


def _runs(document: Document) -> bool:
    """Return True for a manifest: of a kind that is run or converted, or AIchor's, which needs no kind."""
    from muster.kinds.manifests.converters import CONVERTERS

    kind = kind_of(document.node) if document.node is not None else None
    if kind == AICHOR and at(document.node, "kind") is None:
        return at(document.node, "spec") is not None
    return kind in KINDS or kind in CONVERTERS


def _none(found: list[Document], filename: str) -> Problem:
    what = ", ".join(f"{each.called} (line {each.line})" for each in found[:NAMED])
    more = f" and {len(found) - NAMED} more" if len(found) > NAMED else ""
    hint = "the file needs one manifest: an AIchorManifest, an Experiment, or what muster convert reads"
    message = f"none of its documents is run: {what}{more}" if found else "the list is empty"
    return Problem(filename, 1, 1, "", message, hint)


def _refuse_script(text: str, filename: str) -> None:
    """Raise ``ManifestError`` for a script; that of a batch job with the manifest to write instead."""
    if not _SCRIPT.match(text[:200]):
        return
    if job := job_of(text):
        error = ManifestError(
            [Problem(filename, job.line, 1, "", "a batch script of Slurm, not a manifest", "write one such as this")]
        )
        error.advice = manifest_of(job)
        raise error
    hint = "run it as a program: muster run -n 4 -- PROGRAM"
    raise ManifestError([Problem(filename, 1, 1, "", "a script, not a manifest", hint)])
