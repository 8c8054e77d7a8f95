"""What a run gets of a machine that others use, too, and the sentence that refuses one that does not fit."""

import pytest

from muster.api.errors import MusterError
from muster.api.manifest.changes import Share
from muster.api.names import LABEL_EXPERIMENT
from muster.cli.environment import ALONE, BESIDE, LEAST, Room
from muster.cli.manifests import Manifest
from muster.cli.program import program_manifest
from muster.local.node.scheduling.fit import amounts
from muster.local.node.scheduling.scheduler import Ledger
from muster.state.vocabulary.plan import Plan
from tests.local.node.harness import Pod, container, pod

CAPACITY = amounts({"cpu": "2", "memory": "8G", "pods": "250"})


def running(name: str, cpu: str, memory: str, **metadata: str) -> Pod:
    """A pod of an experiment."""
    made = pod(f"{name}-worker-0-0", container(resources={"requests": {"cpu": cpu, "memory": memory}}))
    made["metadata"] |= {"labels": {LABEL_EXPERIMENT: name}} | metadata
    return made


def plan_with(workers: int, share: Share) -> Plan:
    return Manifest("", "", program_manifest(["true"], workers=workers, restarts=0, share=share)).plan(name="mine")


def refusal(room: Room, plan: Plan, *, cut: bool = False) -> str:
    with pytest.raises(MusterError) as refused:
        room.refuse(plan, "2 workers need", cut=cut)
    return str(refused.value)


def test_alone_the_workers_share_nearly_the_whole_machine() -> None:
    room = Room(Ledger(CAPACITY), ALONE)
    assert room.share(2) == Share(cpus=0.9, memory=3.6)
    assert room.share(7) == Share(cpus=0.257, memory=1.028)
    room.refuse(plan_with(7, room.share(7)), "7 workers need", cut=False)


def test_beside_others_they_share_half_of_what_is_free() -> None:
    room = Room(Ledger(CAPACITY, [running("hang", "0.6", "2G")]), BESIDE)
    assert room.share(2) == Share(cpus=0.35, memory=1.5)
    assert room.note("default") == "experiment hang holds 0.6 CPU and 2 GB"


def test_what_a_submitter_asks_for_is_not_shared() -> None:
    assert Room(Ledger(CAPACITY), ALONE).share(2, Share(0.5, 1.0)) == Share(cpus=0.65, memory=3.1)


def test_where_nearly_nothing_is_free_a_worker_is_refused_and_not_starved() -> None:
    room = Room(Ledger(CAPACITY, [running("hang", "1.98", "7.9G")]), BESIDE)
    assert room.share(2) == LEAST
    assert refusal(room, plan_with(2, room.share(2))) == (
        "2 workers need 0.1 CPU, 0.02 are free: experiment hang holds 1.98, "
        "and 0.5 GB of memory, 0.1 are free: experiment hang holds 7.9; wait for it: muster wait hang"
    )


def test_what_does_not_fit_names_what_holds_the_rest_and_what_to_do() -> None:
    pods = [running("hang", "0.6", "1G"), running("far", "0.1", "1G", namespace="team")]
    room = Room(Ledger(CAPACITY, pods), BESIDE)
    assert refusal(room, plan_with(2, Share(1.0, 1.0)), cut=True) == (
        "2 workers need 2 CPU, 1.3 are free: experiment hang holds 0.6, experiment far of namespace team holds 0.1; "
        "wait for it: muster wait hang, or --ignore-resources"
    )


def test_what_never_fits_is_not_blamed_on_others() -> None:
    room = Room(Ledger(CAPACITY, [running("hang", "0.6", "1G")]), BESIDE)
    assert refusal(room, plan_with(2, Share(1.5, 1.0)), cut=True) == (
        "2 workers need 3 CPU, this machine has 2; --ignore-resources cuts them"
    )


def test_numbers_are_rounded_so_that_the_sentence_holds() -> None:
    room = Room(Ledger(CAPACITY, [running("hang", "0.001", "1G")]), BESIDE)
    assert refusal(room, plan_with(2, Share(1.0, 1.0))).startswith("2 workers need 2 CPU, 1.99 are free: ")
