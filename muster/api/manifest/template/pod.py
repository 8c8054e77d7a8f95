"""``spec.template`` and ``spec.types.<type>.template``: the part of a pod that a manifest of AIchor has no word for.

The two levels at which Muster merges, the pod and its containers, are closed: a field is known, or owned by Muster and
refused with the field to use instead, or an error. Deeper fields (affinity, probes, volume sources, security contexts)
are passed on as written; the API server checks them when the pod is created.

A template can ask for everything that its author could write into a Pod of the same namespace. Nothing here replaces
admission: the namespace's Pod Security level decides what is too much (docs/pod-template.md).
"""

from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, WrapValidator, field_validator, model_validator

from muster.api.manifest.template.container import (
    ExtraContainer,
    InitContainer,
    Name,
    Opaque,
    Opaques,
    Selector,
    Word,
    is_reserved_volume,
    owned,
    read_container,
    unique,
)
from muster.api.names import GROUP, LABEL_MANAGED_BY
from muster.api.values.fields import Annotation, LabelKey, LabelValue, ObjectName, Shape, Wrong, listed


def _free_key(key: str) -> str:
    prefix = key.partition("/")[0] if "/" in key else ""
    if key == LABEL_MANAGED_BY or prefix == GROUP or prefix.endswith(f".{GROUP}"):
        hint = f"choose one that does not begin with {GROUP}/, and is not {LABEL_MANAGED_BY}"
        raise Wrong("Muster sets this key", hint)
    return key


_Key = Annotated[LabelKey, AfterValidator(_free_key)]


class Metadata(Shape):
    """The metadata of a member's pod that a template may add to."""

    labels: Annotated[dict[_Key, LabelValue], Field(max_length=64)] = Field({})
    annotations: Annotated[dict[_Key, Annotation], Field(max_length=64)] = Field({})
    name: Annotated[Any, owned("Muster names the pods", "remove it")] = None
    generate_name: Annotated[Any, owned("Muster names the pods", "remove it")] = None
    namespace: Annotated[Any, owned("members run in the experiment's namespace", "remove it")] = None
    owner_references: Annotated[Any, owned("the Experiment owns its pods", "remove it")] = None
    finalizers: Annotated[Any, owned("a finalizer would keep a gang restart waiting", "remove it")] = None


class Volume(Shape):
    """core/v1 Volume: a name and one source."""

    name: Name = Field(description="Name of the volume.")
    config_map: Opaque | None = None
    csi: Opaque | None = None
    downward_api: Opaque | None = Field(None, alias="downwardAPI")
    empty_dir: Opaque | None = None
    ephemeral: Opaque | None = None
    fc: Opaque | None = None
    host_path: Opaque | None = None
    image: Opaque | None = None
    iscsi: Opaque | None = None
    nfs: Opaque | None = None
    persistent_volume_claim: Opaque | None = None
    projected: Opaque | None = None
    secret: Opaque | None = None

    @field_validator("name", mode="after")
    @classmethod
    def _free(cls, name: str) -> str:
        if is_reserved_volume(name):
            raise Wrong(f"{name} is the name of a volume that Muster adds", "choose another name")
        return name

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        sources = [field for field in type(self).model_fields if field != "name" and getattr(self, field) is not None]
        if len(sources) != 1:
            count = "no source" if not sources else "more than one source"
            raise Wrong(f"volume {self.name} has {count}", "write one, for instance emptyDir: {}")
        return self


class NamedReference(Shape):
    """core/v1 LocalObjectReference."""

    name: ObjectName = Field(description="Name of the object.")


class Tolerated(Shape):
    """core/v1 Toleration."""

    key: LabelKey | None = None
    operator: Word | None = None
    value: Word | Literal[""] | None = None
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute", ""] | None = None
    toleration_seconds: Annotated[int, Field(ge=0)] | None = None


_CONTAINERS: Final = listed(32)
_HOSTNAME: Final = owned("Muster gives every member a host name of its own", "remove it")


class PodSpec(Shape):
    """core/v1 PodSpec, without what Muster sets."""

    containers: Annotated[
        tuple[Annotated[ExtraContainer, WrapValidator(read_container)], ...], _CONTAINERS, unique("name")
    ] = ()
    init_containers: Annotated[tuple[InitContainer, ...], _CONTAINERS, unique("name")] = ()
    volumes: Annotated[tuple[Volume, ...], listed(64), unique("name")] = ()
    service_account_name: ObjectName | None = None
    automount_service_account_token: bool = False
    image_pull_secrets: Annotated[tuple[NamedReference, ...], listed(32)] = ()
    priority_class_name: ObjectName | None = None
    preemption_policy: Literal["Never", "PreemptLowerPriority"] | None = None
    scheduler_name: Word | None = None
    runtime_class_name: ObjectName | None = None
    node_selector: Selector = Field({})
    affinity: Opaque = Field({})
    tolerations: Annotated[tuple[Tolerated, ...], listed(64)] = ()
    topology_spread_constraints: Opaques = ()
    resource_claims: Opaques = ()
    readiness_gates: Opaques = ()
    security_context: Opaque = Field({})
    dns_policy: Literal["ClusterFirst", "ClusterFirstWithHostNet", "Default", "None"] | None = None
    dns_config: Opaque = Field({})
    host_aliases: Opaques = ()
    host_network: bool = False
    host_ipc: bool = Field(False, alias="hostIPC")
    host_pid: bool = Field(False, alias="hostPID")
    host_users: bool = True
    share_process_namespace: bool = False
    enable_service_links: bool = False
    os: Opaque = Field({})
    scheduling_group: Opaque = Field({})
    hostname: Annotated[Any, _HOSTNAME] = None
    hostname_override: Annotated[Any, _HOSTNAME] = None
    subdomain: Annotated[Any, _HOSTNAME] = None
    set_hostname_as_fqdn: Annotated[Any, _HOSTNAME] = Field(None, alias="setHostnameAsFQDN")
    restart_policy: Annotated[Any, owned("Muster restarts the gang as a whole", "set spec.restartPolicy")] = None
    termination_grace_period_seconds: Annotated[
        Any,
        owned("the manifest states the grace period", "set spec.gracefulTermination.terminationGracePeriodSeconds"),
    ] = None
    active_deadline_seconds: Annotated[Any, owned("Muster stops pods by it", "set spec.timeout")] = None
    scheduling_gates: Annotated[Any, owned("Muster decides when a member may start", "remove it")] = None
    node_name: Annotated[
        Any, owned("it would put every member on one node, past the scheduler", "use nodeSelector or affinity")
    ] = None
    resources: Annotated[Any, owned("the manifest states the resources of a member", "set resources of the type")] = (
        None
    )
    priority: Annotated[Any, owned("the priority class states it", "set priorityClassName")] = None
    overhead: Annotated[Any, owned("the runtime class states it", "set runtimeClassName")] = None
    service_account: Annotated[Any, owned("the field is deprecated", "set serviceAccountName")] = None
    ephemeral_containers: Annotated[
        Any, owned("a pod cannot be created with them", "use kubectl debug on a running member")
    ] = None


class PodTemplate(Shape):
    """core/v1 PodTemplateSpec, without what Muster sets."""

    metadata: Metadata = Metadata.model_construct()
    spec: PodSpec = PodSpec.model_construct()
