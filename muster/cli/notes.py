"""What a valid manifest does not say, but its author may want to know of the program it runs."""

import shlex
from collections.abc import Iterator
from pathlib import Path

from muster.api.manifest.load import Loaded
from muster.cli.manifests import Manifest

MODULE = "muster.jax"
PLAIN_JAX = (
    "an exception in one rank of a jax program hangs every rank for up to 300 s unless the program joins with "
    "muster.jax.initialize(), or has spec.assist of kind: Experiment: see `A jax program` in docs/guide.md"
)
LARGEST = 1 << 20
"""Bytes of a script that are searched for the module."""


def notes_on(manifest: Manifest) -> Iterator[str]:
    """The notes on a manifest that can be planned."""
    plan = manifest.plan(name="checked")
    loaded = manifest.loaded
    assisted = any(group.pod.assist for group in plan.groups)
    jax = plan.operator == "jax" and plan.size > 1 and not assisted
    if isinstance(loaded, Loaded) and jax and not _joins_with_muster(loaded.spec.command):
        yield f"{manifest.file}: {PLAIN_JAX}"
    if (grace := max((group.pod.grace for group in plan.groups), default=0)) > plan.longest_grace:
        yield (
            f"{manifest.file}: a gang restart cuts the grace period of {grace} s after {plan.longest_grace:g} s; "
            f"where a restart must wait for it, set spec.clocks.terminating of kind: Experiment to {grace}s"
        )


def _joins_with_muster(line: str) -> bool:
    """Some word of the command is a file of this directory that names the module. Another place cannot be known."""
    try:
        words = shlex.split(line)
    except ValueError:
        return False
    return any(word.endswith(".py") and _names_module(Path(word)) for word in words)


def _names_module(script: Path) -> bool:
    try:
        with script.open("rb") as file:
            return MODULE.encode() in file.read(LARGEST)
    except (OSError, ValueError):  # not here; a name with a NUL
        return False
