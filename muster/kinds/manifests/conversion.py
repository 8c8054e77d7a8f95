"""Convert one manifest, of any kind, into an Experiment.

``losses`` name what the manifest states and the Experiment cannot; ``notes`` are differences worth knowing. A manifest
that cannot become an Experiment at all is a ``ManifestError`` with the reason.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Final

from muster.api.manifest.load import KINDS, Loaded, experiment_object, kind_of, load_node
from muster.api.manifest.naming import slug
from muster.api.manifest.problems import ManifestError, Problem, bounded, nearest, quoted
from muster.api.manifest.yaml.reader import Mapping, Node
from muster.kinds.convert.draft import Draft
from muster.kinds.convert.source import Fields, Report
from muster.kinds.manifests.converters import CONVERTERS
from muster.kinds.manifests.documents import read_one
from muster.kinds.manifests.outside import refusal

DROPPED: Final = ("builder", "clone", "engineName", "spec.engineName")
"""Fields that are read and ignored."""


def aichor(loaded: Loaded, file: str) -> tuple[dict[str, Any], tuple[Problem, ...], tuple[Problem, ...]]:
    """Return the Experiment of an AIchorManifest, its losses and its notes. An Experiment stays what it is.

    The spec is the same, but for what belongs to AIchor's build service.
    """
    name = loaded.name or slug(PurePath(file).stem) or loaded.spec.operator
    document = experiment_object(loaded, name=name, namespace=loaded.namespace or "")
    if not loaded.namespace:
        del document["metadata"]["namespace"]
    document["spec"].pop("engineName", None)
    said = loaded.warnings
    losses = tuple(each for each in said if each.field in DROPPED or each.message.startswith("unknown field"))
    return document, losses, tuple(each for each in said if each not in losses)


@dataclass(frozen=True, slots=True)
class Conversion:
    """An Experiment, and what became of the manifest."""

    kind: str
    document: dict[str, Any]
    losses: tuple[Problem, ...]
    notes: tuple[Problem, ...]


def convert(text: str, *, filename: str = "<manifest>") -> Conversion:
    """Convert a manifest. Raises ``ManifestError`` if it cannot become an Experiment."""
    node, problems, others = read_one(text, filename=filename)
    if node is None:
        raise ManifestError(bounded(problems))
    found = convert_node(node, problems, filename=filename)
    return replace(found, notes=(*others, *found.notes))


def convert_node(node: Node, problems: Iterable[Problem] = (), *, filename: str = "<manifest>") -> Conversion:
    """Convert the manifest in a tree that was read with these problems. Raises ``ManifestError``."""
    kind = kind_of(node)
    if kind in KINDS:
        return Conversion(str(kind), *aichor(load_node(node, problems, filename=filename), filename))
    report = Report(node, filename)
    if found := bounded([*problems]):
        raise ManifestError(found)
    if not isinstance(node, Mapping) or kind not in CONVERTERS:
        if (error := refusal(node, filename, "cannot be converted")) is not None:
            raise error
        known = [*KINDS, *CONVERTERS]
        close = nearest(kind, known) if isinstance(kind, str) else None
        hint = f"did you mean {close}?" if close else f"these are: {', '.join(known)}"
        raise report.refuse(("kind",), f"{quoted(kind)} cannot be converted", hint)
    converter = CONVERTERS[str(kind)]
    version = converter.api_version
    fields = Fields(report, node)
    if (written := fields.text("apiVersion")) != version:
        hint = f"write apiVersion: {version}"
        raise report.refuse(("apiVersion",), f"{quoted(written)} is not the version of {kind} that is read", hint)
    draft = Draft(report)
    converter.write(draft, fields)
    document = draft.document()
    return Conversion(str(kind), document, _ordered(report.losses), _ordered(report.notes))


def _ordered(problems: list[Problem]) -> tuple[Problem, ...]:
    return tuple(sorted(dict.fromkeys(problems), key=lambda each: (each.line, each.column, each.field)))
