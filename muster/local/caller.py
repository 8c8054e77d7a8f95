"""The environment and directory of the person who runs an experiment here, lent to its pods.

On a cluster the image brings environment and directory along. Here the shell of the caller takes the image's place: its
Python, its variables, its project. ``muster run`` writes both to a file of the node before it creates the experiment,
and the node reads it for each pod that bears the experiment's label. Pods without such a file get the closed
environment of ``muster.local.node.containers.environment``.

The file holds whatever secrets the environment holds, so only its owner can read it, and it is removed after the run.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muster.api.names import LABEL_EXPERIMENT

CALLERS = "callers"
"""Folder of these files, inside the node's."""


@dataclass(frozen=True, slots=True)
class Caller:
    """What a container of the experiment starts from."""

    environment: Mapping[str, str]
    directory: Path


@contextmanager
def lent(folder: Path, namespace: str, experiment: str, caller: Caller) -> Iterator[Path]:
    """Keep the file for the pods of ``experiment`` while the context is open."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    path = _file(folder, namespace, experiment)
    content = {"environment": dict(caller.environment), "directory": str(caller.directory)}
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="ascii") as file:
            json.dump(content, file)  # escapes what is not ASCII, also bytes that are no UTF-8 (lone surrogates)
        yield path
    finally:
        path.unlink(missing_ok=True)


def borrowed(folder: Path, pod: Mapping[str, Any]) -> Caller | None:
    """What was lent to the experiment of this pod; None if nothing was."""
    metadata = pod.get("metadata") or {}
    experiment = (metadata.get("labels") or {}).get(LABEL_EXPERIMENT)
    if not experiment:
        return None
    try:
        content = json.loads(_file(folder, str(metadata.get("namespace")), str(experiment)).read_bytes())
    except FileNotFoundError:
        return None
    return Caller(content["environment"], Path(content["directory"]))


def _file(folder: Path, namespace: str, experiment: str) -> Path:
    """Namespaces hold no dot, and label values no slash: the name is the experiment's alone, and inside the folder."""
    return folder / f"{namespace}.{experiment}.json"
