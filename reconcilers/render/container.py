"""The one container of a member, and the volumes it mounts. Nothing of the user reaches a field that is not named here.

How much the container may do. Pod Security's ``restricted`` profile demands ``runAsNonRoot``, and most public ML
images (those of CUDA, PyTorch, JAX, Ray) run as root and keep their program under /root or in a directory of root's;
forcing another user breaks them in ways that look like bugs of the training program. So the user is the image's own,
and everything else of ``restricted`` is kept: no capability, no way to gain one (no_new_privs), the runtime's seccomp
filter. Root without capabilities cannot change owners, mount, load modules or read what file modes deny. What a pod
so made needs is the ``baseline`` profile. ``ptrace`` (py-spy, gdb) adds SYS_PTRACE, which baseline does not admit
either: the namespace of such an experiment must be ``privileged`` or exempt, which its administrator, not its author,
decides.
"""

from muster.api.names import CONTAINER
from reconcilers.render.command import shell
from reconcilers.render.environment import Place, environment
from state.plan import Group, Plan

SHM = "/dev/shm"  # noqa: S108 - a mount point in the container, not a file of ours


def container(plan: Plan, group: Group, epoch: int, place: Place) -> dict[str, object]:
    """core/v1 Container."""
    capabilities: dict[str, object] = {"drop": ["ALL"]}
    if plan.ptrace:
        capabilities["add"] = ["SYS_PTRACE"]
    rendered: dict[str, object] = {
        "name": CONTAINER,
        "image": plan.image,
        "command": shell(plan.command),
        "env": environment(plan, group, epoch, place),
        "resources": {"requests": dict(group.shape.requests), "limits": dict(group.shape.limits)},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "privileged": False,
            "capabilities": capabilities,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    mounts = [{"name": _claim_volume(number), "mountPath": volume.path} for number, volume in enumerate(plan.volumes)]
    if group.shape.shm_bytes > 0:
        mounts.append({"name": "shm", "mountPath": SHM})
    if mounts:
        rendered["volumeMounts"] = mounts
    if plan.pre_stop:
        rendered["lifecycle"] = {"preStop": {"exec": {"command": list(plan.pre_stop)}}}
    return rendered


def volumes(plan: Plan, group: Group) -> list[dict[str, object]]:
    """core/v1 Volumes: the experiment's claims, and shared memory of its own size (the runtime's default is 64 MiB)."""
    rendered: list[dict[str, object]] = [
        {"name": _claim_volume(number), "persistentVolumeClaim": {"claimName": volume.claim}}
        for number, volume in enumerate(plan.volumes)
    ]
    if group.shape.shm_bytes > 0:
        rendered.append({"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": str(group.shape.shm_bytes)}})
    return rendered


def _claim_volume(number: int) -> str:
    # Numbered: a claim's name may be longer than a volume's, and one claim may be mounted twice.
    return f"claim-{number}"
