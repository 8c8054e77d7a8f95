"""What kubelet, containerd, scheduler and API server say, as they say it."""

from typing import Any, Final

from muster.state.vocabulary.node_faults import START_ERROR

SHIM: Final = (
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
    "unable to start container process: error during container init: error running prestart hook #0: exit status 1, "
    "stdout: , stderr: Auto-detected mode as 'legacy'\n"
)
MISMATCH: Final = (
    f"{SHIM}nvidia-container-cli: initialization error: nvml error: driver/library version mismatch: unknown"
)
NOT_LOADED: Final = f"{SHIM}nvidia-container-cli: initialization error: nvml error: driver not loaded: unknown"
GPU_LOST: Final = f"{SHIM}nvidia-container-cli: detection error: nvml error: gpu is lost: unknown"
DRIVER_SILENT: Final = f"{SHIM}nvidia-container-cli: initialization error: driver rpc error: timed out: unknown"
UNMET: Final = (
    f"{SHIM}nvidia-container-cli: requirement error: unsatisfied condition: cuda>=12.9, please update your "
    "driver: unknown"
)
NO_DEVICE: Final = f"{SHIM}nvidia-container-cli: device error: 9: unknown device: unknown"
FORGED: Final = (
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: "
    'unable to start container process: exec: "nvidia-container-cli: initialization error: nvml error: driver/library '
    'version mismatch": executable file not found in $PATH: unknown'
)


def start_error(message: str) -> dict[str, Any]:
    """The end of a container whose start failed."""
    return {"exitCode": 128, "reason": START_ERROR, "message": message}


def exited(code: int, message: str = "") -> dict[str, Any]:
    """The end of a program."""
    return {"exitCode": code, "reason": "Error", "message": message}


SANDBOX: Final = (
    "Failed to create pod sandbox: rpc error: code = Unknown desc = failed to setup network for sandbox "
    '"5f1c0c7b3b1e4e5d": plugin type="{plugin}" failed (add): {why}'
)
UNAUTHORIZED: Final = "error getting ClusterInformation: connection is unauthorized: Unauthorized"
CNI_DOWN: Final = (
    'unable to connect to Cilium daemon: failed to create cilium agent client: Get "http://localhost/v1/config": '
    "dial unix /var/run/cilium/cilium.sock: connect: connection refused"
)
NO_ADDRESS: Final = "failed to assign an IP address to container"

ATTACH: Final = (
    'AttachVolume.Attach failed for volume "pvc-35f1d101" : timed out waiting for external-attacher of {driver} CSI '
    "driver to attach volume vol-0a1b2c3d"
)
UNREGISTERED: Final = (
    'MountVolume.MountDevice failed for volume "pvc-35f1d101" : kubernetes.io/csi: attacher.MountDevice failed to '
    "create newCsiDriverClient: driver name {driver} not found in the list of registered CSI drivers"
)
NO_NFS: Final = (
    'MountVolume.SetUp failed for volume "data" : mount failed: exit status 32 Mounting command: mount Mounting '
    "arguments: -t nfs -o nfsvers=4.1 {server}:/export /var/lib/kubelet/pods/1b2c/volumes/kubernetes.io~nfs/data "
    "Output: mount.nfs: Connection refused"
)
TOO_SLOW: Final = (
    'MountVolume.MountDevice failed for volume "pvc-35f1d101" : rpc error: code = DeadlineExceeded desc = context '
    "deadline exceeded"
)
NO_SECRET: Final = 'MountVolume.SetUp failed for volume "creds" : secret "{name}" not found'

LOW: Final = (
    "The node was low on resource: ephemeral-storage. Threshold quantity: 10Gi, available: 9876Mi. Container main was "
    "using 24Ki, request is 0, has larger consumption of ephemeral-storage. "
)
LOW_INODES: Final = (
    "The node was low on resource: inodes. Threshold quantity: 3250585, available: 3120000. Container main was using "
    "112, request is 0, has larger consumption of inodes. "
)
LOW_MEMORY: Final = LOW.replace("ephemeral-storage", "memory")
OWN_LIMIT: Final = "Pod ephemeral local storage usage exceeds the total limit of containers 10Gi. "
NO_SPACE: Final = (
    "failed to create containerd container: failed to prepare extraction snapshot: mkdir "
    "/var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/new-37: no space left on device"
)
NO_SPACE_TO_PULL: Final = (
    'failed to pull and unpack image "registry.example/team/train:1": failed to extract layer sha256:4f4f: write '
    "/var/lib/containerd/io.containerd.content.v1.content/ingest/9a/data: no space left on device"
)
OWN_DISK: Final = "OSError: [Errno 28] No space left on device: '/data/checkpoint.pt'"

DENIED: Final = (
    'failed to resolve reference "{image}": pulling from host {host} failed with status code [manifests 1]: 401 '
    "Unauthorized"
)
EXPIRED: Final = (
    'failed to resolve reference "{image}": failed to authorize: failed to fetch oauth token: unexpected status from '
    "POST request to https://{host}/token: 401 Unauthorized"
)
FORBIDDEN: Final = (
    'failed to resolve reference "{image}": unexpected status from HEAD request to https://{host}/v2/x/manifests/1: '
    "403 Forbidden"
)
ANONYMOUS: Final = (
    'failed to resolve reference "{image}": failed to authorize: failed to fetch anonymous token: unexpected status '
    "from GET request to https://ghcr.io/token?scope=repository: 403 Forbidden"
)
NO_REPOSITORY: Final = (
    "pull access denied, repository does not exist or may require authorization: server message: insufficient_scope: "
    "authorization failed"
)
NOT_FOUND: Final = 'failed to resolve reference "{image}": {image}: not found'
SILENT: Final = (
    'failed to resolve reference "{image}": failed to do request: Head "https://{host}/v2/x/manifests/1": dial tcp '
    "10.1.1.1:443: i/o timeout"
)
NO_HOST: Final = (
    'failed to resolve reference "{image}": failed to do request: Head "https://{host}/v2/": dial tcp: lookup {host} '
    "on 10.96.0.10:53: no such host"
)
FULL: Final = (
    "0/500 nodes are available: 500 Insufficient nvidia.com/gpu. preemption: not eligible due to a terminating pod."
)
WEBHOOK: Final = (
    'Internal error occurred: failed calling webhook "pods.gatekeeper.example": failed to call webhook: Post '
    '"https://gatekeeper.svc:443/v1/admit?timeout=3s": context deadline exceeded'
)
