"""Parts of the plans of several kinds: finalizers and queue, parts of the object, clocks, pods of members."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, NamedTuple

from muster.api.manifest.experiment import ExperimentSpec
from muster.api.manifest.policies import Clocks
from muster.api.manifest.resources import Resources
from muster.api.names import QUEUE_LABEL
from muster.api.values.printable import word
from muster.kinds.declaration import WatchedKind, texts_of
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import PodSpec, Toleration, Volume
from muster.state.vocabulary.rules import CLOCKS, ClockAction, ClockName, ClockRule

ORPHAN, FOREGROUND = "orphan", "foregroundDeletion"
"""Finalizers of the API server (metav1: FinalizerOrphanDependents, FinalizerDeleteDependents)."""


def local_queue_of(labels: object) -> str:
    """Return the queue that a label of an object other than an Experiment names; empty without one."""
    return word(texts_of(labels).get(QUEUE_LABEL, ""))


MOST: Final = 6
"""Parts that are asked."""
_NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?\Z")
"""Name of an object (RFC 1123). A status may hold any text."""


class Part(NamedTuple):
    """An object by its kind in lower case and its name; the uid is empty where only its controller knows it."""

    kind: str
    name: str
    uid: str = ""


def parts_of(kind: WatchedKind, plan: Plan, claims: Iterable[str], rank: int) -> tuple[Part, ...]:
    """Return the objects that are asked why the member of that rank has no pod: first the watched object itself.

    The others are what its controllers make before the pods. They are named by the kind (``WatchedKind.makes``), and by
    the pods that the object claims: those of its RayCluster, or of its JobSet. Only the parts of one member are named:
    what keeps one of its kind keeps the others. Labelled pods have none.
    """
    if kind.virtual:
        return ()
    member = plan.member(rank)
    group, job = (member.group, member.job) if member is not None else ("", 0)
    named = [each.format(name=plan.name, uid=plan.uid, group=group, job=job) for each in kind.makes]
    own = Part(kind.subject.kind.lower(), plan.name, plan.uid)
    found = [Part(*owner.partition("/")[::2]) for owner in (*claims, *named)]
    called = kind.subject.word.lower()
    others = (each for each in found if (each.kind, each.name) != (called, plan.name) and _NAME.match(each.name))
    return tuple(dict.fromkeys((own, *others)))[:MOST]


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


def clocks_of(deadline: float | None, stated: Clocks | None = None) -> Iterator[ClockRule]:
    """Yield the clocks that run: those ``stated``, the total with a deadline, and those whose row has a default.

    ``deadline`` is in seconds from the start, and again from each resumption.
    """
    for row in CLOCKS:
        own = getattr(stated, row.name.value, None)  # the fields have the names of the clocks
        if row.name is ClockName.TOTAL and deadline is not None:
            yield replace(row, after=deadline)
        elif own is not None:
            yield replace(row, after=own.after_seconds, action=ClockAction(own.action))
        elif row.after:
            yield row


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
