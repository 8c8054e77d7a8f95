"""Which changes of a record speak against a node, which never do, and what is work that a node has borne."""

from typing import Any

import pytest

from muster.api.causes import Blocked, ContainerRestarts, Stuck
from muster.state.facts.causes.table import BY_NAME, CAUSES
from muster.state.facts.nodes.history import DAY, Failure, History
from muster.state.facts.nodes.suspects import MOST_NODES, SURE, counted, observe, went_on
from muster.state.vocabulary.record import Cause, Phase, Record
from tests.builders import NOW, plan, pod, record, view

BEFORE = record(phase=Phase.RUNNING)


def cause(reason: str, **more: Any) -> Cause:
    usual: dict[str, Any] = {"epoch": 0, "at": NOW - 1, "uid": "pod-1-0", "rank": 1, "node": "node-1", "exit_code": 1}
    return Cause(reason=reason, **usual | more)


def seen(new: Record, old: Record | None = BEFORE, **pods: Any) -> History:
    history = History()
    observe(history, plan(), old, new, view(*(pod(rank, **pods) for rank in range(4))), NOW)
    return history


def after(found: Cause) -> Record:
    return record(phase=Phase.RESTARTING, epoch=1, cause=found)


def kept(history: History) -> dict[str, list[tuple[str, bool]]]:
    return {node: [(each.cause, each.sure) for each in some] for node, some in history.failures().items()}


@pytest.mark.parametrize("reason", ["NodeLost", "DeletionByTaintManager", "DeletionByPodGC", "NodeNotReady"])
def test_what_kubernetes_says_of_the_node_is_sure(reason: str) -> None:
    assert kept(seen(after(cause(reason, disruption=True, exit_code=None)))) == {"node-1": [(reason, True)]}


@pytest.mark.parametrize("found", [
    cause("Error", message="RuntimeError: CUDA error: uncorrectable ECC error encountered"),
    cause("ContainerFailed"),
    cause("RankFailed", exit_code=None),
    cause("UnexpectedAdmissionError", disruption=True, exit_code=None),
    cause("Evicted", disruption=True, exit_code=None, message="The node was low on resource: ephemeral-storage"),
    cause("CoordinatorLost", disruption=True, exit_code=None),
])  # fmt: skip
def test_what_the_program_may_be_the_reason_of_is_kept_and_not_sure(found: Cause) -> None:
    assert kept(seen(after(found))) == {"node-1": [(found.reason, False)]}


@pytest.mark.parametrize("found", [
    cause("PreemptionByScheduler", disruption=True),
    cause("EvictionByEvictionAPI", disruption=True),
    cause("TerminationByKubelet", disruption=True),
    cause("NodeShutdown", disruption=True),
    cause("PodDeleted", disruption=True),
    cause("OOMKilled", exit_code=137),
    cause("Evicted", message="Pod ephemeral local storage usage exceeds the total limit"),
    cause("Completed", exit_code=0),
    cause("CoordinatorNotServing", exit_code=None),
    cause("Error", node=""),
])  # fmt: skip
def test_what_is_no_nodes_fault_is_not_kept(found: Cause) -> None:
    assert kept(seen(after(found))) == {}


def test_a_record_that_only_goes_on_says_nothing_again() -> None:
    failed = after(cause("Error"))
    assert kept(seen(record(phase=Phase.PENDING, epoch=1, cause=failed.cause), failed)) == {}
    assert kept(seen(BEFORE, None)) == {}


def test_a_container_that_was_started_again_counts_with_its_node() -> None:
    again = record(phase=Phase.RUNNING, in_place=ContainerRestarts(count=1, cause=cause("Error")))
    assert kept(seen(again)) == {"node-1": [("Error", False)]}
    assert not seen(again).lives(), "its life goes on"


def stuck(name: str, ranks: str) -> Record:
    return record(phase=Phase.RUNNING, stuck=Stuck(name, "", ranks, NOW - 30))


def test_a_stuck_run_counts_for_the_one_node_that_it_waits_for() -> None:
    assert kept(seen(stuck("ContainerCannotStart", "2"))) == {"node-2": [("ContainerCannotStart", False)]}
    assert kept(seen(stuck("Sandbox", "0-3"), node="n")) == {"n": [("Sandbox", False)]}
    assert kept(seen(stuck("ContainerCannotStart", "1-2"))) == {}, "of two nodes it is hardly the node"
    assert kept(seen(stuck("NodeNotReady", "1-2"))) == {
        "node-1": [("NodeNotReady", True)],
        "node-2": [("NodeNotReady", True)],
    }
    assert kept(seen(stuck("NodeNotReady", "1"), stuck("NodeNotReady", "1"))) == {}
    assert kept(seen(stuck("NoSuchCause", "1"))) == {}
    assert kept(seen(stuck("ProcessCount", "1"))) == {}


def test_one_run_speaks_against_few_nodes() -> None:
    history = History()
    pods = view(*(pod(rank) for rank in range(40)))
    observe(history, plan(size=40), BEFORE, stuck("NodeNotReady", "0-39"), pods, NOW)
    assert len(history.failures()) == MOST_NODES


def test_the_causes_that_name_the_node_are_the_sure_ones() -> None:
    assert {each.value for each in CAUSES if each.names_node} == {each for each in SURE if each in BY_NAME}


def test_an_end_of_an_epoch_is_one_life_shared_by_its_nodes() -> None:
    ends = (after(cause("Error")), record(phase=Phase.SUCCEEDED), record(phase=Phase.FAILED, cause=cause("Error")))
    for new in ends:
        assert [seen(new).lives(f"node-{rank}") for rank in range(4)] == [{"team": 0.25}] * 4
        assert seen(new).lives() == {"team": 1.0}
    assert seen(record(phase=Phase.RUNNING)).lives() == {}
    assert seen(record(phase=Phase.SUCCEEDED), record(phase=Phase.SUCCEEDED)).lives() == {}


def test_a_run_that_fails_again_on_a_node_makes_it_look_no_busier() -> None:
    history, old = History(), record(phase=Phase.RUNNING)
    for epoch in range(6):
        found = cause("Error", epoch=epoch, uid=f"p{epoch}")
        new = record(phase=Phase.RESTARTING, epoch=epoch + 1, cause=found)
        observe(history, plan(), old, new, view(*(pod(rank, epoch=epoch) for rank in range(4))), NOW)
        old = new
    assert history.lives("node-1") == {"team": 0.25}
    assert history.lives("node-0") == {"team": 1.5}
    assert [each.times for each in history.failures()["node-1"]] == [6]


def test_an_hour_at_work_is_a_life_and_an_hour_stuck_is_none() -> None:
    history, pods = History(), view(*(pod(rank) for rank in range(4)))
    assert went_on(history, plan(), record(phase=Phase.RUNNING), pods, NOW) == 4
    assert went_on(history, plan(), stuck("Hung", "1"), pods, NOW) == 0
    assert went_on(history, plan(), record(phase=Phase.RUNNING, blocked=Blocked("x", NOW)), pods, NOW) == 0
    assert went_on(history, plan(), record(phase=Phase.ASSEMBLING), pods, NOW) == 0
    assert [history.lives(f"node-{rank}") for rank in range(4)] == [{"team": 0.25}] * 4


def failed(namespace: str, at: float, *, sure: bool = False, run: str = "r") -> Failure:
    return Failure(int(at), namespace, run, "u.0", "Error", sure, int(at))


def test_a_failure_of_a_program_counts_only_beside_one_of_another_namespace() -> None:
    alone = [failed("a", NOW), failed("a", NOW + 1, run="s"), failed("b", NOW + 2, sure=True)]
    assert counted(alone) == alone[2:]
    both = [*alone, failed("c", NOW + DAY)]
    assert counted(both) == both
    far = [failed("a", NOW), failed("c", NOW + DAY + 1)]
    assert counted(far) == []
