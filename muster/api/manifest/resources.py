"""Resources of one member of a group (``spec.types.<type>.resources``).

Fields and defaults: docs.aichor.ai (manifest overview, reference and examples) and published manifests.
"""

from math import prod
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator

from muster.api.values import quantities
from muster.api.values.fields import (
    TOPOLOGY,
    Cpus,
    Gigabytes,
    LabelKey,
    LabelValue,
    Number,
    Shape,
    Word,
    Wrong,
    limited,
    listed,
)

Devices = Annotated[int, Field(ge=0, le=1_024)]


class Gpu(Shape):
    """GPUs of one member."""

    count: Devices = Field(0, description="GPUs per member; 0 asks for none, whatever the product.")
    type: Literal["gpu"] = Field("gpu", description="Always gpu.")
    product: LabelValue | None = Field(
        None,
        description="GPU model as the node label nvidia.com/gpu.product spells it, for instance NVIDIA-A100-SXM4-80GB.",
    )


class Tpu(Shape):
    """A TPU slice; its number of hosts follows from the topology."""

    type: LabelValue = Field(
        description="TPU slice type as the node label spells it, for instance tpu-v5-lite-podslice."
    )
    topology: Annotated[str, limited(TOPOLOGY, 14)] = Field(
        description="Chips along each axis of the slice, for instance 4x4."
    )
    tpu_chips_count: Annotated[int, Field(ge=1, le=1_024)] = Field(
        description="Chips of one host, which one member gets."
    )

    @model_validator(mode="after")
    def _whole_hosts(self) -> Self:
        if self.chips % self.tpu_chips_count:
            message = f"a {self.topology} slice has {self.chips} chips, not whole hosts of {self.tpu_chips_count}"
            raise Wrong(message, "change topology or tpuChipsCount")
        return self

    @property
    def chips(self) -> int:
        """Return the number of chips of the whole slice."""
        return prod(map(int, self.topology.split("x")))

    @property
    def hosts(self) -> int:
        """Return the number of machines of the slice; each runs one member."""
        return self.chips // self.tpu_chips_count


class Accelerators(Shape):
    """Devices beside the CPU."""

    gpu: Gpu | None = Field(None, description="GPUs.")
    tpu: Tpu | None = Field(None, description="A TPU slice.")


class Toleration(Shape):
    """Lets members onto nodes with a matching taint (Kubernetes core/v1 Toleration)."""

    key: LabelKey | None = Field(None, description="Taint key; absent with operator Exists matches every taint.")
    operator: Literal["Equal", "Exists"] = Field("Equal", description="How value is compared.")
    value: LabelValue | None = Field(None, description="Taint value, for operator Equal.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        None, description="Taint effect; absent matches every effect."
    )

    @model_validator(mode="after")
    def _meaningful(self) -> Self:
        if self.operator == "Exists" and self.value:
            raise Wrong("operator Exists ignores value", "remove value, or write operator: Equal")
        if self.operator == "Equal" and self.key is None:
            raise Wrong("a toleration without key matches nothing", "write the key, or operator: Exists")
        return self


class Rdma(Shape):
    """Network devices for direct memory access between members."""

    devices: Annotated[tuple[Word, ...], listed(16, 1)] = Field(
        description="Names of the RDMA devices each member gets one of, for instance sriov_a."
    )


class Resources(Shape):
    """Requests and placement of one member."""

    cpus: Cpus = Field(1.0, description="CPUs requested per member, in steps of 0.001.")
    cpu_limit_ratio: Annotated[Number, Field(ge=1, le=1_000)] = Field(
        2.0, description="CPU limit as a multiple of cpus; 1 pins the limit to the request."
    )
    ram_ratio: Gigabytes | None = Field(
        None, description="GB (10^9 bytes) of memory per CPU: memory is cpus x ramRatio. Either this or memory."
    )
    memory: Gigabytes | None = Field(
        None, validate_default=True, description="GB (10^9 bytes) of memory per member. Either this or ramRatio."
    )
    shm_size_gb: Annotated[int, Field(ge=0, le=100_000)] = Field(
        0,
        alias="shmSizeGB",
        description="Size of /dev/shm in GB, taken from the member's memory; 0 leaves the runtime's default.",
    )
    accelerators: Accelerators | None = Field(None, description="GPUs or a TPU slice.")
    extra_selectors: Annotated[dict[LabelKey, LabelValue], Field(max_length=64)] = Field(
        {}, description="Node labels a member's node must have, for instance karpenter.sh/capacity-type: spot."
    )
    extra_tolerations: Annotated[tuple[Toleration, ...], listed(64)] = Field(
        (), description="Node taints the members tolerate."
    )
    rdma: Rdma | None = Field(None, description="RDMA network devices.")

    @field_validator("memory", mode="after")
    @classmethod
    def _exactly_one(cls, memory: float | None, info: ValidationInfo) -> float | None:
        if "ram_ratio" not in info.data:
            return memory
        if memory is None and info.data["ram_ratio"] is None:
            hint = "write one of them, for instance ramRatio: 2 (GB per CPU)"
            raise Wrong("neither ramRatio nor memory is given", hint)
        if memory is not None and info.data["ram_ratio"] is not None:
            raise Wrong("both ramRatio and memory are given", "keep one of them")
        return memory

    @property
    def cpu_request(self) -> str:
        """Return CPU request as a Kubernetes quantity."""
        return quantities.cpu(self.cpus)

    @property
    def cpu_limit(self) -> str:
        """Return CPU limit as a Kubernetes quantity: cpus x cpuLimitRatio."""
        return quantities.cpu(quantities.exact(self.cpus) * quantities.exact(self.cpu_limit_ratio))

    @property
    def memory_request(self) -> str:
        """Return memory as a Kubernetes quantity; request and limit are the same."""
        if self.memory is not None:
            return quantities.gigabytes(self.memory)
        return quantities.gigabytes(quantities.exact(self.cpus) * quantities.exact(self.ram_ratio or 0))

    @property
    def gpus(self) -> int:
        """Return GPUs per member."""
        return self.accelerators.gpu.count if self.accelerators and self.accelerators.gpu else 0

    @property
    def tpu(self) -> Tpu | None:
        """Return the TPU slice, if one is asked for."""
        return self.accelerators.tpu if self.accelerators else None
