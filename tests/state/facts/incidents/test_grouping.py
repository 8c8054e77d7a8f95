"""What is named where several nodes die: what explains most nodes, by the narrowest label that covers them.

Nodes are a subject only where runs of two namespaces show it, or Kubernetes reports it of the node.
"""

from collections.abc import Sequence

import pytest

from muster.state.facts.causes.table import Causes
from muster.state.facts.incidents.belief import OF_NODE
from muster.state.facts.incidents.grouping import Key, Places, groups, places_of
from muster.state.facts.incidents.signs import Run, Sign
from muster.state.summary.hurt import incident_sentence
from tests.state.facts.incidents.fleet import GPUS, RACK, RACKS, ZONE, Looks, T, gangs


def test_a_rack_is_named_and_not_its_first_node_where_three_gangs_have_lost_twenty_each() -> None:
    (found,) = Looks(RACKS).at(gangs(range(20)), 20)
    assert (found.key.kind, found.key.subject) == ("rack", "r0")
    assert len(found.explains) == 3, "each is of another namespace"


def test_one_node_under_many_runs_stays_one_node_beside_two_others() -> None:
    packed = [Sign(Run(f"t{n}", "run"), "NodeNotReady", "node", "n7", 1, T, GPUS, node=True) for n in range(12)]
    (found,) = Looks(RACKS).at([*packed, *gangs([33], 1), *gangs([99], 1)], 20)
    assert (found.key.kind, found.key.subject) == ("node", "n7")


POOLS = {f"n{n}": {"cloud.google.com/gke-nodepool": f"p{n // 20}"} for n in range(240)}
ZONES = {name: {ZONE: each[ZONE]} for name, each in RACKS.items()}


@pytest.mark.parametrize(
    ("labels", "dead", "name"),
    [(RACKS, range(3, 21, 2), "rack r0"), (POOLS, range(3, 21, 2), "pool p0"), (ZONES, range(8, 60, 8), "zone z0")],
    ids=["rack", "pool", "zone, where no rack has a label"],
)
def test_nodes_that_die_over_forty_seconds_have_one_name_from_the_first_one(
    labels: dict[str, dict[str, str]], dead: range, name: str
) -> None:
    looks = Looks(labels)
    for number in dead:
        looks.at([sign for n in range(number) for sign in gangs([n], since=T + 2 * n)])
    looks.at(gangs(range(dead[-1])), 60)
    assert looks.names == [name]


def test_dead_nodes_whose_labels_move_blame_no_other_rack() -> None:
    for rack in ("r5", "r30"):
        looks = Looks(RACKS)
        looks.at(gangs(range(20)), 30)
        for node in ("n0", "n1", "n2"):
            looks.places.put(node, places_of({RACK: rack}))
        (found,) = looks.at(gangs(range(20)), 60)
        assert looks.names == ["rack r0"]
        assert rack not in incident_sentence(found)


def test_nodes_that_are_well_again_have_the_places_of_their_labels() -> None:
    looks = Looks(RACKS)
    looks.at(gangs(range(20)), 30)
    for node in range(20):
        looks.places.put(f"n{node}", places_of({RACK: "r30"}))
    looks.at([], 600)
    (found,) = looks.at(gangs(range(20)), 60)
    assert (found.key.kind, found.key.subject) == ("rack", "r30")


def test_a_second_rack_under_the_same_gangs_joins_by_name() -> None:
    looks = Looks(RACKS)
    looks.at(gangs(range(20)), 30)
    (found,) = looks.at(gangs(range(40)), 30)
    assert looks.names == ["rack r0"]
    assert incident_sentence(found) == "rack r0 and r1: NodeNotReady blocks 3 runs of 3 namespaces (120 ranks)"


def test_a_second_rack_under_other_gangs_stands_beside() -> None:
    looks = Looks(RACKS)
    looks.at(gangs(range(20)), 30)
    others = [sign._replace(run=Run(sign.run.namespace, "other")) for sign in gangs(range(20, 40))]
    looks.at([*gangs(range(20)), *others], 30)
    assert looks.names == ["rack r0", "rack r0 | rack r1"]


@pytest.mark.parametrize("dead", [range(0, 240, 8), (1, 22, 43)], ids=["of many racks", "three of one zone"])
def test_nodes_of_several_racks_that_die_together_are_no_rack_and_no_zone(dead: Sequence[int]) -> None:
    (found,) = Looks(RACKS).at(gangs(dead), 20)
    assert found.key.kind == "nodes"


def test_a_node_that_becomes_a_rack_goes_on_as_one_incident() -> None:
    looks = Looks(RACKS)
    (first,) = looks.at(gangs([0]), 20)
    (found,) = looks.at(gangs(range(20), since=looks.now), 30)
    assert looks.names == ["node n0", "rack r0"]
    assert found.began == first.began


@pytest.mark.parametrize("nodes", [1, 5])
def test_the_ranks_of_a_run_are_those_of_all_its_nodes(nodes: int) -> None:
    (found,) = Looks(RACKS).at(gangs(range(nodes), 232, ranks=2), 20)
    assert (len(found.runs), found.ranks) == (232, 464 * nodes)


def test_two_causes_on_one_node_are_one_incident() -> None:
    frozen = gangs([7], 2, cause="CoordinatorUnreachable")
    (found,) = Looks(RACKS).at([*frozen, *gangs([7], 3)[2:]], 20)
    assert (found.key.subject, found.cause, len(found.runs)) == ("n7", "CoordinatorUnreachable", 3)


CLAIMED = (Causes.COORDINATOR_FROZEN, Causes.COORDINATOR_UNREACHABLE, Causes.HEARTBEAT_LOST)


def signs(cause: str, *namespaces: str, kind: str = "node") -> list[Sign]:
    runs = [Run(namespace, f"run-{number}") for number, namespace in enumerate(namespaces)]
    return [Sign(run, cause, kind, "n7", 1, 0.0, node=kind == "node") for run in runs]


@pytest.mark.parametrize("cause", [each.value for each in CLAIMED])
def test_runs_of_one_tenant_do_not_make_a_node_a_subject_and_those_of_two_do(cause: str) -> None:
    assert groups(signs(cause, "a", "a", "a"), Places()) == {}
    assert len(groups(signs(cause, "a", "a", "b"), Places())[Key("node", "n7")]) == 3


@pytest.mark.parametrize("cause", sorted(OF_NODE))
def test_the_condition_of_the_node_is_enough(cause: str) -> None:
    assert Key("node", "n7") in groups(signs(cause, "a", "a", "a"), Places())


def test_what_is_no_node_is_a_subject_of_one_tenant_too() -> None:
    cause = Causes.IMAGE_PULL.value
    assert Key("image", "n7") in groups(signs(cause, "a", "a", "a", kind="image"), Places())


def test_an_incident_of_coordinators_that_are_silent_keeps_back_no_run() -> None:
    """A tenant can make its own coordinator silent."""
    (found,) = Looks().at(gangs([7], cause="CoordinatorUnreachable"), 20)
    assert len(found.runs) == 3
    assert not found.explains
