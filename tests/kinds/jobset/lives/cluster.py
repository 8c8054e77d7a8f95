"""A JobSet under decisions: the test plays the kubelet, by jobs, and the API server obeys at once."""

import copy
from typing import Any

import msgspec

from muster.kinds.jobset.run import plan_of
from muster.kinds.jobset.status import status_of
from muster.state.decide.machine import decide
from muster.state.view.engine_facts import LiveRead
from muster.state.view.view import View
from muster.state.vocabulary.actions import (
    Action,
    ConfirmLaunch,
    ConfirmLoss,
    CreatePods,
    DeletePods,
    EnsureClaims,
    EnsureService,
    StopPods,
)
from muster.state.vocabulary.pod import Exit, Pod, PodPhase
from muster.state.vocabulary.record import Record
from tests import builders
from tests.builders import NOW


class Cluster:
    """One JobSet. ``step`` decides until nothing follows; ``history`` has every status that was written."""

    def __init__(self, jobset: dict[str, Any], *, now: float = NOW) -> None:
        self.object = copy.deepcopy(jobset)
        self.plan = plan_of(self.object)
        self.view = View()
        self.record: Record | None = None
        self.status: dict[str, Any] = {}
        self.history: list[dict[str, Any]] = []
        self.now = now
        self.version = 0
        self.pods: dict[str, Pod] = {}
        """By name."""
        self.created: list[str] = []
        self.wake_at: float | None = None
        self.held: set[str] = set()
        """Pods that stay, terminating, when they are deleted."""
        self.step()

    @property
    def kept(self) -> Record:
        assert self.record is not None
        return self.record

    def edit(self, **spec: Any) -> None:
        self.object["spec"].update(spec)
        self.object["metadata"]["generation"] += 1
        self.plan = plan_of(self.object)
        self.step()

    def step(self, after: float = 0.0) -> None:
        """Time passes; then decisions are made and carried out until nothing follows."""
        self.now += after
        for _ in range(64):
            if not self._once():
                return
        raise AssertionError("the decisions do not come to an end")

    def run(self, group: str = "w", job: int | None = None, *indexes: int, ready: bool = True) -> None:
        for pod in self.of(group, job, *indexes):
            changes = {"phase": PodPhase.RUNNING, "scheduled": True, "started": True, "ready": ready}
            self._set(pod, **changes, node="n", ip="10.0.0.1")
        self.step()

    def succeed(self, group: str = "w", job: int | None = None, *indexes: int) -> None:
        for pod in self.of(group, job, *indexes):
            self._end(pod, 0)
        self.step()

    def fail(self, group: str = "w", job: int = 0, *indexes: int, code: int = 1, disruption: str = "") -> None:
        """Pods of the job fail: the first one if none is named."""
        for pod in self.of(group, job, *(indexes or (0,))):
            self._end(pod, code, disruption=disruption)
        self.step(1.0)

    def end_unseen(self, group: str, job: int, code: int) -> None:
        """The job's first pod ends, and nothing is decided yet."""
        self._end(self.of(group, job, 0)[0], code)

    def follow(self, seen: dict[str, Any]) -> None:
        """A pod becomes what a trace says of it."""
        found = self.of(seen["group"], seen["job"], seen["index"])
        if not found or self.status.get("restarts", 0) != seen["run"]:
            return  # it was deleted sooner than in the trace
        phase, code = PodPhase(seen["phase"]), seen.get("exit")
        if phase in (PodPhase.SUCCEEDED, PodPhase.FAILED):
            self._end(found[0], code or 0)
        else:
            changes: dict[str, Any] = {"phase": phase, "ready": seen["ready"], "scheduled": True, "started": True}
            self._set(found[0], **changes, node="n", ip="10.0.0.1")

    def hold(self, name: str) -> None:
        self.held.add(name)

    def release(self, name: str) -> None:
        self.held.discard(name)
        self._gone(self.pods[name])
        self.step()

    def lose(self, group: str = "w", job: int = 0, index: int = 0) -> None:
        for pod in self.of(group, job, index):
            self._gone(pod)
        self.step()

    def delete(self, group: str = "w", job: int = 0, index: int = 0) -> None:
        """Somebody deletes the pod, which ends in its grace period."""
        for pod in self.of(group, job, index):
            self._set(pod, terminating=True)
            self.hold(pod.name)
            self.step()
        for pod in self.of(group, job, index):
            self._end(pod, 143)
        self.step(1.0)

    def lose_unseen(self, group: str = "w", job: int = 0, index: int = 0) -> None:
        """The pod is gone, and another daemon looks at what is left."""
        for pod in self.of(group, job, index):
            del self.pods[pod.name]
        self.view = View()
        for pod in self.pods.values():
            self.view.change(None, pod)
        self.step()

    def of(self, group: str, job: int | None = None, *indexes: int) -> list[Pod]:
        members = self.view.of(self.kept.epoch).members.values()
        found = [pod for pod in members if pod.group == group and job in (None, pod.job)]
        return sorted((pod for pod in found if not indexes or pod.index in indexes), key=lambda pod: pod.rank)

    def names(self, group: str | None = None) -> list[str]:
        """The jobs that have a pod, by name, with the attempt of their first."""
        members = sorted(self.view.of(self.kept.epoch).members.values(), key=lambda pod: pod.rank)
        return list(dict.fromkeys(f"{pod.group}-{pod.job}" for pod in members if group in (None, pod.group)))

    def condition(self, kind: str) -> tuple[str, str] | None:
        found = [each for each in self.status.get("conditions", ()) if each["type"] == kind]
        return (found[0]["status"], found[0]["reason"]) if found else None

    def message(self, kind: str) -> str:
        return str(next(each["message"] for each in self.status["conditions"] if each["type"] == kind))

    def counts(self, group: str = "w") -> str:
        """The counts of a replicated job that are not 0, such as ``active 1 ready 1``."""
        row = next(each for each in self.status["replicatedJobsStatus"] if each["name"] == group)
        return " ".join(f"{name} {number}" for name, number in row.items() if name != "name" and number)

    def turns(self) -> list[str]:
        """Each change of a condition, in order: ``Suspended True/SuspendedJobs``."""
        seen: dict[str, str] = {}
        found = []
        for status in self.history:
            for each in status.get("conditions", ()):
                now = f"{each['status']}/{each['reason']}"
                if seen.get(each["type"]) != now:
                    seen[each["type"]] = now
                    found.append(f"{each['type']} {now}")
        return found

    def _once(self) -> bool:
        decision = decide(self.plan, self.record, self.view, self.now)
        if decision.read_first:
            self.view.engine.live_read = LiveRead(self.now, self.version)
            return True
        if decision.write or self.record is None:
            self.record = decision.record
        self.view.engine.answered = True
        at = msgspec.structs.replace(self.record, updated_at=self.now)
        status = status_of(self.plan, at, self.view, self.status)
        written = status != self.status
        if written:
            assert status_of(self.plan, at, self.view, status) == status, "a status that is written twice"
            self.status = status
            self.history.append(copy.deepcopy(status))
        for action in decision.actions:
            self._do(action)
        self.wake_at = decision.wake_at
        return bool(decision.actions) or decision.write or written

    def _do(self, action: Action) -> None:
        match action:
            case ConfirmLaunch(epoch=epoch, attempts=attempts):
                self.view.engine.confirmed = epoch
                self.view.engine.confirmed_attempts |= {(epoch, *each) for each in attempts}
            case ConfirmLoss(epoch=epoch, attempts=attempts):
                self.view.engine.lost_attempts.update(((epoch, *each), None) for each in attempts)
            case EnsureService():
                self.view.engine.service = True
            case EnsureClaims(epoch):
                self.view.engine.claims = epoch
            case CreatePods(epoch=epoch, members=members, attempts=attempts):
                current = dict(attempts)
                for member in members:
                    attempt = current.get(member.rank, 0)
                    name = self.plan.pod_name(member, epoch, attempt)
                    self.version += 1
                    pod = builders.pod(
                        member.rank, uid=f"uid-{name}", name=name, namespace=self.plan.namespace,
                        resource_version=self.version, owner=self.plan.uid, group=member.group, job=member.job,
                        index=member.pod, epoch=epoch, attempt=attempt, phase=PodPhase.PENDING, ready=False,
                        scheduled=False, started=False, node="", ip="",
                    )  # fmt: skip
                    assert name not in self.pods, f"{name} is created twice"
                    self.view.change(None, pod)
                    self.pods[name] = pod
                    self.created.append(name)
                self.view.mark_created(epoch, (), self.plan.together)
            case StopPods(pods, _):
                self.view.mark_stopping(pods)
                for pod in pods:
                    self._end(pod, 143)
            case DeletePods(pods, grace, _):
                self.view.mark_deleting(pods, grace)
                for pod in pods:
                    if pod.name in self.held:
                        self._set(self.pods[pod.name], terminating=True)
                    else:
                        self._gone(pod)

    def _set(self, pod: Pod, **changes: Any) -> None:
        self.version += 1
        new = msgspec.structs.replace(pod, resource_version=self.version, **changes)
        self.view.change(pod, new)
        self.pods[pod.name] = new

    def _end(self, pod: Pod, code: int, *, disruption: str = "") -> None:
        phase = PodPhase.FAILED if code else PodPhase.SUCCEEDED
        ended = Exit("main", code, 0, "Error" if code else "Completed", "", self.now)
        changes: dict[str, Any] = {"phase": phase, "ready": False, "scheduled": True, "started": True}
        self._set(pod, **changes, exit=ended, disruption=disruption)

    def _gone(self, pod: Pod) -> None:
        self.view.change(self.pods.pop(pod.name), None)
