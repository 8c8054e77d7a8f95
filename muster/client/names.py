"""A name for an experiment that was given none: what it is, and five characters so that the next one is another."""

import random
from pathlib import PurePath

from muster.api.manifest.experiment import ExperimentSpec
from muster.api.manifest.load import AICHOR, Loaded
from muster.api.names import name_suffix
from muster.api.naming import MAX_POD_NAME, longest_pod_name, slug

COMMONPLACE = frozenset({"", "manifest", "<manifest>", "<stdin>", "aichor", "aichor-manifest", "experiment", "stdin"})
"""File names that say nothing: the operator says more."""


def name_for(loaded: Loaded, filename: str = "", chance: random.Random | None = None) -> str:
    """The name a new experiment gets: an Experiment document bears its own, any other one is generated.

    The name in an AIchor manifest is for people and the same at every submission, so it is the beginning of a
    generated one.
    """
    if loaded.kind != AICHOR and loaded.name:
        return loaded.name
    return generated_name(loaded.spec, loaded.name or filename, chance or random.SystemRandom())


def generated_name(spec: ExperimentSpec, hint: str, chance: random.Random) -> str:
    """``<hint>-<five characters>``, cut so that the names of its pods fit.

    ``hint`` is a file name or any other words.
    """
    base = slug(PurePath(hint).stem) if hint else ""
    if base in COMMONPLACE:
        base = spec.operator
    suffix = name_suffix(f"{chance.getrandbits(128):x}", 0)
    over = len(longest_pod_name(f"{base}-{suffix}", spec.groups)) - MAX_POD_NAME
    if over > 0:
        base = base[: max(1, len(base) - over)].rstrip("-")
    return f"{base}-{suffix}"
