"""People: whoever submits, changes and deletes experiments as the scenario says, and strangers as the plan says."""

from copy import deepcopy
from typing import TYPE_CHECKING

from muster.api.names import API_VERSION, KIND, LABEL_EPOCH, LABEL_RANK
from muster.kube.paths import experiment
from tests.simulation.oracles.invariants import OVER
from tests.simulation.plans.plan import Fault
from tests.simulation.scenarios.scenario import At

if TYPE_CHECKING:
    from tests.simulation.world.world import World

NAMESPACE = "team"
SUBMITTED = 1.0
"""The second at which everybody submits."""


class People:
    """All who are not the daemon and not the cluster."""

    def __init__(self, world: "World") -> None:
        self.world = world

    def invite(self) -> None:
        """Those whom the scenario knows come at their seconds."""
        self.world.loop.call_later(SUBMITTED, self.submit_all)
        for step in self.world.scenario.people:
            self.world.loop.call_later(step.second, self.step, step)

    def submit_all(self) -> None:
        """Everybody submits at once, always in the same order: uids are numbered by it, and pods named by them."""
        for name in self.world.scenario.ends:
            self.submit(name)

    def submit(self, name: str) -> None:
        """Somebody submits an experiment of that name, as the scenario has it."""
        spec = {
            "operator": "jax",
            "image": "demo",
            "command": "python main.py",
            "types": {"worker": {"count": self.world.plan.size, "resources": {"cpus": 1, "ramRatio": 2}}},
            **deepcopy(dict(self.world.scenario.spec)),
        }
        self.world.api.put(experiment(NAMESPACE, name), {"apiVersion": API_VERSION, "kind": KIND, "metadata": {
            "namespace": NAMESPACE}, "spec": spec})  # fmt: skip

    def step(self, step: At) -> None:
        """Somebody does what the scenario says."""
        path = experiment(NAMESPACE, step.experiment)
        obj = self.world.api.objects.get(path)
        if obj is None:
            return
        if step.delete:
            self.world.api.delete(path)
        else:
            self.world.api.put(path, {**obj, "spec": {**obj["spec"], **step.spec}})

    def meddle(self, fault: Fault) -> None:
        """Somebody who is not us, at any moment."""
        path = experiment(NAMESPACE, "run")
        if fault.kind == "edit-spec":
            if (obj := self.world.api.objects.get(path)) is not None:
                self.world.api.put(path, {**obj, "spec": {**obj["spec"], "command": "python other.py"}})
            return
        pods = [pod for pod in self.world.objects("pods") if pod["metadata"]["labels"][LABEL_RANK] == fault.how]
        if not pods:
            return
        pod = max(pods, key=lambda pod: int(pod["metadata"]["labels"][LABEL_EPOCH]))
        process = self.world.kubelet.processes[pod["metadata"]["uid"]]
        if fault.kind == "delete-pod":
            obj = self.world.named(process.called)
            status = (obj.get("status") or {}) if obj else {}
            if status.get("epoch") == process.epoch and status.get("phase") not in OVER:
                self.world.happened("deletion", process)
            self.world.api.delete(process.path)
        else:
            metadata = {**pod["metadata"], "annotations": {"stranger": "was here"}}
            self.world.api.put(process.path, {**pod, "metadata": metadata})
