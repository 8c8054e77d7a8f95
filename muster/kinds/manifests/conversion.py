"""Convert one manifest, of any kind, into an Experiment.

``losses`` name what the manifest states and the Experiment cannot; ``notes`` are differences worth knowing. A manifest
that cannot become an Experiment at all is a ``ManifestError`` with the reason.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import PurePath
from typing import Any, Final

from muster.api.manifest.load import KINDS, Loaded, experiment_object, kind_of, load_node
from muster.api.manifest.naming import slug
from muster.api.manifest.problems import ManifestError, Problem, bounded, nearest, quoted
from muster.api.manifest.yaml.reader import Mapping, Node, scalar_at
from muster.api.names import GROUP
from muster.kinds.convert.draft import Draft, Fields, Report
from muster.kinds.declaration import every
from muster.kinds.manifests.converters import CONVERTERS
from muster.kinds.manifests.documents import read_one
from muster.kinds.pods import OBSERVE
from muster.kinds.registry import WATCHED_KINDS
from muster.state.vocabulary.subject import title

ALIKE: Final = 0.85
"""From which ratio of difflib a kind is taken for a misspelled one: ``RayJobs``, and not ``RayCronJob``."""
LONGEST: Final = 60
_VERSION: Final = re.compile(r"(?:[a-z0-9.-]{1,60}/)?v[0-9][a-z0-9]{0,15}\Z")
WRITE: Final = "for Muster to run it, write an Experiment: muster init begins one"


def refusal(node: Node, filename: str, what: str) -> ManifestError | None:
    """Return the error for an object of another controller, with the way to watch over it; None for other objects.

    ``what`` is what Muster does not do with it, as the predicate of a sentence.
    """
    kind, version = kind_of(node), _version(node)
    if not isinstance(kind, str) or not kind.isidentifier() or len(kind) > LONGEST:
        return None
    if not version or version.partition("/")[0] == GROUP or kind in KINDS or kind in CONVERTERS:
        return None
    report, group = Report(node, filename), version.rpartition("/")[0]
    same = [each for each, converter in CONVERTERS.items() if converter.api_version == version]
    if close := get_close_matches(kind, same, n=1, cutoff=ALIKE):
        return report.refuse(("kind",), f"{version} has no {kind} that is known here", f"did you mean {close[0]}?")
    return report.refuse(("kind",), f"{kind} of {version} {what}", f"{_watched(kind, group)}; {WRITE}")


def _watched(kind: str, group: str) -> str:
    """Return how musterd watches over such an object, or over its pods."""
    for name, each in WATCHED_KINDS.items():
        if (each.subject.kind, each.subject.group) == (kind, group) and not each.virtual:
            label = "" if each.wanted is every else f" where it has the label {OBSERVE}"
            run = title(each.subject.word, "NAME")
            return f"musterd watches over it{label} (--watch-kinds {name}; muster get {run})"
    return f"where it makes pods, give them the label {OBSERVE}, and musterd watches over them (--watch-kinds pods)"


def _version(node: Node) -> str:
    found = scalar_at(node, "apiVersion")
    return found if isinstance(found, str) and _VERSION.match(found) else ""


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
    warnings = loaded.warnings
    losses = tuple(each for each in warnings if each.field in DROPPED or each.message.startswith("unknown field"))
    return document, losses, tuple(each for each in warnings if each not in losses)


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
