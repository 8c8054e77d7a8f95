"""From a spec and a type's resources to what the type's pods run and ask of a node."""

from collections.abc import Iterator

from muster.api.manifest.experiment import ExperimentSpec
from muster.api.manifest.resources import Resources
from muster.state.vocabulary.pod_spec import PodSpec, Toleration, Volume

DEFAULT_GRACE = 30
"""Seconds from SIGTERM to SIGKILL (the default of core/v1 PodSpec.terminationGracePeriodSeconds)."""
TENSORBOARD_PATH = "/tensorboard"
"""Mount path of TensorBoard's claim."""

GPU = "nvidia.com/gpu"
GPU_PRODUCT = "nvidia.com/gpu.product"
"""Node label that NVIDIA's GPU feature discovery sets; AIchor's ``product`` is its value."""
TPU = "google.com/tpu"
TPU_TYPE = "cloud.google.com/gke-tpu-accelerator"
TPU_TOPOLOGY = "cloud.google.com/gke-tpu-topology"
RDMA = "rdma/"
"""Resource prefix of the RDMA shared device plugin; the manifest names the rest."""


def pod_spec_of(spec: ExperimentSpec, resources: Resources) -> PodSpec:
    """Return one member's pod. Memory is requested and limited alike, because it cannot be taken back."""
    devices: dict[str, str] = {}
    selector = dict(resources.extra_selectors)
    accelerators = resources.accelerators
    if resources.gpus:
        devices[GPU] = str(resources.gpus)
        if accelerators and accelerators.gpu and accelerators.gpu.product:
            selector[GPU_PRODUCT] = accelerators.gpu.product
    if tpu := resources.tpu:
        devices[TPU] = str(tpu.tpu_chips_count)
        selector |= {TPU_TYPE: tpu.type, TPU_TOPOLOGY: tpu.topology}
    if resources.rdma:
        devices |= {f"{RDMA}{device}": "1" for device in resources.rdma.devices}
    memory = resources.memory_request
    graceful = spec.graceful_termination
    grace = graceful.termination_grace_period_seconds if graceful else None
    return PodSpec(
        image=spec.image,
        command=spec.command,
        requests={"cpu": resources.cpu_request, "memory": memory, **devices},
        limits={"cpu": resources.cpu_limit, "memory": memory, **devices},
        shm_bytes=resources.shm_size_gb * 10**9,
        node_selector=selector,
        tolerations=tuple(
            Toleration(each.key or "", each.operator, each.value or "", each.effect or "")
            for each in resources.extra_tolerations
        ),
        volumes=tuple(_volumes(spec)),
        grace=DEFAULT_GRACE if grace is None else grace,
        pre_stop=graceful.shutdown_command if graceful else (),
        ptrace=bool(spec.security_context and spec.security_context.ptrace),
        assist=spec.assist,
        progress_endpoint=spec.progress_endpoint,
    )


def _volumes(spec: ExperimentSpec) -> Iterator[Volume]:
    if spec.storage:
        yield from (Volume(claim.name, claim.mount_point) for claim in spec.storage.attach_existing_pvcs)
    claim = spec.tensorboard.use_pvc if spec.tensorboard and spec.tensorboard.enabled else None
    if claim and claim.enabled and claim.name:
        yield Volume(claim.name, TENSORBOARD_PATH)
