"""A member of the plan as a core/v1 Pod.

Muster renders the pod that the manifest describes and merges the group's pod template over it
(``muster.api.manifest.template``). Fields that Muster depends on (names, labels, owner, host name, restart policy, the
image and the command of ``main``) are refused when the template is read, so a merge cannot reach them. Everything else
of a pod can be asked for, as in a Pod that the author creates in the same namespace; whether the pod is admitted is
decided by the namespace's Pod Security level.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from hashlib import sha1
from typing import Any, Final

import msgspec

from muster.api.manifest.template.field import merge
from muster.api.names import (
    ANNOTATION_PROGRESS_CA,
    ASSIST_VOLUME,
    CLAIM_VOLUME,
    CONTAINER,
    LABEL_ATTEMPT,
    LABEL_EPOCH,
    LABEL_EXPERIMENT,
    LABEL_GROUP,
    LABEL_JOB,
    LABEL_POD,
    LABEL_RANK,
    LABEL_ROLE,
    LABEL_UID,
    PROGRESS_VOLUME,
    SCRATCH_VOLUME,
    SHM_PATH,
    SHM_VOLUME,
)
from muster.api.progress import MOUNT
from muster.assist import FOLDER
from muster.reconcilers.render.command import arguments_of, assist_annotations, assist_volume, assisted, command_of
from muster.reconcilers.render.environment import (
    NO_RESTARTS,
    Cell,
    Endpoint,
    Place,
    Restarts,
    endpoint_variables,
    endpoint_volume,
    environment,
)
from muster.reconcilers.render.objects import labels, owner_reference, to_json
from muster.reconcilers.render.whole_pod import whole_pod
from muster.state.vocabulary.group import Group, Member
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.workload import PodSetPlacement


def placed(plan: Plan, placement: Sequence[PodSetPlacement]) -> Plan:
    """Return the plan with the flavors' requirements on its pods; the same plan if there are none.

    Their node selectors and tolerations are merged over the manifest's own. Kueue assigns no flavor that contradicts
    the node selector of the podSet, so a label of both differs only if the flavor was changed since.
    """
    by_group = {each.group: each for each in placement if each.node_selector or each.tolerations}
    if not by_group:
        return plan
    return replace(
        plan,
        groups=tuple(
            _placed(group, by_group[group.name]) if group.name in by_group else group for group in plan.groups
        ),
    )


def _placed(group: Group, where: PodSetPlacement) -> Group:
    spec: dict[str, object] = {}
    if where.node_selector:
        spec["nodeSelector"] = dict(where.node_selector)
    if where.tolerations:
        spec["tolerations"] = [*msgspec.to_builtins(where.tolerations)]
    return replace(group, template=merge(group.template, {"spec": spec}))


NAME: Final = "metadata.name"
REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def kept_off(pod: dict[str, Any], nodes: Sequence[str]) -> dict[str, Any]:
    """Return the pod without these nodes, whatever else its template requires of nodes.

    The terms of a node selector are alternatives (core/v1 NodeSelector), so the condition is added to each of them. It
    names the field with the node's name: the label kubernetes.io/hostname may differ from that, or be another node's. A
    requirement on a field takes one value (kubernetes: pkg/apis/core/validation), so each node has its own.
    """
    if not nodes:
        return pod
    spec = pod["spec"]
    affinity: Mapping[str, Any] = spec.get("affinity") or {}
    of_nodes: Mapping[str, Any] = affinity.get("nodeAffinity") or {}
    terms: Sequence[Mapping[str, Any]] = (of_nodes.get(REQUIRED) or {}).get("nodeSelectorTerms") or ({},)
    others = [{"key": NAME, "operator": "NotIn", "values": [node]} for node in nodes]
    each = [{**term, "matchFields": [*(term.get("matchFields") or ()), *others]} for term in terms]
    wanted = {**affinity, "nodeAffinity": {**of_nodes, REQUIRED: {"nodeSelectorTerms": each}}}
    return {**pod, "spec": {**spec, "affinity": wanted}}


def render_pod(
    plan: Plan,
    member: Member,
    epoch: int,
    attempt: int = 0,
    restarts: Restarts = NO_RESTARTS,
    endpoint: Endpoint | None = None,
) -> dict[str, Any]:
    """Return the pod of one member in one epoch and attempt. Raises ValueError for a member that the plan lacks."""
    group = plan.group_of(member.rank)
    if group is None or group.name != member.group:
        raise ValueError(f"experiment {plan.namespace}/{plan.name} has no member {member}")
    place = _place(plan, group, member, epoch, attempt, restarts)
    return _pod(plan, group, epoch, place, _apart(plan, group, member.rank), endpoint)


class PodTemplate:
    """The pods of one group and epoch as JSON, byte for byte the encoding of `render_pod`.

    The JSON is encoded once and cut where the members differ. The cuts are made at NUL bytes, which JSON text can never
    contain (RFC 8259 §7: control characters are escaped), so no text of a user, whatever is in it, can be taken for a
    cut. Raises ``Unrenderable`` when the plan holds text that JSON cannot carry.
    """

    __slots__ = ("_cuts", "_epoch", "_group", "_plan", "_restarts")

    def __init__(
        self,
        plan: Plan,
        group: Group,
        epoch: int,
        restarts: Restarts = NO_RESTARTS,
        avoid: Sequence[str] = (),
        endpoint: Endpoint | None = None,
    ) -> None:
        self._plan, self._group, self._epoch, self._restarts = plan, group, epoch, restarts
        slots = Place(**{field.name: msgspec.Raw(f"\0{field.name}\0".encode()) for field in fields(Place)})
        what = f"the pod of group {group.name!r} of experiment {plan.namespace}/{plan.name}"
        kinds = (False, True) if group.coordinator_labels else (False,)
        pods = {apart: kept_off(_pod(plan, group, epoch, slots, apart, endpoint), avoid) for apart in kinds}
        self._cuts = {apart: _cut(to_json(pod, what)) for apart, pod in pods.items()}

    def render(self, member: Member, attempt: int = 0) -> bytes:
        """Return the JSON of one member's pod. Raises ValueError for a member of another group."""
        if member.group != self._group.name:
            raise ValueError(f"member {member} is not of group {self._group.name!r}")
        place = _place(self._plan, self._group, member, self._epoch, attempt, self._restarts)
        cut, slots = self._cuts[_apart(self._plan, self._group, member.rank)]
        pieces = cut.copy()
        for index, slot in slots:
            pieces[index] = msgspec.json.encode(getattr(place, slot))
        return b"".join(pieces)


def _cut(encoded: bytes) -> tuple[list[bytes], list[tuple[int, str]]]:
    """Return JSON that is cut at its slots, and the names of these, each with the index of its piece."""
    pieces = encoded.split(b"\0")
    return pieces, [(index, pieces[index].decode()) for index in range(1, len(pieces), 2)]


def identity(plan: Plan, member: Member, epoch: int, attempt: int = 0) -> dict[str, str]:
    """Return the labels by which a member's pod is selected and recognised, also by the SDK (which has a name)."""
    return {
        LABEL_UID: plan.uid,
        LABEL_EXPERIMENT: plan.name,
        LABEL_GROUP: member.group,
        LABEL_JOB: str(member.job),
        LABEL_POD: str(member.pod),
        LABEL_RANK: str(member.rank),
        LABEL_EPOCH: str(epoch),
        LABEL_ATTEMPT: str(attempt),
    }


def _place(plan: Plan, group: Group, member: Member, epoch: int, attempt: int, restarts: Restarts) -> Place:
    job = plan.job_name(group.name, member.job)
    return Place(
        name=plan.pod_name(member, epoch, attempt),
        attempt=str(attempt),
        hostname=plan.hostname(member, epoch),
        job_index=str(member.job),
        pod_index=str(member.pod),
        rank=str(member.rank),
        job_global_index=str(group.first_job + member.job),
        job_group_index=str(group.first_of_label + member.job),
        job_name=job,
        node_job=f"{plan.namespace}_{job}",
        job_key=sha1(f"{plan.namespace}/{job}".encode(), usedforsecurity=False).hexdigest(),
        restarts=str(restarts.gang),
        job_restarts=str(restarts.jobs.get(group.first_job + member.job, 0)),
    )


def _apart(plan: Plan, group: Group, rank: int) -> bool:
    """Return True if that member's pod has labels that the others of its group do not have."""
    return bool(group.coordinator_labels) and plan.coordinator is not None and plan.coordinator.rank == rank


def _pod(
    plan: Plan, group: Group, epoch: int, place: Place, apart: bool, endpoint: Endpoint | None = None
) -> dict[str, Any]:
    own: dict[str, Cell] = {
        LABEL_GROUP: group.name,
        LABEL_JOB: place.job_index,
        LABEL_POD: place.pod_index,
        LABEL_RANK: place.rank,
        LABEL_EPOCH: str(epoch),
        LABEL_ATTEMPT: place.attempt,
        LABEL_ROLE: group.role.value,
    }
    if group.whole:
        return whole_pod(plan, group, epoch, place, own, apart=apart)
    reached = endpoint if group.pod.progress_endpoint else None
    mounted = [*_mounted(plan, group, reached)]
    spec: dict[str, object] = {
        "hostname": place.hostname,
        "subdomain": plan.domain,
        "restartPolicy": "Never",  # a gang restarts as a whole, and Muster decides when
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,  # hundreds of variables about other Services, which some programs obey
        "terminationGracePeriodSeconds": group.pod.grace,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(plan, group, epoch, place, reached, [mount for mount, _ in mounted])],
    }
    if mounted:
        spec["volumes"] = [volume for _, volume in mounted]
    if group.pod.node_selector:
        spec["nodeSelector"] = dict(group.pod.node_selector)
    if group.pod.tolerations:
        spec["tolerations"] = [*msgspec.to_builtins(group.pod.tolerations)]
    pod: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": place.name,
            "namespace": plan.namespace,
            "labels": {**labels(plan), **own},
            "ownerReferences": [owner_reference(plan)],
        },
        "spec": spec,
    }
    pod = merge(pod, group.template) if group.template else pod
    ours = assist_annotations() if group.pod.assist else {}
    if reached:
        ours[ANNOTATION_PROGRESS_CA] = reached.authority
    if ours:  # after the merge: a template may have annotations of its own, but not these
        pod["metadata"]["annotations"] = {**(pod["metadata"].get("annotations") or {}), **ours}
    return pod


def _container(
    plan: Plan, group: Group, epoch: int, place: Place, endpoint: Endpoint | None, mounts: list[dict[str, object]]
) -> dict[str, object]:
    """Return the core/v1 Container.

    Its security context: Pod Security's ``restricted`` profile demands ``runAsNonRoot``, and most public ML images
    (those of CUDA, PyTorch, JAX, Ray) run as root and keep their program under /root or in a directory of root's;
    forcing another user breaks them in ways that look like bugs of the training program. So the user is the image's
    own, and everything else of ``restricted`` is kept: no capability, no way to gain one (no_new_privs), the runtime's
    seccomp filter. Root without capabilities cannot change owners, mount, load modules or read what file modes deny.
    Such a pod needs the ``baseline`` profile; with ``runAsNonRoot`` in its template, ``restricted``. ``ptrace``
    (py-spy, gdb) adds SYS_PTRACE, which baseline does not admit either: the namespace must be ``privileged`` or exempt,
    which its administrator decides, not the author of the experiment.
    """
    capabilities: dict[str, object] = {"drop": ["ALL"]}
    if group.pod.ptrace:
        capabilities["add"] = ["SYS_PTRACE"]
    command = arguments_of(group.pod.argv) if group.pod.argv else command_of(group.pod.command)
    reporting = endpoint_variables(plan, endpoint) if endpoint else {}
    rendered: dict[str, object] = {
        "name": CONTAINER,
        "image": group.pod.image,
        "command": assisted(command) if group.pod.assist else command,
        "env": [
            *environment(plan, group, epoch, place),
            *({"name": name, "value": value} for name, value in reporting.items()),
        ],
        "resources": {"requests": dict(group.pod.requests), "limits": dict(group.pod.limits)},
        # The cause of a restart quotes the program's last lines.
        "terminationMessagePolicy": "FallbackToLogsOnError" if group.pod.quotes_log else "File",
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "privileged": False,
            "capabilities": capabilities,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    if group.ports:
        rendered["ports"] = [{"name": port.name, "containerPort": port.number} for port in group.ports]
    if mounts:
        rendered["volumeMounts"] = mounts
    if group.pod.pre_stop:
        rendered["lifecycle"] = {"preStop": {"exec": {"command": list(group.pod.pre_stop)}}}
    return rendered


def _mounted(
    plan: Plan, group: Group, endpoint: Endpoint | None
) -> Iterator[tuple[dict[str, object], dict[str, object]]]:
    """Yield a core/v1 VolumeMount and its Volume for each volume of a member.

    The volumes of claims are numbered: a claim's name may be longer than a volume's, and one claim may be mounted
    twice. The runtime's default for shared memory is 64 MiB.
    """
    pod = group.pod
    for name, volume in ((f"{CLAIM_VOLUME}{number}", volume) for number, volume in enumerate(pod.volumes)):
        yield _at(name, volume.path), {"name": name, "persistentVolumeClaim": {"claimName": volume.claim}}
    if pod.shm_bytes > 0:
        memory = {"medium": "Memory", "sizeLimit": str(pod.shm_bytes)}
        yield _at(SHM_VOLUME, SHM_PATH), {"name": SHM_VOLUME, "emptyDir": memory}
    if pod.scratch:
        yield _at(SCRATCH_VOLUME, pod.scratch), {"name": SCRATCH_VOLUME, "emptyDir": {}}
    if pod.assist:
        yield {**_at(ASSIST_VOLUME, FOLDER), "readOnly": True}, assist_volume()
    if endpoint:
        yield {**_at(PROGRESS_VOLUME, MOUNT), "readOnly": True}, endpoint_volume(plan)


def _at(volume: str, path: str) -> dict[str, object]:
    return {"name": volume, "mountPath": path}
