"""Messages about an object that Muster neither runs nor converts: whether it can be watched over, and how."""

import re
from difflib import get_close_matches
from typing import Final

from muster.api.manifest.load import KINDS, kind_of
from muster.api.manifest.problems import ManifestError
from muster.api.manifest.yaml.reader import Mapping, Node, Scalar
from muster.api.names import GROUP
from muster.kinds.convert.source import Report
from muster.kinds.declaration.watched_kind import every
from muster.kinds.manifests.converters import CONVERTERS
from muster.kinds.pods import OBSERVE
from muster.kinds.registry.watched_kinds import WATCHED_KINDS
from muster.state.vocabulary.subject import title

ALIKE: Final = 0.85
"""From which ratio of difflib a kind is taken for a misspelled one: ``RayJobs``, and not ``RayCronJob``."""
LONGEST: Final = 60
_VERSION: Final = re.compile(r"(?:[a-z0-9.-]{1,60}/)?v[0-9][a-z0-9]{0,15}\Z")
WRITE: Final = "for Muster to run it, write an Experiment: muster init begins one"


def refusal(node: Node, filename: str, what: str) -> ManifestError | None:
    """Return the error for an object of another controller; ``what`` is not done with it. None for other objects."""
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
    entry = node.entries.get("apiVersion") if isinstance(node, Mapping) else None
    found = entry.node.value if entry is not None and isinstance(entry.node, Scalar) else None
    return found if isinstance(found, str) and _VERSION.match(found) else ""
