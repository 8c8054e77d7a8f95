"""What a run of the fleet shows: pods as a kubelet reports them, decoded and diagnosed as musterd does."""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from muster.api.causes import Blocked, Stuck
from muster.api.values.timestamps import micro_time
from muster.state.facts.causes.table import Causes
from muster.state.facts.context import Context
from muster.state.facts.failure_cause import cause_of
from muster.state.facts.incidents.signs import Sign, signs_of
from muster.state.policies.failures.restart_reasons import failed_on
from muster.state.view.engine_facts import Refusal
from muster.state.view.own import Remark
from muster.state.view.view import View
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Claim, Pod, PodSpec
from muster.state.vocabulary.record import Condition, ConditionType, Phase, Record
from muster.watchers.pods.decode import DECODER
from tests.builders import plan, record, view, worker_group
from tests.fakes.apiserver import event
from tests.fakes.objects import container

STUCK: Final = ConditionType.STUCK
BACK_OFF: Final = 'Back-off pulling image "{image}": ErrImagePull: rpc error: code = Unknown desc = {why}'
CREATING: Final = [container("main", {"waiting": {"reason": "ContainerCreating"}})]


@dataclass(frozen=True)
class FleetRun:
    """A run: where it is, what it pulls, and which storage it has."""

    number: int
    namespace: str
    nodes: tuple[str, ...]
    image: str = "registry.example/team/train:1"
    storage: str = ""
    plan: Plan = field(init=False)

    def __post_init__(self) -> None:
        claims = (Claim("data", {"storageClassName": self.storage}),) if self.storage else ()
        spec = PodSpec(self.image, "python train.py")
        made = plan(
            uid=f"uid-{self.number}",
            namespace=self.namespace,
            name=f"run-{self.number}",
            groups=(worker_group(len(self.nodes), pod=spec),),
            claims=claims,
        )
        object.__setattr__(self, "plan", made)

    def pod(self, rank: int = 0, *, placed: bool = True, **status: Any) -> Pod:
        """The pod of a rank with that status, through the decoder of watch events."""
        labels = {"muster.dev/experiment-uid": self.plan.uid, "muster.dev/group": "worker", "muster.dev/job-index": "0"}
        labels |= {f"muster.dev/{name}": str(rank) for name in ("pod-index", "rank")} | {"muster.dev/epoch": "0"}
        owner = {"apiVersion": "muster.dev/v1alpha1", "kind": "Experiment", "uid": self.plan.uid, "controller": True}
        metadata = {"name": f"run-{self.number}-{rank}", "namespace": self.namespace, "uid": f"{self.plan.uid}-{rank}"}
        body = {
            "metadata": {**metadata, "resourceVersion": "1", "labels": labels, "ownerReferences": [owner]},
            "spec": {"nodeName": self.nodes[rank] if placed else "", "restartPolicy": "Never"},
            "status": status,
        }
        got = DECODER.event(event("ADDED", body)).obj
        assert isinstance(got, Pod), json.dumps(body)
        return got

    def stuck(self, seen: View, reason: str, since: float, now: float, **more: Any) -> tuple[Sign, ...]:
        """The signs of the run with these pods, once it is Stuck."""
        condition = Condition(STUCK, True, reason, "", 1, since)
        kept = record(phase=Phase.PENDING, conditions=(condition,), size=self.plan.size, **more)
        return signs_of(Context.at(self.plan, kept, seen, now))

    def waits(self, now: float, reason: str, message: str, ranks: int | None = None) -> tuple[Sign, ...]:
        """Containers of its first ``ranks`` members cannot be made."""
        waiting = [container("main", {"waiting": {"reason": reason, "message": message}})]
        each = (self.pod(rank, phase="Pending", containerStatuses=waiting) for rank in range(ranks or len(self.nodes)))
        return self.stuck(view(*each), reason, now, now)

    def pulls(self, now: float, why: str) -> tuple[Sign, ...]:
        """Its image cannot be pulled."""
        return self.waits(now, "ImagePullBackOff", BACK_OFF.format(image=self.image, why=why))

    def unplaced(self, now: float, sentence: str) -> tuple[Sign, ...]:
        """No node fits it."""
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": sentence}
        waits = self.pod(placed=False, phase="Pending", conditions=[condition])
        return self.stuck(view(waits), "Unschedulable", now, now)

    def away(self, now: float, node: str) -> tuple[Sign, ...]:
        """The node lifecycle controller has marked its pods on that node."""
        said = [{"type": "Ready", "status": "False"}, {"type": "ContainersReady", "status": "True"}]
        state = [container("main", {"running": {"startedAt": "2026-11-20T10:00:05Z"}})]
        ranks = [rank for rank, each in enumerate(self.nodes) if each == node]
        pods = (self.pod(rank, phase="Running", conditions=said, containerStatuses=state) for rank in ranks)
        return self.stuck(view(*pods), "NodeNotReady", now, now)

    def no_sandbox(self, now: float, reason: str, message: str, rank: int = 0) -> tuple[Sign, ...]:
        """The pod of that rank has no volumes or no network, and an Event of it says why; it is not Stuck yet."""
        said = [{"type": "PodReadyToStartContainers", "status": "False"}, {"type": "PodScheduled", "status": "True"}]
        first = self.pod(rank, phase="Pending", conditions=said, containerStatuses=CREATING)
        seen = view(first)
        seen.remark = Remark(reason, message, now, "kubelet", f"Pod {first.name}")
        blocked = Blocked(Causes.SANDBOX.stuck_as, now)
        kept = record(size=self.plan.size, blocked=blocked, scheduled_at=now - 60)
        return signs_of(Context.at(self.plan, kept, seen, now))

    def fails(self, now: float, ended: dict[str, Any], *, node: str = "", times: int = 1) -> tuple[Sign, ...]:
        """A member on that node has ended so, ``times`` times; the gang is about to start again."""
        rank = self.nodes.index(node) if node else 0
        state = [container("main", {"terminated": {**ended, "finishedAt": micro_time(now)}})]
        return self.ended(now, self.pod(rank, phase="Failed", containerStatuses=state), times)

    def ended(self, now: float, last: Pod, times: int = 1) -> tuple[Sign, ...]:
        """The same from the pod itself."""
        before: Record = record(phase=Phase.RUNNING, size=self.plan.size)
        cause = cause_of(Context.at(self.plan, before, view(last), now), last)
        for _ in range(times):
            before = failed_on(self.plan, before, cause)
        kept = record(
            phase=Phase.RESTARTING, epoch=1, cause=cause, node_failures=before.node_failures, size=self.plan.size
        )
        return signs_of(Context.at(self.plan, kept, view(), now))

    def evicted(self, now: float, message: str, rank: int = 0) -> tuple[Sign, ...]:
        """A kubelet has evicted the pod of that rank."""
        why = {"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet", "message": message}
        return self.ended(now, self.pod(rank, phase="Failed", reason="Evicted", message=message, conditions=[why]))

    def drained(self, now: float) -> tuple[Sign, ...]:
        """An autoscaler takes its first node, and evicts the pod through the API."""
        said = "Eviction API: evicting"
        why = {"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI", "message": said}
        return self.ended(now, self.pod(phase="Failed", conditions=[why]))

    def hangs(self, now: float, rank: int | None = None) -> tuple[Sign, ...]:
        """It hangs; others wait for that rank, where one is known."""
        condition = Condition(STUCK, True, "Hung", "no step since 05:12:02Z", 1, now)
        known = Stuck("Hung", "no rank makes progress", "" if rank is None else str(rank), now)
        state = [container("main", {"running": {"startedAt": "2026-11-20T10:00:05Z"}})]
        ready = [{"type": "Ready", "status": "True"}, {"type": "ContainersReady", "status": "True"}]
        pods = [self.pod(r, phase="Running", containerStatuses=state, conditions=ready) for r in range(len(self.nodes))]
        kept = record(phase=Phase.RUNNING, conditions=(condition,), stuck=known, assembled_at=now - 600)
        return signs_of(Context.at(self.plan, kept, view(*pods), now))

    def refused(self, now: float, reason: str, message: str) -> tuple[Sign, ...]:
        """The API server refuses its pods."""
        seen = view()
        seen.engine.refusal = Refusal(reason, message, final=False)
        return self.stuck(seen, reason, now, now)
