"""Remarks about a valid manifest that its author may want to know of the program it runs."""

import ast
import shlex
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from muster.api.manifest.load import Loaded
from muster.cli.manifests import Manifest

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
    """Yield the notes on a manifest that can be planned."""
    plan = manifest.plan(name="checked")
    loaded = manifest.loaded
    assisted = any(group.pod.assist for group in plan.groups)
    if isinstance(loaded, Loaded) and plan.operator == "jax":
        words: list[str] = []
        with suppress(ValueError):  # an open quote
            words = shlex.split(loaded.spec.command)
        if note := torch_note(words, "spec.operator: pytorch"):
            yield f"{manifest.file}: {note}"
        elif plan.size > 1 and not assisted and not _joins_with_muster(words):
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
