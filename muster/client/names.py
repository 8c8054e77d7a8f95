"""Names for experiments that have none: a word from the file or the operator, and five random characters."""

import random
from pathlib import PurePath

from muster.api.manifest.experiment import ExperimentSpec
from muster.api.manifest.load import AICHOR, Loaded
from muster.api.manifest.naming import MAX_POD_NAME, longest_pod_name, slug
from muster.api.names import name_suffix
from muster.kinds.manifests.load import LoadedObject

GENERIC = frozenset({"", "manifest", "<manifest>", "<stdin>", "aichor", "aichor-manifest", "experiment", "stdin"})
"""File names that do not describe an experiment: the operator is used instead."""


def name_for(loaded: Loaded | LoadedObject, filename: str = "", rng: random.Random | None = None) -> str:
    """Return the name of a new experiment: that of an Experiment document, else a generated one.

    The name in an AIchor manifest is the same at every submission, so it only begins the generated one.
    """
    if isinstance(loaded, LoadedObject) or (loaded.kind != AICHOR and loaded.name):
        return str(loaded.name)
    return generated_name(loaded.spec, loaded.name or filename, rng or random.SystemRandom())


def generated_name(spec: ExperimentSpec, hint: str, rng: random.Random) -> str:
    """Return ``<hint>-<five characters>``, cut so that the names of its pods fit.

    ``hint`` is a file name or any other words.
    """
    base = slug(PurePath(hint).stem) if hint else ""
    if base in GENERIC:
        base = spec.operator
    suffix = name_suffix(f"{rng.getrandbits(128):x}", 0)
    over = len(longest_pod_name(f"{base}-{suffix}", spec.groups)) - MAX_POD_NAME
    if over > 0:
        base = base[: max(1, len(base) - over)].rstrip("-")
    return f"{base}-{suffix}"
