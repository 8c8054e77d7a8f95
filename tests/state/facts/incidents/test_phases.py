"""What an incident goes through: its causes one after another, calm, and its returns."""

import pytest

from muster.state.facts.incidents.incident import WINDOW
from muster.state.facts.incidents.signs import Run
from muster.state.facts.incidents.tracking import ENDS, REJOINS
from muster.state.summary.hurt import incident_sentence
from tests.state.facts.incidents.fleet import RACKS, Looks, after, gangs

DEVICE = ("device", "nvidia.com/gpu")


def test_the_death_of_a_rack_is_one_incident_with_its_phases() -> None:
    looks = Looks(RACKS)
    looks.at(gangs(range(20)), 60)
    looks.at(gangs(range(20), cause="NodeLost"), 60)
    looks.at(after("PodsMissing"), 60)
    (found,) = looks.at(after("Unschedulable", 3, *DEVICE), 600)
    assert looks.names == ["rack r0"]
    assert found.phases == ("NodeNotReady", "NodeLost", "PodsMissing", "Unschedulable")
    assert incident_sentence(found).startswith(
        "rack r0: NodeNotReady, then NodeLost, then PodsMissing, then Unschedulable blocks"
    )
    assert len(found.explains) == 3, "what follows pages no run either"


def test_a_gang_that_starts_again_and_finds_no_room_is_still_of_its_incident() -> None:
    looks = Looks(RACKS)
    looks.at(gangs(range(20)), 60)
    looks.at([], 120)
    looks.at(after("Unschedulable", 3, *DEVICE), 60)
    assert looks.names == ["rack r0"]


def test_a_node_that_shows_one_cause_after_another_is_one_incident() -> None:
    looks = Looks(RACKS)
    for cause in ("CoordinatorUnreachable", "NodeNotReady", "NodeLost"):
        looks.at(gangs([7], cause=cause), 60)
    assert looks.names == ["node n7"]


def test_a_run_that_gets_a_trouble_of_its_own_leaves_the_incident() -> None:
    looks = Looks(RACKS)
    looks.at(gangs(range(20), 4), 60)
    typo = after("ImagePull", 1, "image", "x:1")
    (found,) = looks.at([*typo, *gangs(range(20), 4)[20:]], 10)
    assert Run("team-0", "run") not in found.runs
    assert looks.tracking.explaining(Run("team-0", "run")) is None


def test_who_finds_no_room_an_hour_after_its_node_is_reported_by_itself() -> None:
    looks = Looks(RACKS)
    looks.at(gangs(range(20)), 60)
    looks.at(after("Unschedulable"), REJOINS)
    assert not any(each.runs for each in looks.tracking.shown)


def test_who_was_not_on_the_node_does_not_join_for_want_of_room() -> None:
    looks = Looks(RACKS)
    looks.at(gangs(range(20), 3), 60)
    (found,) = looks.at(after("Unschedulable", 9), 60)
    assert len(found.runs) == 3


@pytest.mark.parametrize("calm", [30, 90, 200])
def test_a_node_that_flaps_is_one_incident_that_says_so(calm: int) -> None:
    looks = Looks(RACKS)
    for _ in range(7):
        looks.at(gangs([7]), 60)
        looks.at([], calm)
    looks.at(gangs([7]), 30)
    assert looks.names == ["node n7"]
    number = min(7, int(WINDOW // (60 + calm)) + 1)
    (found,) = looks.tracking.shown
    assert number - 1 <= found.flaps <= number
    assert incident_sentence(found).endswith(f", flaps: {found.flaps} times in 20 min")


def test_what_flaps_ends_after_twenty_minutes_of_calm_and_what_does_not_after_five() -> None:
    looks = Looks(RACKS)
    looks.at(gangs([7]), 60)
    looks.at([], ENDS + 5)
    assert looks.tracking.shown == ()
    for _ in range(3):
        looks.at(gangs([7]), 60)
        looks.at([], 60)
    looks.at([], WINDOW - 600)
    assert looks.tracking.shown
    looks.at([], 2 * WINDOW)
    assert looks.tracking.shown == ()
    assert looks.tracking.known == {}


def test_what_returns_after_it_has_ended_is_counted() -> None:
    looks = Looks(RACKS)
    for _ in range(3):
        looks.at(gangs([7]), 60)
        looks.at([], ENDS + 10)
    assert looks.names == ["node n7", "", "node n7", "", "node n7"]
    assert looks.tracking.shown[0].flaps == 2, "it ends no more while it flaps"


def test_a_full_cluster_is_no_incident_and_a_device_that_no_run_holds_is() -> None:
    waiting = after("Unschedulable", 30, *DEVICE)
    assert Looks().at(waiting, 1200, in_use=[("device", "nvidia.com/gpu")]) == ()
    (found,) = Looks().at(waiting, 30, in_use=[("device", "amd.com/gpu")])
    assert (found.key.kind, len(found.runs)) == ("device", 30)
