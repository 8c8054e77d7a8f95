"""A gang whose pods, coordinator and API server a situation plays, event by event, through the real decoders."""

import json
from typing import Any

from msgspec.structs import replace

from muster.api.manifest.experiment import parse_experiment
from muster.api.names import (
    API_VERSION,
    KIND,
    LABEL_ATTEMPT,
    LABEL_EPOCH,
    LABEL_GROUP,
    LABEL_JOB,
    LABEL_POD,
    LABEL_RANK,
)
from muster.kinds.experiments import plan_of
from muster.kube.listwatch.decoder import EventType
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.classifier import Finding
from muster.state.facts.diagnosis.diagnose import diagnose
from muster.state.view.engine_facts import Refusal
from muster.state.view.roll import CoordinatorState, RankError, RankState, RollAnswer
from muster.state.view.view import View
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Phase, Record
from muster.watchers.pods.decode import DECODER

NOW = 1_800_000_000.0
STAMP = "2027-01-15T08:00:00Z"
"""``NOW`` as the API server writes it."""
RESOURCES = {"cpus": 1, "ramRatio": 2}
WORKERS = {"worker": {"count": 4, "resources": RESOURCES}}
TYPES: dict[str, dict[str, Any]] = {
    "jax": WORKERS,
    "pytorch": WORKERS,
    "xgboost": WORKERS,
    "jobset": {"worker": {"count": 4, "completions": 1, "resources": RESOURCES}},
    "kuberay": {"Head": {"resources": RESOURCES}, "Workers": [{"name": "w", "count": 3, "resources": RESOURCES}]},
}
"""Gangs of four; Ray's submitter is a fifth member."""
SIZE = 4


class Gang:
    """One experiment ``train`` of an operator, whose pods have nodes ``n0`` to ``n3`` and are being started."""

    def __init__(self, operator: str) -> None:
        spec = {"operator": operator, "image": "registry/x:1", "command": "python x.py", "types": TYPES[operator]}
        metadata = {"name": "train", "namespace": "team", "uid": "uid-1", "generation": 1, "resourceVersion": "1"}
        self.manifest: dict[str, Any] = {"apiVersion": API_VERSION, "kind": KIND, "metadata": metadata, "spec": spec}
        self.plan = plan_of(parse_experiment(self.manifest))
        whole = None if operator == "kuberay" else NOW  # the submitter of Ray has no pod before the others have joined
        self.record = Record(
            generation=1, phase=Phase.ASSEMBLING, phase_at=NOW, size=self.plan.size, scheduled_at=whole,
            assembling_at=NOW,
        )  # fmt: skip
        self.view = View()
        self.now = NOW
        self.seen: dict[int, Pod] = {}
        self.objects: dict[int, dict[str, Any]] = {}
        """The pods of the ranks as the API server has them."""
        self._version = 0
        for rank in range(SIZE):
            self.report(rank)

    def set(self, **fields: Any) -> None:
        """Fields of the record."""
        self.record = replace(self.record, **fields)

    # What a kubelet, the scheduler and the node controller report

    def report(
        self,
        rank: int,
        state: dict[str, Any] | None = None,
        *,
        phase: str = "Pending",
        node: str | None = None,
        conditions: dict[str, tuple[str, str, str]] | None = None,
        init: dict[str, Any] | None = None,
        others: tuple[dict[str, Any], ...] = (),
        metadata: dict[str, Any] | None = None,
        spec: dict[str, Any] | None = None,
        status: dict[str, Any] | None = None,
        main: dict[str, Any] | None = None,
    ) -> None:
        """The pod of a rank as the API server has it from now on."""
        member = self.plan.member(rank)
        assert member is not None
        self._version += 1
        labels = {LABEL_GROUP: member.group, LABEL_JOB: str(member.job), LABEL_POD: str(member.pod)}
        labels |= {LABEL_RANK: str(rank), LABEL_EPOCH: str(self.record.epoch), LABEL_ATTEMPT: "0"}
        owner = {"apiVersion": API_VERSION, "kind": KIND, "uid": "uid-1", "name": "train", "controller": True}
        name = self.plan.pod_name(member, self.record.epoch)
        own = {"name": name, "namespace": "team", "uid": f"pod-{rank}", "resourceVersion": str(self._version)}
        container = {"name": "main", "state": state or {"waiting": {"reason": "ContainerCreating"}}, **(main or {})}
        said = {"PodScheduled": ("True", "", "")} | (conditions or {})
        document = {
            "metadata": {**own, "labels": labels, "ownerReferences": [owner], **(metadata or {})},
            "spec": {
                "restartPolicy": "Never",
                **({"nodeName": node or f"n{rank}"} if node != "" else {}),
                **(spec or {}),
            },
            "status": {
                "phase": phase,
                "podIP": f"10.0.0.{rank + 1}",
                "conditions": [
                    {"type": kind, "status": is_so, "reason": reason, "message": message}
                    for kind, (is_so, reason, message) in said.items()
                ],
                "containerStatuses": [container, *others] if node != "" else [],
                "initContainerStatuses": [init] if init else [],
                **(status or {}),
            },
        }
        heard = DECODER.event(json.dumps({"type": EventType.MODIFIED.value, "object": document}).encode())
        assert heard.obj is not None, heard.problem
        self.view.change(self.seen.get(rank), heard.obj)
        self.seen[rank], self.objects[rank] = heard.obj, document

    def start(self, *ranks: int, ready: bool = True, **more: Any) -> None:
        """The programs of these ranks run."""
        said = {
            "Ready": ("True" if ready else "False", "", ""),
            "ContainersReady": ("True" if ready else "False", "", ""),
        }
        for rank in ranks or range(SIZE):
            conditions = said | more.get("conditions", {})
            rest = {name: value for name, value in more.items() if name != "conditions"}
            self.report(rank, {"running": {"startedAt": STAMP}}, phase="Running", conditions=conditions, **rest)

    def wait(self, rank: int, reason: str, message: str = "", **more: Any) -> None:
        """The container of a rank waits."""
        self.report(rank, {"waiting": {"reason": reason, "message": message}}, **more)

    def no_node(self, rank: int, reason: str, message: str, **more: Any) -> None:
        """The pod of a rank has no node."""
        self.report(rank, node="", conditions={"PodScheduled": ("False", reason, message)}, **more)

    def end(self, rank: int, code: int, reason: str = "Error", message: str = "", **more: Any) -> None:
        """The program of a rank ends."""
        ended = {"exitCode": code, "reason": reason, "message": message, "finishedAt": STAMP}
        self.report(rank, {"terminated": ended}, phase="Failed" if code else "Succeeded", **more)

    def take_away(self, rank: int, reason: str, message: str) -> None:
        """The platform evicts a running pod."""
        target = {"DisruptionTarget": ("True", reason, message)}
        self.start(rank, conditions=target, metadata={"deletionTimestamp": STAMP, "deletionGracePeriodSeconds": 30})

    def vanish(self, rank: int) -> None:
        """The pod of a rank is removed."""
        self.view.change(self.seen.pop(rank), None)
        del self.objects[rank]

    def never_made(self, rank: int) -> None:
        """The rank has had no pod."""
        self.vanish(rank)
        self.view.of(0).gone.pop(rank, None)

    # What the coordinator and the API server answer

    def hear(self, *missing: int, **more: Any) -> None:
        """The coordinator serves, and these ranks are missing from its roll."""
        working = RankState.ARRIVED if missing else RankState.CONNECTED
        size = more.pop("size", self.plan.size)
        states = more.pop("states", tuple(RankState.MISSING if rank in missing else working for rank in range(size)))
        usual: dict[str, Any] = {"at": self.now, "coordinator": CoordinatorState.SERVING, "states": states}
        protocol = "ray" if self.plan.operator == "kuberay" else "v2"
        self.view.observe_probe(RollAnswer(**usual | {"expected": size, "protocol": protocol} | more), 0)

    def give_up(self, rank: int, code: int, text: str) -> None:
        """The coordinator gives a rank up."""
        states = tuple(RankState.FAILED if each == rank else RankState.CONNECTED for each in range(self.plan.size))
        self.hear(states=states, errors=(RankError(rank, code, text),))

    def silent(self, state: CoordinatorState, detail: str = "") -> None:
        """The coordinator's port answers like that."""
        self.view.observe_probe(RollAnswer(at=self.now, coordinator=state, detail=detail), 0)

    def refuse(self, reason: str, message: str) -> None:
        """The API server refuses what Muster asks for."""
        for rank in list(self.seen):
            self.vanish(rank)
        self.view = View()
        self.set(scheduled_at=None, assembling_at=None, phase=Phase.PENDING)
        self.view.engine.refusal = Refusal(reason, message, final=False)

    def findings(self) -> tuple[Finding, ...]:
        """What is said now."""
        return diagnose(Context.at(self.plan, self.record, self.view, self.now))
