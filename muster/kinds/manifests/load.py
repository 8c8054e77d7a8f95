"""Load a manifest of any kind.

An object of a kind that Muster runs stays what it is where its manager is Muster. Every other object of another
controller is read as the Experiment that it converts into. What knows these kinds is imported for them only.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from muster.api.manifest.error_text import position
from muster.api.manifest.load import KINDS, SERVER_FIELDS, Loaded, experiment_object, kind_of, load_node
from muster.api.manifest.problems import ManifestError, Problem, SpecError, path
from muster.api.manifest.yaml.reader import Mapping as Tree
from muster.api.manifest.yaml.reader import Node, plain, tree_of
from muster.kinds.manifests.documents import read_one

if TYPE_CHECKING:
    from muster.kinds.declaration import RunKind


@dataclass(frozen=True, slots=True)
class LoadedObject:
    """An object of another kind that is created as it is written, and that Muster runs."""

    kind: str
    name: str
    namespace: str | None
    document: Mapping[str, Any]
    warnings: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()


def load_any(text: str, *, filename: str = "<manifest>") -> Loaded | LoadedObject:
    """Read a manifest of any kind. Raises ``ManifestError`` with all of its problems."""
    node, problems, others = read_one(text, filename=filename)
    loaded = load_any_node(node, problems, filename=filename)
    return replace(loaded, warnings=(*others, *loaded.warnings))


def load_any_node(
    node: Node, problems: Iterable[Problem] = (), *, filename: str = "<manifest>"
) -> Loaded | LoadedObject:
    """Return the manifest in a tree that was read with these problems. Raises ``ManifestError``."""
    kind = kind_of(node)
    if kind in KINDS:
        return load_node(node, problems, filename=filename)
    from muster.kinds.manifests.conversion import convert_node, refusal
    from muster.kinds.manifests.converters import CONVERTERS

    if not isinstance(node, Tree) or kind not in CONVERTERS:
        if (error := refusal(node, filename, "is not run by Muster")) is not None:
            raise error
        return load_node(node, problems, filename=filename)
    from muster.api.names import MANAGED_BY
    from muster.kinds.registry import RUN_KINDS

    problems, run = [*problems], RUN_KINDS.get(str(kind))
    if not problems and run and run.ours(plain(node)):
        return _as_it_is(node, run, filename)
    found = convert_node(node, problems, filename=filename)
    loaded = load_node(tree_of(found.document), filename=filename)
    lost = len(found.losses)
    hint = f"{lost} of its fields {'is' if lost == 1 else 'are'} lost" if lost else "muster convert shows it"
    if run:
        hint += f"; with {'.'.join(run.manager)}: {MANAGED_BY} it is run as it is"
    note = _problem(node, filename, f"this {kind} is run as an Experiment", hint)
    return replace(
        loaded, warnings=(*found.losses, *(run.traps(node, filename) if run else ())), notes=(note, *found.notes)
    )


def object_of(loaded: Loaded | LoadedObject, *, name: str, namespace: str) -> dict[str, Any]:
    """Return the object to POST. Raises ``ManifestError`` if ``name`` is not valid for its groups."""
    if isinstance(loaded, Loaded):
        return experiment_object(loaded, name=name, namespace=namespace)
    document = deepcopy(dict(loaded.document))
    document["metadata"] |= {"name": name, "namespace": namespace}
    return document


def _as_it_is(node: Tree, kind: "RunKind", file: str) -> LoadedObject:
    from muster.kinds.convert.pod_fields import pod_fields

    document, version = plain(node), kind.subject.api_version
    if document.get("apiVersion") != version:
        raise ManifestError([_problem(node, file, f"it is not of version {version}", f"write apiVersion: {version}")])
    try:
        kind.parse(document, file, node)
    except SpecError as error:
        raise ManifestError(error.problems) from None
    document.pop("status", None)
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str):
        loc = ("metadata", "name")
        raise ManifestError([Problem(file, *position(node, loc), path(loc), "a name is expected", "write one")])
    for key in SERVER_FIELDS:
        metadata.pop(key, None)
    warnings = (*kind.traps(node, file), *pod_fields(node, file=file))
    return LoadedObject(kind.subject.kind, metadata["name"], metadata.get("namespace"), document, warnings)


def _problem(node: Tree, file: str, message: str, hint: str) -> Problem:
    entry = node.entries["kind"]
    return Problem(file, entry.line, entry.column, "kind", message, hint)
