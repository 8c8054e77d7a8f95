"""No field of a Ray manifest is lost silently: without it the Experiment, or what is said, would be another."""

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.api.manifest.problems import ManifestError, path
from muster.kinds.manifests.conversion import Conversion, convert

Loc = tuple[str | int, ...]
FULL = Path(__file__).parent / "full"
MEANINGLESS = frozenset(
    (
        *("managedBy", "creationTimestamp", "status", "restartPolicy"),
        "suspend",  # of the cluster and of the job: one is enough
        *("minReplicas", "maxReplicas"),  # named together
    )
)
"""Fields that say nothing to an Experiment: it is Muster's, and a pod that ends is replaced by a new one."""
OWN_CONTAINER = ("containers", 0, "name")
"""Places that end so: a member's own container is always called main."""


def places(value: Any, loc: Loc = ()) -> Iterator[Loc]:
    """The place of every field and item."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in entries:
        yield (*loc, key)
        yield from places(inner, (*loc, key))


def holder_of(document: Any, loc: Loc) -> Any:
    """The mapping or list that has the last part of the place."""
    for part in loc[:-1]:
        document = document[part]
    return document


def said_of(found: Conversion) -> object:
    """What becomes of a manifest, and what is said of it."""
    return found.document, [(each.field, each.message) for each in (*found.losses, *found.notes)]


def matters(document: Any, loc: Loc, whole: object) -> bool:
    """Without the field something else is written or said, or the manifest is refused."""
    without = copy.deepcopy(document)
    del holder_of(without, loc)[loc[-1]]
    try:
        return said_of(convert(yaml.safe_dump(without))) != whole
    except ManifestError:
        return True


@pytest.mark.parametrize("file", sorted(FULL.glob("*.yaml")), ids=lambda file: file.stem)
def test_every_field_is_carried_over_or_named(file: Path) -> None:
    document = yaml.safe_load(file.read_text())
    found = convert(yaml.safe_dump(document))
    lost = {each.field for each in found.losses}
    whole = said_of(found)
    silent = [
        path(loc)
        for loc in places(document)
        if loc[-1] not in MEANINGLESS
        and loc[-3:] != OWN_CONTAINER
        and not any(path(loc[:length]) in lost for length in range(1, len(loc) + 1))
        and not matters(document, loc, whole)
    ]
    assert not silent, "\n".join(silent)
