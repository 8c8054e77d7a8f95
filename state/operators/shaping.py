"""From a type's resources to what its pods ask of a node."""

from muster.api.manifest.resources import Resources
from muster.state.plan import Shape, Toleration

GPU = "nvidia.com/gpu"
GPU_PRODUCT = "nvidia.com/gpu.product"
"""Node label that NVIDIA's GPU feature discovery sets; AIchor's ``product`` is its value."""
TPU = "google.com/tpu"
TPU_TYPE = "cloud.google.com/gke-tpu-accelerator"
TPU_TOPOLOGY = "cloud.google.com/gke-tpu-topology"
RDMA = "rdma/"
"""Resource prefix of the RDMA shared device plugin; the manifest names the rest."""


def shape_of(resources: Resources) -> Shape:
    """Requests, limits and placement. Memory is requested and limited alike, because it cannot be taken back."""
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
    return Shape(
        requests={"cpu": resources.cpu_request, "memory": memory, **devices},
        limits={"cpu": resources.cpu_limit, "memory": memory, **devices},
        shm_bytes=resources.shm_size_gb * 10**9,
        node_selector=selector,
        tolerations=tuple(
            Toleration(each.key or "", each.operator, each.value or "", each.effect or "")
            for each in resources.extra_tolerations
        ),
    )
