"""Manifests on the command line: read from a file or standard input, changed, checked and planned, with notes."""

import ast
import random
import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from muster.api.manifest.changes import Share, lighten, override
from muster.api.manifest.error_text import position
from muster.api.manifest.experiment import Experiment
from muster.api.manifest.load import Loaded
from muster.api.manifest.problems import ManifestError, Problem, SpecError
from muster.api.manifest.yaml.reader import MAX_BYTES
from muster.cli.terminal.colours import say
from muster.client.submitting import name_for
from muster.kinds.declaration import PlanError
from muster.kinds.experiments import plan_of
from muster.kinds.manifests.documents import read_one
from muster.kinds.manifests.load import LoadedObject, load_any_node, object_of
from muster.state.vocabulary.plan import Plan

STDIN = "<stdin>"
PLACEHOLDER_UID = "00000000-0000-4000-8000-000000000000"
"""Placeholder for the uid that only the API server can assign."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest that can be loaded, its text, and its name for messages."""

    file: str
    text: str
    loaded: Loaded | LoadedObject
    changes: tuple[str, ...] = ()
    """Dropped or cut parts of it, a sentence each."""

    def plan(self, *, name: str, namespace: str = "default", uid: str = PLACEHOLDER_UID) -> Plan:
        """Return the plan of the experiment.

        Raises ``ManifestError`` for a valid manifest that asks for something this release does not run.
        """
        try:
            if isinstance(self.loaded, LoadedObject):
                return _plan_of_object(self.loaded, name=name, namespace=namespace, uid=uid)
            return plan_of(Experiment(uid, name, namespace, 1, None, self.loaded.spec))
        except SpecError as error:
            raise ManifestError(replace(each, file=self.file) for each in error.problems) from error
        except PlanError as error:
            raise ManifestError([self._problem(str(error))]) from error

    def assisted(self, wanted: bool | None, *, default: bool) -> "Manifest":
        """Return the manifest with ``spec.assist`` as wanted, else the default unless the manifest states it.

        Raises ``ManifestError`` where it is wanted of a kind that has no such field.
        """
        loaded = self.loaded
        if isinstance(loaded, LoadedObject):
            if wanted:
                raise ManifestError([Problem(self.file, 0, 0, "kind", f"{loaded.kind} has no spec.assist")])
            return self
        if wanted is None and (not default or "assist" in loaded.spec.model_fields_set):
            return self
        spec = loaded.spec.model_copy(update={"assist": default if wanted is None else wanted})
        return replace(self, loaded=replace(loaded, spec=spec))

    def stable_name(self) -> str:
        """Return the stated name, or one as of `muster submit`, with the same last characters every time."""
        return name_for(self.loaded, self.file, random.Random(0))  # noqa: S311 - must be the same every time

    def _problem(self, error: str) -> Problem:
        """Return the problem of a ``PlanError``, which names the field first, with its place in the manifest."""
        field, _, message = error.partition(": ")
        node, *_ = read_one(self.text, filename=self.file)
        line, column = position(node, tuple(field.split(".")))
        return Problem(self.file, line, column, field, message)


def _plan_of_object(loaded: LoadedObject, *, name: str, namespace: str, uid: str) -> Plan:
    """Return the plan of an object that is run as it is. Raises ``PlanError`` and ``SpecError``."""
    from muster.kinds.registry import RUN_KINDS

    kind = RUN_KINDS.get(loaded.kind)
    if kind is None:
        raise PlanError(f"kind: {loaded.kind} objects are not run by this release")
    document = object_of(loaded, name=name, namespace=namespace)
    document["metadata"] |= {"uid": uid, "generation": 1}
    return kind.plan_of(document)


def read_manifest(
    file: str, assignments: Sequence[str] = (), *, share: Callable[[int], Share] | None = None
) -> Manifest:
    """Read ``file`` (``-`` is standard input). Raises ``ManifestError`` with all of its problems.

    ``assignments`` (``PATH=VALUE``) change it before it is checked. With ``share``, which is what each of so many
    members may ask for, it is cut to that.
    """
    text, name = read_text(file)
    manifest = _read(text, name, assignments)
    return manifest if share is None else _read(text, name, assignments, share(manifest.plan(name="light").size))


def _read(text: str, name: str, assignments: Sequence[str], share: Share | None = None) -> Manifest:
    node, problems, others = read_one(text, filename=name)
    for assignment in assignments:
        override(node, assignment)
    changes = () if share is None else tuple(lighten(node, share))
    loaded = load_any_node(node, problems, filename=name)
    return Manifest(name, text, replace(loaded, warnings=(*others, *loaded.warnings)), changes)


def read_text(file: str) -> tuple[str, str]:
    """Return the text of a manifest and its name for messages. Raises ``ManifestError`` for an unreadable file."""
    if not file:  # Path("") is the working directory
        raise ManifestError([Problem("FILE", 0, 0, "", "its name is empty", "name a file, or - for standard input")])
    try:
        if file == "-":
            raw, name = sys.stdin.buffer.read(MAX_BYTES + 1), STDIN
        else:
            with Path(file).open("rb") as stream:
                raw, name = stream.read(MAX_BYTES + 1), file
    except OSError as error:
        raise ManifestError([Problem(file, 0, 0, "", f"cannot be read: {error.strerror}", "check the path")]) from error
    return raw.decode("utf-8", "surrogateescape"), name


def print_warnings(warnings: tuple[Problem, ...]) -> None:
    """Print the warnings of a manifest that can be used."""
    say(*(f"warning: {problem}" for problem in warnings))


MODULE = "muster.jax"
PLAIN_JAX = (
    "a failure in one rank of a jax program hangs every rank for up to 300 s unless the program joins with "
    "muster.jax.initialize(), or has spec.assist (muster submit --assist, muster run): see `A jax program` in "
    "docs/guide.md"
)
TORCH = "torch.distributed"
PLAIN_TORCH = (
    "{script} uses torch.distributed and not jax: with {instead} Muster sees which ranks have arrived; with the "
    "operator jax it waits for a coordinator that torch does not open"
)
LARGEST = 1 << 20
"""Bytes of a script that are searched for the module."""


def notes_on(manifest: Manifest) -> Iterator[str]:
    """Yield what the author of a manifest that can be planned may want to know of it."""
    plan = manifest.plan(name="checked")
    loaded = manifest.loaded
    if isinstance(loaded, Loaded) and plan.operator == "jax":
        words: list[str] = []
        with suppress(ValueError):  # an open quote
            words = shlex.split(loaded.spec.command)
        if note := torch_note(words, "spec.operator: pytorch"):
            yield f"{manifest.file}: {note}"
        elif plan.size > 1 and not any(group.pod.assist for group in plan.groups) and not _joins_with_muster(words):
            yield f"{manifest.file}: {PLAIN_JAX}"
    longest = plan.restarts.longest_grace
    if (grace := max((group.pod.grace for group in plan.groups), default=0)) > longest:
        yield (
            f"{manifest.file}: a gang restart cuts the grace period of {grace} s after {longest:g} s; "
            f"where a restart must wait for it, set spec.clocks.terminating of kind: Experiment to {grace}s"
        )


def torch_note(words: Sequence[str], instead: str) -> str:
    """Return the note on words that run a script here as jax that uses torch.distributed; else empty.

    ``instead`` is the way to choose the operator pytorch. The script is the first word that ends in ``.py``.
    """
    script = next((word for word in words if word.endswith(".py")), "")
    names = _modules(Path(script)) if script else frozenset()
    torch = any(name == TORCH or name.startswith(f"{TORCH}.") for name in names)
    if not torch or any(name == "jax" or name.startswith(("jax.", MODULE)) for name in names):
        return ""
    return PLAIN_TORCH.format(script=script, instead=instead)


def _modules(script: Path) -> frozenset[str]:
    """Return the dotted names that a script imports, or reads of what it imported; none where it cannot be parsed."""
    try:
        with script.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(file.read(LARGEST))
    except (OSError, ValueError, SyntaxError, RecursionError):  # not here; a name with a NUL; no Python
        return frozenset()
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            names.add(f"{node.value.id}.{node.attr}")
    return frozenset(names)


def _joins_with_muster(words: Sequence[str]) -> bool:
    """Return whether a word of the command is a file here that names the module. Other places are unknown."""
    for script in (word for word in words if word.endswith(".py")):
        with suppress(OSError, ValueError), Path(script).open("rb") as file:  # not here; a name with a NUL
            if MODULE.encode() in file.read(LARGEST):
                return True
    return False
