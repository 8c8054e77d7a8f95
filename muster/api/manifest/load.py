"""Load a manifest from its text.

Accepts an AIchorManifest (0.2.1 to 0.2.3, older spellings included) or an Experiment. Either way the result is one
``ExperimentSpec``, with warnings for what is ignored or rewritten. A manifest that cannot be used raises one
``ManifestError`` with all of its problems, each with file, line, column, field and hint.
"""

import re
from collections.abc import Iterable
from collections.abc import Mapping as Dict
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Field, ValidationError

from muster.api.manifest.aichor import NEAREST, AIchorManifest
from muster.api.manifest.error_text import explain, position
from muster.api.manifest.experiment import ExperimentSpec
from muster.api.manifest.legacy import modernise
from muster.api.manifest.naming import check_name, slug
from muster.api.manifest.operators import operators
from muster.api.manifest.problems import ManifestError, Problem, bounded, nearest, path, quoted
from muster.api.manifest.yaml.reader import Mapping, Node, at, plain, read_yaml, scalar_at
from muster.api.names import AICHOR_KIND, API_VERSION, GROUP, KIND
from muster.api.values.fields import Annotation, ExperimentName, LabelKey, LabelValue, Namespace, Shape

AICHOR: Final = AICHOR_KIND
KINDS: Final = (AICHOR, KIND)
SERVER_FIELDS: Final = (
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)
"""Metadata that only the API server writes. It is ignored, so that an exported object can be loaded again."""


def kind_of(node: Node) -> object:
    """Return the kind that a manifest names; without one it is AIchor's."""
    return AICHOR if at(node, "kind") is None else scalar_at(node, "kind")


class ManifestMetadata(Shape):
    """Metadata of an Experiment in a file."""

    name: ExperimentName = Field(description="Name of the experiment; also of its headless Service.")
    namespace: Namespace | None = Field(None, description="Namespace to create it in.")
    labels: Annotated[dict[LabelKey, LabelValue], Field(max_length=64)] = Field({}, description="Kubernetes labels.")
    annotations: Annotated[dict[LabelKey, Annotation], Field(max_length=64)] = Field(
        {}, description="Kubernetes annotations."
    )


class ExperimentManifest(Shape):
    """An Experiment in a file."""

    api_version: Literal["muster.dev/v1alpha1"] = Field(description="Always muster.dev/v1alpha1.")
    kind: Literal["Experiment"] = Field(description="Always Experiment.")
    metadata: ManifestMetadata = Field(description="Name, namespace, labels and annotations.")
    spec: ExperimentSpec = Field(description="What to run.")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A manifest that can be run. ``name`` is None if the manifest has none."""

    kind: str
    name: str | None
    namespace: str | None
    spec: ExperimentSpec
    labels: Dict[str, str]
    annotations: Dict[str, str]
    warnings: tuple[Problem, ...]
    notes: tuple[Problem, ...] = ()
    """Remarks on valid parts that are worth knowing."""


def _of_others(version: str) -> bool:
    """Return True if an apiVersion is that of another controller or of Kubernetes, and none of AIchor's."""
    return bool(re.fullmatch(r"([a-z0-9.-]+/)?v[0-9]\w*", version)) and version != API_VERSION


def load_manifest(text: str, *, filename: str = "<manifest>") -> Loaded:
    """Read a manifest. Raises ``ManifestError`` with all of its problems."""
    node, problems = read_yaml(text, filename=filename)
    if node is None:
        raise ManifestError(bounded(problems))
    return load_node(node, problems, filename=filename)


def load_node(node: Node, problems: Iterable[Problem] = (), *, filename: str = "<manifest>") -> Loaded:
    """Return the manifest in a tree that was read with these problems. Raises ``ManifestError``."""
    return _Loading(node, filename, [*problems]).load()


def experiment_object(loaded: Loaded, *, name: str, namespace: str) -> dict[str, Any]:
    """Return the object to POST. Raises ``ManifestError`` if ``name`` is not valid for its groups."""
    found = check_name(name, loaded.spec.groups)
    if found:
        raise ManifestError([Problem("", 0, 0, "metadata.name", message, hint) for message, hint in found])
    metadata: dict[str, Any] = {"name": name, "namespace": namespace}
    if loaded.labels:
        metadata["labels"] = dict(loaded.labels)
    if loaded.annotations:
        metadata["annotations"] = dict(loaded.annotations)
    spec = loaded.spec.model_dump(mode="json", by_alias=True, exclude_unset=True, exclude_none=True)
    return {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}


class _Loading:
    """Loads one document, and collects its problems and warnings."""

    def __init__(self, node: Node, file: str, problems: list[Problem]) -> None:
        self.node = node
        self.file = file
        self.problems = problems
        self.warnings: list[Problem] = []
        self.kind: object = None

    def problem(self, loc: tuple[str | int, ...], message: str, hint: str = "", *, key: bool = False) -> Problem:
        """Return a problem at a place of the document."""
        line, column = position(self.node, loc, key=key)
        return Problem(self.file, line, column, path(loc), message, hint)

    def warn(self, loc: tuple[str | int, ...], message: str, hint: str) -> None:
        """Add a warning about the key at a place of the document."""
        self.warnings.append(self.problem(loc, message, hint, key=True))

    def error(self, *found: Problem) -> ManifestError:
        """Return the error with everything found so far."""
        return ManifestError(bounded([*self.problems, *found]))

    def load(self) -> Loaded:
        """Return the manifest, whichever kind it is."""
        if not isinstance(self.node, Mapping):
            raise self.error(self.problem((), "a manifest is a mapping", "begin with kind: AIchorManifest"))
        kind = kind_of(self.node)
        if kind not in KINDS:
            raise self.error(self._wrong_kind(kind))
        operator = scalar_at(self.node, "spec", "operator")
        if operator in NEAREST:
            message = f"Muster does not run the operator {operator}; it runs {', '.join(operators())}"
            raise self.error(self.problem(("spec", "operator"), message, f"the nearest is {NEAREST[str(operator)]}"))
        self.warnings += modernise(self.node, self.file)
        self.kind = kind
        loaded = self._aichor() if kind == AICHOR else self._experiment()
        if loaded is None or self.problems:
            raise self.error()
        return loaded

    def _wrong_kind(self, kind: object) -> Problem:
        version = scalar_at(self.node, "apiVersion")
        if isinstance(kind, str) and isinstance(version, str) and kind.isidentifier() and _of_others(version):
            hint = f"write an {AICHOR} with one of the operators {', '.join(operators())}"
            return self.problem(("kind",), f"{kind} objects are not supported by this release", hint)
        close = nearest(kind, KINDS) if isinstance(kind, str) else None
        return self.problem(("kind",), f"{quoted(kind)} is not a kind of manifest", f"write kind: {close or AICHOR}")

    def _read(self, model: type[BaseModel], data: Any, root: tuple[str | int, ...] = ()) -> Any:
        try:
            return model.model_validate(data, by_alias=True, by_name=False, context={"kind": self.kind})
        except ValidationError as error:
            operator = scalar_at(self.node, "spec", "operator")
            found = explain(error, model, operator=operator, root=root, node=self.node, file=self.file)
            known = {(problem.line, problem.column, problem.field) for problem in self.problems}
            self.problems += [new for new in found if (new.line, new.column, new.field) not in known]
            return None

    def _aichor(self) -> Loaded | None:
        data = plain(self.node)
        manifest: AIchorManifest | None = self._read(AIchorManifest, data)
        built, image = (scalar_at(self.node, part, "image") for part in ("builder", "spec"))
        if isinstance(built, str) and isinstance(image, str) and built != image:
            message = f"{quoted(built)} is not spec.image, {quoted(image)}"
            self.problems.append(self.problem(("builder", "image"), message, "write the same image in both"))
        if manifest is None:
            return None
        experiment: ExperimentSpec | None = self._read(ExperimentSpec, data.get("spec"), ("spec",))
        if experiment is None:
            return None
        self._warn_ignored(manifest)
        name = self._aichor_name(manifest.name, experiment)
        self._warn_spec(experiment)
        return Loaded(AICHOR, name, None, experiment, {}, {}, bounded(self.warnings))

    def _aichor_name(self, written: str | None, spec: ExperimentSpec) -> str | None:
        """Return AIchor's name, which may be any text; if it is no Kubernetes name, the nearest valid one."""
        if not written:
            return None
        name = slug(written)
        if name != written:
            message = f"{quoted(written)} cannot name a Kubernetes object"
            hint = f"it is read as {name}" if name else "name the experiment when you submit it"
            self.warnings.append(self.problem(("name",), message, hint))
        found = check_name(name, spec.groups) if name else []
        self.problems += [self.problem(("name",), message, hint) for message, hint in found]
        return name or None

    def _experiment(self) -> Loaded | None:
        data = plain(self.node)
        if data.get("status") is not None:
            self.warn(("status",), "status is ignored", "Muster writes it")
        data.pop("status", None)
        metadata = data.get("metadata")
        if isinstance(metadata, dict):
            dropped = [key for key in SERVER_FIELDS if metadata.pop(key, None) is not None]
            if dropped:
                self.warn(("metadata",), f"{', '.join(dropped)} ignored", "the API server writes them")
        manifest: ExperimentManifest | None = self._read(ExperimentManifest, data)
        if manifest is None:
            return None
        meta, spec = manifest.metadata, manifest.spec
        found = check_name(meta.name, spec.groups)
        self.problems += [self.problem(("metadata", "name"), message, hint) for message, hint in found]
        self._warn_spec(spec)
        return Loaded(KIND, meta.name, meta.namespace, spec, meta.labels, meta.annotations, bounded(self.warnings))

    def _warn_ignored(self, manifest: AIchorManifest) -> None:
        if manifest.builder is not None:
            hint = f"spec.image ({quoted(manifest.spec.image)}) must be in a registry already"
            self.warn(("builder",), "builder is ignored: Muster does not build images", hint)
        if manifest.clone is not None:
            self.warn(("clone",), "clone is ignored: Muster does not clone", "the image must hold the program")
        if manifest.engine_name is not None:
            self._warn_engine(("engineName",))

    def _warn_spec(self, spec: ExperimentSpec) -> None:
        if spec.engine_name is not None:
            self._warn_engine(("spec", "engineName"))
        if spec.timeout is not None and spec.active_deadline_seconds is not None:
            message = f"timeout ({spec.timeout}) wins over activeDeadlineSeconds"
            self.warn(("spec", "activeDeadlineSeconds"), message, "remove one of them")
        if not any(group.members for group in spec.groups):
            self.warn(("spec", "types"), "every count is 0: no member will run", "raise a count")

    def _warn_engine(self, loc: tuple[str | int, ...]) -> None:
        hint = f"choose the cluster by kubeconfig context; this one is where {GROUP} is installed"
        self.warn(loc, "engineName is ignored", hint)
