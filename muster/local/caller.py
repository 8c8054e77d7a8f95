"""Environment and working directory of the caller of ``muster run``, for the pods of its experiment.

On a cluster the image sets both. Here the caller's shell takes the place of the image: its Python, its variables, its
project. ``muster run`` writes them to a file before it creates the experiment, and the node agent reads the file for
each pod with the experiment's label. Other pods get the environment of ``muster.local.node.sources.environment``.

The file holds the secrets of the environment, so only its owner can read it, and it is removed after the run.
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
"""Folder of these files, in the node agent's folder."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Environment and working directory that containers of the experiment start with."""

    environment: Mapping[str, str]
    directory: Path


@contextmanager
def write_caller(folder: Path, namespace: str, experiment: str, caller: Caller) -> Iterator[Path]:
    """Write the file for the pods of ``experiment``; it is removed when the context ends."""
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


def read_caller(folder: Path, pod: Mapping[str, Any]) -> Caller | None:
    """Return the caller of the experiment that this pod belongs to; None if there is no file."""
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
    """Return a unique path inside the folder: namespaces contain no dot and label values no slash."""
    return folder / f"{namespace}.{experiment}.json"
