"""An AIchorManifest as an Experiment: the spec is the same, but for what belongs to AIchor's build service."""

from pathlib import PurePath
from typing import Any, Final

from muster.api.manifest.load import Loaded, experiment_object
from muster.api.manifest.naming import slug
from muster.api.manifest.problems import Problem

DROPPED: Final = ("builder", "clone", "engineName", "spec.engineName")
"""Fields that are read and ignored."""


def aichor(loaded: Loaded, file: str) -> tuple[dict[str, Any], tuple[Problem, ...], tuple[Problem, ...]]:
    """The Experiment, its losses and its notes. An Experiment stays what it is."""
    name = loaded.name or slug(PurePath(file).stem) or loaded.spec.operator
    document = experiment_object(loaded, name=name, namespace=loaded.namespace or "")
    if not loaded.namespace:
        del document["metadata"]["namespace"]
    document["spec"].pop("engineName", None)
    said = loaded.warnings
    losses = tuple(each for each in said if each.field in DROPPED or each.message.startswith("unknown field"))
    return document, losses, tuple(each for each in said if each not in losses)
