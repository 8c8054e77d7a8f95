"""Create an experiment from a manifest. A name that it lacks is a word of file or operator, and five characters."""

import asyncio
import json
import random
import re
from pathlib import Path, PurePath

from muster.api.errors import AlreadyExists
from muster.api.manifest.experiment import ExperimentSpec
from muster.api.manifest.load import AICHOR, Loaded
from muster.api.manifest.naming import MAX_POD_NAME, longest_pod_name, slug
from muster.api.names import (
    ANNOTATION_CANCELLED,
    ANNOTATION_COMMAND_SOURCE,
    ANNOTATION_RESTART,
    API_VERSION,
    KIND,
    name_suffix,
)
from muster.client.snapshot import Snapshot, known_kind, snapshot_of
from muster.client.subjects import collection_path, subject_of
from muster.kinds.manifests.load import LoadedObject, load_any, object_of
from muster.kube.resources import ResourceClient
from muster.kube.unstructured import mapping

GENERIC = frozenset({"", "manifest", "<manifest>", "<stdin>", "aichor", "aichor-manifest", "experiment", "stdin"})
"""File names that do not describe an experiment: the operator is used instead."""
NAMES = 8
"""Number of generated names that are tried."""
OF_ONE_RUN = (ANNOTATION_CANCELLED, ANNOTATION_RESTART, "kubectl.kubernetes.io/last-applied-configuration")
"""Annotations that the next run of a spec does not get."""
_GENERATED = re.compile(r"(.+)-[bcdfghjklmnpqrstvwxz2456789]{5}")
"""A name that was generated (``muster.api.names``), and what it was made from."""


async def submit(
    resources: ResourceClient,
    manifest: Path | str | Loaded | LoadedObject,
    *,
    name: str | None,
    namespace: str | None,
    default: str,
    filename: str,
    rng: random.Random,
) -> Snapshot:
    """Create the experiment in ``namespace``, else in its own, else in ``default``; see ``Client.submit``."""
    if isinstance(manifest, Path):
        filename = filename or str(manifest)
        manifest = await asyncio.to_thread(manifest.read_text, "utf-8", "surrogateescape")
    loaded = load_any(manifest, filename=filename or "<manifest>") if isinstance(manifest, str) else manifest
    space = namespace or loaded.namespace or default
    fixed = name or (loaded.name if loaded.kind != AICHOR else None)
    subject = subject_of(loaded.kind if isinstance(loaded, LoadedObject) else "")
    for attempt in range(NAMES):
        chosen = name or name_for(loaded, filename, rng)
        document = object_of(loaded, name=chosen, namespace=space)
        if filename:
            document["metadata"].setdefault("annotations", {}).setdefault(ANNOTATION_COMMAND_SOURCE, filename)
        try:
            with known_kind(f"{subject.kind}/"):
                return snapshot_of(await resources.create(collection_path(space, subject), document))
        except AlreadyExists as error:
            if fixed:
                raise AlreadyExists(
                    f"experiment {space}/{fixed} exists already: choose another with --name, or delete it first",
                    status=error.status,
                    reason=error.reason,
                ) from error
            if attempt == NAMES - 1:
                raise
    raise AssertionError("unreachable: the last attempt returned or raised")


def again(seen: Snapshot, rng: random.Random) -> tuple[Loaded, str]:
    """Return the manifest of another run of the same spec, and its name; neither suspended nor cancelled."""
    metadata = mapping(seen.raw.get("metadata"))
    annotations = {key: text for key, text in mapping(metadata.get("annotations")).items() if key not in OF_ONE_RUN}
    spec = {key: value for key, value in mapping(seen.raw.get("spec")).items() if key not in ("cancel", "suspend")}
    kept = {"name": seen.name, "labels": mapping(metadata.get("labels")), "annotations": annotations}
    document = {"apiVersion": API_VERSION, "kind": KIND, "metadata": kept, "spec": spec}
    loaded = load_any(json.dumps(document), filename=seen.name)
    assert isinstance(loaded, Loaded)
    generated = _GENERATED.fullmatch(seen.name)
    return loaded, generated_name(loaded.spec, generated[1] if generated else seen.name, rng)


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
