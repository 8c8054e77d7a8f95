"""Gangs get their places together or not at all, and a pod that waits says what holds the rest."""

from typing import Any

import pytest

from muster.api.names import LABEL_EPOCH, LABEL_EXPERIMENT, LABEL_GROUP, LABEL_UID
from tests.local.node.harness import FakeApi, Pod, Scheduling

EXPERIMENTS = "/apis/muster.dev/v1alpha1/namespaces/default/experiments"


class Node(Scheduling):
    """A node with experiments of one type each."""

    def experiment(self, name: str, **types: Any) -> None:
        """An experiment of the jobset operator."""
        self.api.objects[f"{EXPERIMENTS}/{name}"] = {
            "apiVersion": "muster.dev/v1alpha1",
            "kind": "Experiment",
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": f"u-{name}",
                "generation": 1,
                "resourceVersion": "1",
                "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": {"operator": "jobset", "image": "i", "command": "c", "types": types},
        }

    def pod(self, experiment: str, group: str = "worker", number: int = 0, cpu: str = "1", epoch: int = 0) -> Pod:
        """A pod as the daemon creates it; younger than those before it."""
        made = self.add(f"{experiment}-{group}-{number}-{epoch}", len(self.pods), cpu=cpu)
        labels = {LABEL_UID: f"u-{experiment}", LABEL_EXPERIMENT: experiment, LABEL_GROUP: group}
        made["metadata"] |= {
            "labels": labels | {LABEL_EPOCH: str(epoch)},
            "ownerReferences": [
                {"apiVersion": "muster.dev/v1alpha1", "kind": "Experiment", "name": experiment, "controller": True}
            ],
        }
        return made

    async def bound(self) -> list[str]:
        """The same, which the watch then reports."""
        names = await super().bound()
        for name in names:
            self.pods[name]["spec"]["nodeName"] = "local"
        return names

    def message(self, name: str) -> str:
        """Why a pod waits."""
        patches = [body for verb, path, body in self.api.asked if verb == "PATCH" and f"/{name}/" in path]
        return str(patches[-1]["status"]["conditions"][-1]["message"])


@pytest.fixture
def node(fake_api: FakeApi) -> Node:
    return Node(fake_api, cpu="4", memory="8Gi", pods="10")


def workers(count: int, cpus: float = 1.0, **fields: Any) -> dict[str, Any]:
    return {"count": count, "resources": {"cpus": cpus, "memory": 0.1}, **fields}


async def test_a_gang_that_does_not_fit_as_a_whole_gets_no_place(node: Node) -> None:
    node.experiment("hang", worker=workers(2))
    for number in range(2):
        node.pod("hang", number=number)
    assert len(await node.bound()) == 2
    node.experiment("late", worker=workers(3))
    for number in range(3):
        node.pod("late", number=number)
    assert await node.bound() == []
    assert node.message("late-worker-0-0") == (
        "0/1 nodes are available: 1 Insufficient cpu. "
        "The 3 pods of the gang need 3 CPU, 2 are free: experiment hang holds 2"
    )


async def test_members_that_are_not_created_yet_count(node: Node) -> None:
    node.experiment("big", worker=workers(5))
    node.pod("big")
    assert await node.bound() == []
    assert node.message("big-worker-0-0").endswith("The 5 pods of the gang need 5 CPU, this machine has 4")


async def test_of_two_gangs_at_once_the_second_waits_whole_until_the_first_has_ended(node: Node) -> None:
    for name in ("one", "two"):
        node.experiment(name, worker=workers(2, 1.9))
    for number in range(2):
        for name in ("one", "two"):
            node.pod(name, number=number, cpu="1.9")
    assert await node.bound() == ["one-worker-0-0", "one-worker-1-0"]
    assert await node.bound() == []
    for number in range(2):
        node.pods[f"one-worker-{number}-0"]["status"] = {"phase": "Succeeded"}
    assert await node.bound() == ["two-worker-0-0", "two-worker-1-0"]


async def test_a_placed_gang_keeps_the_place_of_members_that_wait_for_a_gate(node: Node) -> None:
    gate = [{"group": "actor", "status": "Ready"}]
    node.experiment("gated", actor=workers(1), learner=workers(2, dependsOn=gate))
    node.pod("gated", "actor")
    assert len(await node.bound()) == 1
    node.experiment("other", worker=workers(2))
    for number in range(2):
        node.pod("other", number=number)
    assert await node.bound() == []
    for number in range(2):
        node.pod("gated", "learner", number)
    assert await node.bound() == ["gated-learner-0-0", "gated-learner-1-0"]


async def test_a_group_that_waits_for_the_end_of_another_takes_its_place(node: Node) -> None:
    gate = [{"group": "first", "status": "Complete"}]
    node.experiment("stages", first=workers(4), second=workers(4, dependsOn=gate))
    for number in range(4):
        node.pod("stages", "first", number)
    assert len(await node.bound()) == 4


async def test_a_member_that_has_succeeded_needs_no_place_in_the_next_epoch(node: Node) -> None:
    node.experiment("again", worker=workers(2))
    node.pod("again", number=0)["status"] = {"phase": "Succeeded"}
    node.pod("holder", cpu="3")
    assert await node.bound() == ["holder-worker-0-0"]
    node.pod("again", number=1, epoch=1)
    assert await node.bound() == ["again-worker-1-1"]


async def test_pods_whose_owner_cannot_be_read_are_placed_one_by_one(node: Node) -> None:
    for number in range(2):
        node.pod("unknown", number=number, cpu="3")
    assert await node.bound() == ["unknown-worker-0-0"]
    assert node.message("unknown-worker-1-0").endswith(
        "Its containers need 3 CPU, 1 are free: experiment unknown holds 3"
    )
