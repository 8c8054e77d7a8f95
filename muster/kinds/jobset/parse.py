"""Reads a JobSet that Muster runs: from the API server, or from a file.

JobSet's webhook checks a JobSet only where JobSet is installed, so its checks are made here again. What the built-in
controller would only find out while it runs (a Job that the API server refuses, a dependency that waits for itself) is
a problem of the spec here.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from muster.api.manifest.error_text import explain, position
from muster.api.manifest.problems import Problem, SpecError, bounded, path
from muster.api.manifest.yaml.reader import Node
from muster.kinds.jobset.checks import checks
from muster.kinds.jobset.spec import JobSet, JobSetSpec


def parse_jobset(obj: Mapping[str, Any], *, file: str = "", node: Node | None = None) -> JobSet:
    """The JobSet in a decoded object. Raises ``SpecError``, and nothing else, if Muster cannot run it.

    ``node`` is the tree of the document that it was read from, for lines and columns; None without a text.
    """
    metadata = obj.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    try:
        spec = JobSetSpec.read(obj.get("spec"))
    except ValidationError as error:
        raise SpecError(bounded(explain(error, JobSetSpec, root=("spec",), file=file, node=node))) from None
    jobset = JobSet(
        name=_text(metadata, "name"),
        namespace=_text(metadata, "namespace"),
        spec=spec,
        uid=_text(metadata, "uid"),
        generation=metadata["generation"] if isinstance(metadata.get("generation"), int) else 0,
        resource_version=_text(metadata, "resourceVersion"),
        deletion_timestamp=_text(metadata, "deletionTimestamp") or None,
        raw_status=obj["status"] if isinstance(obj.get("status"), Mapping) else {},
        labels=_texts(metadata.get("labels")),
        annotations=_texts(metadata.get("annotations")),
        finalizers=tuple(each for each in metadata.get("finalizers") or () if isinstance(each, str)),
    )
    found = [Problem(file, *position(node, loc), path(loc), message, hint) for loc, message, hint in checks(jobset)]
    if found:
        raise SpecError(bounded(found))
    return jobset


def _text(metadata: Mapping[str, Any], key: str) -> str:
    value = metadata.get(key)
    return value if isinstance(value, str) else ""


def _texts(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {}
    return {name: text for name, text in value.items() if isinstance(name, str) and isinstance(text, str)}
