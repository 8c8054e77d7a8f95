"""When an incident begins and ends, what is none, and whom a tenant can hide."""

import pytest

from muster.state.facts.incidents.belief import OF_NODE, believed
from muster.state.facts.incidents.grouping import RUNS, Places
from muster.state.facts.incidents.signs import Run, Sign
from muster.state.facts.incidents.subjects import FOLLOWS
from muster.state.facts.incidents.tracking import BEGINS, ENDS, MOST, MOST_OF_ONE, Tracking
from muster.state.summary.hurt import incident_sentence
from tests.state.facts.incidents.fleet import GPUS, RACKS, T, follow


def sign(n: int, subject: str = "n7", *, namespace: str = "", kind: str = "node", since: float = T) -> Sign:
    cause = "NodeNotReady" if kind == "node" else "ImagePull"
    return Sign(Run(namespace or f"team-{n % 5}", f"run-{n}"), cause, kind, subject, 4, since, GPUS, kind == "node")


def lasting(signs: list[Sign], labels: dict[str, dict[str, str]] | None = None) -> Tracking:
    first = follow(Tracking(), signs, T, Places(labels))
    return follow(first, signs, T + BEGINS, Places(labels))


def subjects(tracking: Tracking) -> list[str]:
    return [f"{each.key.kind} {each.key.subject}" for each in tracking.shown]


def test_three_runs_of_one_node_are_an_incident_once_that_lasts() -> None:
    signs = [sign(n, since=T - n) for n in range(3)]
    first = follow(Tracking(), signs, T)
    assert not first.shown
    (found,) = follow(first, signs, T + BEGINS).shown
    assert (found.began, found.ranks, found.devices, len(found.runs)) == (T - 2, 12, (("nvidia.com/gpu", 24),), 3)
    assert incident_sentence(found) == "node n7: NodeNotReady blocks 3 runs of 3 namespaces (12 ranks)"


def test_two_runs_are_none() -> None:
    assert not lasting([sign(n) for n in range(RUNS - 1)]).shown


def test_other_subjects_and_causes_do_not_add_up() -> None:
    assert not lasting([sign(0), sign(1), sign(2, "n8"), sign(3, "n7", kind="image"), sign(4, "x", kind="image")]).shown


def test_a_run_that_comes_and_goes_ends_and_begins_nothing() -> None:
    signs = [sign(n) for n in range(3)]
    now, tracking = T + BEGINS, lasting(signs)
    for turn in range(20):
        now += 5
        tracking = follow(tracking, signs if turn % 2 else signs[:2], now)
        assert [each.began for each in tracking.shown] == [T]


def test_it_ends_when_too_few_are_left_for_five_minutes() -> None:
    signs = [sign(n) for n in range(3)]
    tracking = follow(lasting(signs), [sign(0, kind="registry")], T + 20)
    assert incident_sentence(tracking.shown[0]) == "node n7: NodeNotReady blocks no run now"
    tracking = follow(tracking, signs[:1], T + 20 + ENDS - 1)
    assert subjects(tracking) == ["node n7"]
    assert not follow(tracking, signs[:1], T + 20 + ENDS).shown


def test_one_run_that_is_left_of_others_that_are_not_certain_is_reported_by_itself() -> None:
    signs = [sign(n, "r.example", kind="registry") for n in range(3)]
    (found,) = follow(lasting(signs), signs[:1], T + 20).shown
    assert found.runs
    assert not found.explains


def test_a_dead_rack_is_one_incident_of_nodes_where_none_does() -> None:
    signs = [sign(n, f"n{n % 18}", since=T + n % 40) for n in range(200)]
    tracking = lasting(signs)
    assert subjects(tracking) == ["nodes n0 and others"]
    grown = follow(tracking, [*signs, sign(300, "a1", since=T + 30)], T + 40)
    assert subjects(grown) == ["nodes n0 and others"], "it keeps its name while nodes join"


def test_a_few_nodes_of_a_large_rack_are_no_rack() -> None:
    signs = [sign(n, f"n{n % 4}", since=T + 1000 * (n % 4)) for n in range(4)]
    assert not lasting(signs, RACKS).shown


def test_nodes_that_fail_hours_apart_are_no_incident() -> None:
    assert not lasting([sign(n, f"n{n}", since=T - 1000 * n) for n in range(30)]).shown


def test_another_run_with_a_cause_of_its_own_is_not_explained() -> None:
    own = sign(999, "r.example/x:1", kind="image")
    tracking = lasting([*(sign(n) for n in range(200)), own])
    assert tracking.explaining(own.run) is None
    assert tracking.explaining(Run("team-0", "run-0")) is not None


@pytest.mark.parametrize("many", [3, 200])
def test_runs_of_one_namespace_do_not_explain_the_run_of_another(many: int) -> None:
    forged = [sign(n, "registry.example", kind="registry", namespace="attacker") for n in range(many)]
    victim = sign(999, "registry.example", kind="registry", namespace="victim")
    tracking = lasting([*forged, victim])
    assert len(tracking.shown[0].runs) == many + 1
    assert tracking.explaining(victim.run) is None
    assert tracking.explaining(forged[0].run) is not None


def test_an_incident_of_one_namespace_says_so() -> None:
    (found,) = lasting([sign(n, namespace="team") for n in range(3)]).shown
    assert found.alone == "team"
    assert " of namespace team " in incident_sentence(found)
    assert len(found.explains) == 3


def test_incidents_without_end_of_one_namespace_hide_no_other_one() -> None:
    forged = [
        sign(1000 * k + n, f"r.example/{k}", kind="image", namespace="attacker") for k in range(100) for n in range(9)
    ]
    tracking = lasting([*forged, *(sign(n) for n in range(3))])
    assert subjects(tracking)[0] == "node n7"
    assert len(tracking.shown) == 1 + MOST_OF_ONE <= MOST
    assert tracking.hidden == 100 - MOST_OF_ONE
    assert sum(tracking.explaining(each.run) is not None for each in forged) == 9 * MOST_OF_ONE


def test_a_namespace_sees_its_own_part_of_an_incident() -> None:
    (found,) = lasting([sign(n) for n in range(6)]).shown
    own = found.within(["team-0", "team-9"])
    assert [run.namespace for run in own.runs] == ["team-0", "team-0"]
    assert (own.touched, own.key, own.began) == ({"team-0"}, found.key, found.began)
    assert found.explained_causes(Run("team-0", "run-0")) == {"NodeNotReady"} | OF_NODE | FOLLOWS
    assert found.explained_causes(Run("team-9", "run-0")) == frozenset()
    (pulls,) = lasting([sign(n, kind="image") for n in range(3)]).shown
    assert pulls.explained_causes(Run("team-0", "run-0")) == {"ImagePull"}


@pytest.mark.parametrize(
    ("refused", "silent", "named"),
    [
        ((0, 0, 0), 0, True),
        ((3, 3, 3), 0, True),
        ((2, 3, 3), 0, False),
        ((3, 3, 2), 0, False),
        ((1, 1, 1), 2, False),
        ((1, 1, 1), 3, True),
    ],
    ids=["none refused", "three of all", "two runs", "two images", "two silent", "three silent"],
)
def test_a_registry_that_refuses_needs_several_runs_and_images(
    refused: tuple[int, int, int], silent: int, named: bool
) -> None:
    runs, spaces, images = refused
    some = [
        Sign(Run(f"t{n % spaces}", f"r{n}"), "ImagePull", "registry", "r.example", 1, T, image=f"i{n % images}")
        for n in range(runs)
    ]
    some += [Sign(Run("t0", f"s{n}"), "ImagePull", "registry", "r.example", 1, T) for n in range(silent)]
    assert believed(("registry", "r.example"), {each.run: [each] for each in some}) is named
