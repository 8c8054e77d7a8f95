"""Manifests on the command line: read from a file or from standard input, checked, and turned into objects."""

import os
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from muster.api.convert.load import LoadedObject, load_any_node, object_of
from muster.api.manifest.error_text import position
from muster.api.manifest.experiment import Experiment
from muster.api.manifest.lighten import Share, lighten
from muster.api.manifest.load import Loaded
from muster.api.manifest.overrides import override
from muster.api.manifest.problems import ManifestError, Problem, SpecError, bounded
from muster.api.manifest.yaml.reader import MAX_BYTES, Node, read_yaml
from muster.cli.terminal.colours import say
from muster.client.names import name_for
from muster.state.foreign import kinds
from muster.state.operators.planning import PlanError, plan_of
from muster.state.plan import Plan

STDIN = "<stdin>"
PART = 0.9
"""The part of this machine's CPUs and memory that the members of an experiment get together."""
PLACEHOLDER_UID = "00000000-0000-4000-8000-000000000000"
"""Stands for the uid that only the API server can assign."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """A manifest that can be loaded, its text, and its name for messages."""

    file: str
    text: str
    loaded: Loaded | LoadedObject
    changes: tuple[str, ...] = ()
    """What was dropped from it or cut, a sentence each."""

    def plan(self, *, name: str, namespace: str = "default", uid: str = PLACEHOLDER_UID) -> Plan:
        """The plan of the experiment.

        Raises ``ManifestError`` for a valid manifest that asks for something this release does not run.
        """
        try:
            if isinstance(self.loaded, LoadedObject):
                return _plan_of_object(self.loaded, name=name, namespace=namespace, uid=uid)
            return plan_of(Experiment(uid, name, namespace, 1, "", "", None, self.loaded.spec))
        except SpecError as error:
            raise ManifestError(replace(each, file=self.file) for each in error.problems) from error
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


def _plan_of_object(loaded: LoadedObject, *, name: str, namespace: str, uid: str) -> Plan:
    """The plan of an object that is run as it is. Raises ``PlanError`` and ``SpecError``."""
    kind = kinds.SUBJECTS.get(loaded.kind)
    if kind is None:
        raise PlanError(f"kind: {loaded.kind} objects are not run by this release")
    document = object_of(loaded, name=name, namespace=namespace)
    document["metadata"] |= {"uid": uid, "generation": 1}
    return kind.plan_of(document)


def read_manifest(file: str, assignments: Sequence[str] = (), *, light: bool = False) -> Manifest:
    """Read ``file`` (``-`` is standard input). Raises ``ManifestError`` with all of its problems.

    ``assignments`` (``PATH=VALUE``) change it before it is checked; a ``light`` one is cut to fit on this machine.
    """
    text, name = read_text(file)
    node, problems = _tree(text, name, assignments)
    manifest = Manifest(name, text, load_any_node(node, problems, filename=name))
    if not light:
        return manifest
    node, problems = _tree(text, name, assignments)
    changes = lighten(node, share_of(manifest.plan(name="light").size))
    return Manifest(name, text, load_any_node(node, problems, filename=name), tuple(changes))


def _tree(text: str, name: str, assignments: Sequence[str]) -> tuple[Node, list[Problem]]:
    node, problems = read_yaml(text, filename=name)
    if node is None:
        raise ManifestError(bounded(problems))
    for assignment in assignments:
        override(node, assignment)
    return node, problems


def share_of(members: int) -> Share:
    """What each of so many members gets of this machine."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Share(
        cpus=max(1, int((os.cpu_count() or 1) * PART * 1000 / max(members, 1))) / 1000,
        memory=max(1, int(memory * PART / max(members, 1) / 10**6)) / 1000,
    )


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
