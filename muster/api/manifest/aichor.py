"""AIchorManifest 0.2.x, as far as public pages and published manifests establish it.

One set of models reads 0.2.1, 0.2.2 and 0.2.3: apiVersion does not select a schema (InstaDeep's count-scenarios
conformance manifests state this for AIchor). ``builder``, ``clone`` and ``engineName`` belong to
AIchor's build service and are accepted, checked and ignored: Muster runs images, it does not build them.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, ValidationInfo, field_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from muster.api.manifest.groups import Group
from muster.api.manifest.operators import only_for, operators
from muster.api.manifest.problems import nearest, quoted
from muster.api.manifest.types.field import ByOperator, Types
from muster.api.values.durations import parse_duration
from muster.api.values.fields import (
    Command,
    Count,
    Duration,
    Gigabytes,
    Image,
    MountPath,
    ObjectName,
    Seconds,
    Shape,
    Text,
    Word,
    Wrong,
    listed,
)

NEAREST: Final = {
    "ray": "kuberay, which takes the same Head and Workers",
    "tf": "jobset, which runs any program and leaves TF_CONFIG to it",
    "batchjob": "jobset with one type and count 1",
    "slurm": "jobset, with nodes as count and the script as command",
    "vertexai": "jobset, with a type for each worker pool",
}
"""Operators of AIchor that Muster does not run, and the nearest one that it does."""


def check_operator(value: Any) -> Any:
    """Refuse an operator that Muster does not run, and name the nearest one that it does."""
    if not isinstance(value, str):
        raise Wrong(f"{quoted(value)} is not allowed here, it is one of {', '.join(operators())}", "")
    if value in operators():
        return value
    runs = f"it runs {', '.join(operators())}"
    if value in NEAREST:
        raise Wrong(f"Muster does not run the operator {value}; {runs}", f"the nearest is {NEAREST[value]}")
    close = nearest(value, [*operators()])
    hint = f"write operator: {close}" if close else "write one of them"
    raise Wrong(f"{quoted(value)} is not an operator; {runs}", hint)


class OneOfOperators:
    """Marks the field that names an operator."""

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "string", "enum": [*operators()]}


def _string_or_bool(value: Any) -> Any:
    if not isinstance(value, str | bool):
        raise Wrong(f"a build argument is text or true or false, not {quoted(value)}", "put the value in quotes")
    return value


def _switch(value: Any) -> Any:
    return {"enabled": value} if isinstance(value, bool) else value


class SkipBuild(Shape):
    """Reuse of the image of an earlier experiment (ignored)."""

    enabled: bool = Field(False, description="Ignored: Muster does not build.")
    experiment_id: Text | None = Field(None, alias="experimentID", description="Ignored.")
    fail_if_not_found: bool = Field(False, description="Ignored.")


class Builder(Shape):
    """AIchor's build of the image (ignored: Muster runs images that exist)."""

    image: Image | None = Field(None, description="Must equal spec.image; otherwise ignored.")
    dockerfile: Text | None = Field(None, description="Ignored.")
    context: Text | None = Field(None, description="Ignored.")
    build_args: (
        Annotated[dict[Text, Annotated[Any, BeforeValidator(_string_or_bool)]], Field(max_length=256)] | None
    ) = Field(None, description="Ignored.")
    registry: Text | None = Field(None, description="Ignored: write the registry into spec.image.")
    target: Text | None = Field(None, description="Ignored.")
    skip_build: SkipBuild | None = Field(None, description="Ignored.")


class Clone(Shape):
    """AIchor's clone of the repository (ignored)."""

    depth: Annotated[int, Field(ge=1)] = Field(1, description="Ignored.")
    include_dot_git: bool = Field(False, description="Ignored.")
    submodules: Literal["false", "true", "recursive"] = Field("false", description="Ignored.")


class UsePvc(Shape):
    """A claim that holds TensorBoard's files."""

    enabled: bool = Field(False, description="Whether the claim is used.")
    name: ObjectName | None = Field(None, description="PersistentVolumeClaim in the experiment's namespace.")


class Tensorboard(Shape):
    """Place of TensorBoard's event files."""

    enabled: bool = Field(False, description="Whether the experiment writes TensorBoard files.")
    use_pvc: UsePvc | None = Field(None, alias="usePVC", description="Keep them on a claim.")


class SharedVolume(Shape):
    """A volume that is mounted into every member and deleted with the experiment."""

    mount_point: MountPath = Field(description="Where it is mounted.")
    size_gb: Gigabytes = Field(alias="sizeGB", description="Its size in GB (10^9 bytes).")
    storage_class: ObjectName | None = Field(None, description="StorageClass; absent takes the cluster's default.")
    access_mode: Literal["ReadWriteOnce", "ReadWriteOncePod", "ReadOnlyMany", "ReadWriteMany"] = Field(
        "ReadWriteOnce", description="Kubernetes access mode; members on several nodes need ReadWriteMany."
    )


class AttachedPvc(Shape):
    """An existing claim mounted into every member."""

    name: ObjectName = Field(description="PersistentVolumeClaim in the experiment's namespace.")
    mount_point: MountPath = Field(description="Where it is mounted.")


class Storage(Shape):
    """Volumes of every member."""

    shared_volume: SharedVolume | None = Field(None, description="A volume made for this experiment.")
    attach_existing_pvcs: Annotated[tuple[AttachedPvc, ...], listed(32)] = Field(
        (), alias="attachExistingPVCs", description="Claims that exist already."
    )


class Jupyter(Shape):
    """A Jupyter server in place of the command."""

    enabled: bool = Field(False, description="Whether it is started.")
    path: Text = Field("jupyter", description="The program to start.")


class VsCode(Shape):
    """A VS Code tunnel in place of the command."""

    enabled: bool = Field(description="Whether it is started.")
    path: Text = Field("code", description="The program to start.")
    provider: Literal["github", "microsoft"] = Field("github", description="Who signs the user in.")


class Debug(Shape):
    """Interactive sessions: jupyter for kuberay, vscode for every other operator."""

    jupyter: Annotated[Jupyter, BeforeValidator(_switch)] | None = Field(
        None, description="kuberay only; true or false may be written in place of the mapping."
    )
    vscode: VsCode | None = Field(None, description="Every operator but kuberay.")


class SecurityContext(Shape):
    """Additional rights of a member's process."""

    ptrace: bool = Field(False, description="Allow SYS_PTRACE, which debuggers and profilers need.")


class GracefulTermination(Shape):
    """The way in which a member is asked to stop."""

    termination_grace_period_seconds: Annotated[int, Field(ge=0, le=86_400)] | None = Field(
        None, description="Seconds between the request to stop and the kill."
    )
    shutdown_command: Annotated[tuple[Command, ...], listed(64)] = Field(
        (), description="Command run in the container before it is asked to stop."
    )


class BackoffLimit(Shape):
    """Limit of the restarts of the whole gang."""

    backoff_limit: Count = Field(3, description="Gang restarts allowed before the experiment fails.")


class AIchorSpec(Shape):
    """Program to run (``spec`` of a manifest)."""

    operator: Annotated[str, BeforeValidator(check_operator), OneOfOperators()] = Field(
        description="The framework that runs the experiment."
    )
    image: Image = Field(description="Container image of every member; the nodes must be able to pull it.")
    command: Command = Field(description="One line or script, run by the image's shell.")
    types: Annotated[Types, ByOperator()] = Field(
        description="The groups of members, by type; which types there are depends on the operator."
    )
    ray_version: Word | None = Field(None, description="Ray version of the image; kuberay only.")
    timeout: Duration | None = Field(None, description="Longest duration of the whole experiment, restarts included.")
    active_deadline_seconds: Seconds | None = Field(
        None, description="The same in seconds; timeout wins if both are given."
    )
    tensorboard: Tensorboard | None = Field(None, description="TensorBoard files.")
    storage: Storage | None = Field(None, description="Volumes of every member.")
    debug: Debug | None = Field(None, description="Interactive sessions in place of the command.")
    security_context: SecurityContext | None = Field(None, description="Additional rights of a member's process.")
    graceful_termination: GracefulTermination | None = Field(None, description="How a member is asked to stop.")
    restart_policy: BackoffLimit | None = Field(None, description="Restarts after a failure.")
    engine_name: Text | None = Field(None, description="Ignored: the AIchor cluster to run on.")

    @field_validator("ray_version", mode="after")
    @classmethod
    def _of_operator(cls, value: str | None, info: ValidationInfo) -> str | None:
        operator, field = info.data.get("operator"), cls.model_fields[str(info.field_name)].alias
        having = [name for name, each in operators().items() if field in each.fields]
        if value is not None and operator is not None and operator not in having:
            raise Wrong(f"{field} is {only_for(having)}, this is {operator}", "remove it")
        return value

    @field_validator("debug", mode="after")
    @classmethod
    def _debugger_of(cls, debug: Debug | None, info: ValidationInfo) -> Debug | None:
        operator = info.data.get("operator")
        if debug is None or operator is None:
            return debug
        own = operators()[operator].debugger
        for name in type(debug).model_fields:
            if name != own and getattr(debug, name) is not None:
                having = [each.name for each in operators().values() if each.debugger == name]
                raise Wrong(f"{name} is {only_for(having)}, this is {operator}", f"remove it, or use debug.{own}")
        return debug

    @property
    def groups(self) -> tuple[Group, ...]:
        """Return the groups in rank order, whatever the operator."""
        return tuple(self.types.groups())

    @property
    def deadline_seconds(self) -> int | None:
        """Return the seconds the whole experiment may take: timeout, else activeDeadlineSeconds, else no limit."""
        return parse_duration(self.timeout) if self.timeout else self.active_deadline_seconds


class AIchorManifest(Shape):
    """A manifest file of AIchor."""

    kind: Literal["AIchorManifest"] = Field("AIchorManifest", description="Always AIchorManifest; may be left out.")
    api_version: Literal["0.2.1", "0.2.2", "0.2.3"] = Field("0.2.3", description="Version of the manifest format.")
    name: Text | None = Field(None, description="Name of the experiment; may be given at submission instead.")
    builder: Builder | None = Field(None, description="How AIchor builds the image; ignored.")
    clone: Clone | None = Field(None, description="How AIchor clones the repository; ignored.")
    engine_name: Text | None = Field(None, description="Ignored: the AIchor cluster to run on.")
    spec: AIchorSpec = Field(description="What to run.")
