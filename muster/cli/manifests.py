"""Manifests on the command line: read from a file or from standard input, checked, and turned into objects."""

import random
import sys
from dataclasses import dataclass
from pathlib import Path

from muster.api.convert.load import load_any
from muster.api.manifest.error_text import position
from muster.api.manifest.experiment import Experiment
from muster.api.manifest.load import Loaded
from muster.api.manifest.problems import ManifestError, Problem
from muster.api.manifest.yaml_reader import MAX_BYTES, read_yaml
from muster.cli.terminal.colours import say
from muster.client.names import name_for
from muster.state.operators.planning import PlanError, plan_of
from muster.state.plan import Plan

STDIN = "<stdin>"
PLACEHOLDER_UID = "00000000-0000-4000-8000-000000000000"
"""Stands for the uid that only the API server can assign."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest that can be loaded, its text, and its name for messages."""

    file: str
    text: str
    loaded: Loaded

    def plan(self, *, name: str, namespace: str = "default", uid: str = PLACEHOLDER_UID) -> Plan:
        """The plan of the experiment.

        Raises ``ManifestError`` for a valid manifest that asks for something this release does not run.
        """
        experiment = Experiment(
            uid=uid,
            name=name,
            namespace=namespace,
            generation=1,
            resource_version="",
            creation_timestamp="",
            deletion_timestamp=None,
            spec=self.loaded.spec,
        )
        try:
            return plan_of(experiment)
        except PlanError as error:
            raise ManifestError([self._problem(str(error))]) from error

    def stable_name(self) -> str:
        """The name that is stated, or the one `muster submit` makes up, with the same last characters every time."""
        return name_for(self.loaded, self.file, random.Random(0))  # noqa: S311 - must be the same every time

    def _problem(self, error: str) -> Problem:
        """``PlanError`` names the field first: add the place where the manifest states it."""
        field, _, message = error.partition(": ")
        node, _ = read_yaml(self.text, filename=self.file)
        line, column = position(node, tuple(field.split(".")))
        return Problem(self.file, line, column, field, message)


def read_manifest(file: str) -> Manifest:
    """Read ``file`` (``-`` is standard input). Raises ``ManifestError`` with all of its problems."""
    text, name = read_text(file)
    return Manifest(name, text, load_any(text, filename=name))


def read_text(file: str) -> tuple[str, str]:
    """The text of a manifest and its name for messages. Raises ``ManifestError`` for a file that cannot be read."""
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
    for problem in warnings:
        say(f"warning: {problem}")
