"""Load a manifest of any kind: those of other controllers are read as the Experiment that they convert into."""

from collections.abc import Iterable
from dataclasses import replace

from muster.api.convert.conversion import CONVERTERS, convert_node, kind_of
from muster.api.manifest.load import Loaded, load_node
from muster.api.manifest.problems import ManifestError, Problem, bounded
from muster.api.manifest.yaml_reader import Mapping, Node, read_yaml
from muster.api.manifest.yaml_tree import tree_of


def load_any(text: str, *, filename: str = "<manifest>") -> Loaded:
    """Read a manifest of any kind. Raises ``ManifestError`` with all of its problems."""
    node, problems = read_yaml(text, filename=filename)
    if node is None:
        raise ManifestError(bounded(problems))
    return load_any_node(node, problems, filename=filename)


def load_any_node(node: Node, problems: Iterable[Problem] = (), *, filename: str = "<manifest>") -> Loaded:
    """The manifest in a tree that was read with these problems. Raises ``ManifestError``."""
    kind = kind_of(node)
    if not isinstance(node, Mapping) or kind not in CONVERTERS:
        return load_node(node, problems, filename=filename)
    found = convert_node(node, problems, filename=filename)
    loaded = load_node(tree_of(found.document), filename=filename)
    entry = node.entries["kind"]
    hint = f"{len(found.losses)} of its fields are lost" if found.losses else "muster convert shows it"
    said = Problem(filename, entry.line, entry.column, "kind", f"a {kind} is run as an Experiment", hint)
    return replace(loaded, warnings=found.losses, notes=(said, *found.notes))
