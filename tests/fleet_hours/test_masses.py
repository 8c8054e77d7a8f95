"""What GPU fleets die of, in the words of kubelet and containerd; and what looks like it, and is no incident."""

from collections.abc import Callable, Iterable
from random import Random

import pytest

from muster.state.facts.incidents.signs import Sign
from muster.state.facts.incidents.tracking import BEGINS, Tracking
from muster.state.summary.hurt import incident_sentence
from tests.fleet_hours import messages as say
from tests.fleet_hours.fleet import PLACES, WELL
from tests.fleet_hours.masses import KINDS, Plant
from tests.fleet_hours.play import NAMED_WITHIN
from tests.fleet_hours.shown import FleetRun
from tests.state.facts.incidents.fleet import follow

T = 1_000_000.0


def run(number: int, node: str = "", team: str = "", image: str = "r.example/x:1", storage: str = "") -> FleetRun:
    return FleetRun(number, team or f"team-{number}", (node or f"n{7 * number}",), image, storage)


def named(*signs: Iterable[Sign], used: Iterable[tuple[str, str]] = WELL) -> list[str]:
    """The incidents of these signs, once they have lasted."""
    tracking, some, now = Tracking(), [sign for each in signs for sign in each], T + 900
    for _ in range(3):
        tracking, now = follow(tracking, some, now, PLACES, frozenset(used)), now + BEGINS
    return [f"{each.key.kind} {each.key.subject}" for each in tracking.shown]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("plant", KINDS, ids=lambda each: each.__name__)
def test_a_mass_is_named_in_time_and_by_one_name(plant: Plant, seed: int) -> None:
    mass, tracking, names = plant(Random(seed)), Tracking(), set[tuple[str, str]]()
    runs = [FleetRun(n, f"team-{n % 20}", each.nodes, each.image, each.storage) for n, each in enumerate(mass.victims)]
    shown = [(each.after, each.shows(run, T + each.after)) for run, each in zip(runs, mass.victims, strict=True)]
    for after in range(5, int(NAMED_WITHIN) + 1, 5):
        signs = [sign for at, some in shown if at <= after for sign in some]
        tracking = follow(tracking, signs, T + after, PLACES, WELL)
        names |= {(each.key.kind, each.key.subject) for each in tracking.shown}
    assert names == mass.names


SANDBOX = say.SANDBOX.format(plugin="calico", why=say.NO_ADDRESS)
EXEC = 'exec: "trian.py": not found in $PATH'
NO_INCIDENT: dict[str, tuple[int, Callable[[int], Iterable[Sign]]]] = {
    "programs that ask for another driver": (9, lambda n: run(n).fails(T, say.start_error(say.UNMET))),
    "programs that ask for no device of the node": (9, lambda n: run(n).fails(T, say.start_error(say.NO_DEVICE))),
    "programs that forge the message of a driver": (9, lambda n: run(n).fails(T, say.start_error(say.FORGED))),
    "a driver under one tenant": (9, lambda n: run(n, team="a").fails(T, say.start_error(say.MISMATCH))),
    "a driver of one node under one tenant": (9, lambda n: run(n, "n7", "a").fails(T, say.start_error(say.MISMATCH))),
    "programs that fill their own disk": (9, lambda n: run(n).fails(T, say.exited(1, say.OWN_DISK))),
    "pods that exceed their own limit": (9, lambda n: run(n, "n7", f"t{n % 2}").evicted(T, say.OWN_LIMIT)),
    "pods that take the memory of a node": (9, lambda n: run(n, "n7", f"t{n % 2}").evicted(T, say.LOW_MEMORY)),
    "GPUs lost on nodes of all racks": (4, lambda n: run(n, f"n{50 * n}").fails(T, say.start_error(say.GPU_LOST))),
    "nodes whose network fails by and by": (
        4,
        lambda n: run(n).no_sandbox(T + 250 * n, "FailedCreatePodSandBox", SANDBOX),
    ),
    "Secrets that several tenants have left out": (
        9,
        lambda n: run(n).no_sandbox(T, "FailedMount", say.NO_SECRET.format(name=f"s{n}")),
    ),
    "commands that images do not have": (9, lambda n: run(n, "n7").waits(T, "CreateContainerError", EXEC)),
    "one program that crashes on many nodes": (30, lambda n: run(n).fails(T, say.exited(139), times=3)),
    "refusals that come one by one over an hour": (
        5,
        lambda n: run(n, image=f"registry.example/{n}/m:1").pulls(
            T + 200 * n, say.DENIED.format(image=f"registry.example/{n}/m:1", host="registry.example")
        ),
    ),
}
"""How many runs, and what each of them shows."""


@pytest.mark.parametrize("many", NO_INCIDENT)
def test_what_looks_like_a_mass_is_no_incident(many: str) -> None:
    count, shows = NO_INCIDENT[many]
    assert named(*(shows(n) for n in range(count))) == []


def test_one_secret_under_three_runs_is_that_secret() -> None:
    stuck = [
        sign._replace(kind="config", subject='team-1/secret "creds"')
        for n in range(3)
        for sign in run(n, team="team-1").waits(T, "CreateContainerConfigError", 'secret "creds" not found')
    ]
    assert named(stuck) == ['config team-1/secret "creds"']


def test_a_full_disk_is_the_nodes_where_all_runs_are_of_one_tenant_too() -> None:
    assert named(*(run(n, "n7", "a").evicted(T, say.LOW) for n in range(3))) == ["node n7"]


@pytest.mark.parametrize("why", [say.ANONYMOUS, say.NO_REPOSITORY, say.NOT_FOUND])
def test_typos_of_many_teams_at_one_registry_are_no_incident(why: str) -> None:
    runs = [run(n, image=f"ghcr.io/team-{n}/x:1") for n in range(9)]
    assert named(*(each.pulls(T, why.format(image=each.image, host="ghcr.io")) for each in runs)) == []


@pytest.mark.parametrize("why", [say.DENIED, say.EXPIRED, say.FORBIDDEN])
def test_the_pull_secret_of_one_team_is_no_registry_that_refuses(why: str) -> None:
    runs = [run(n, team="a", image=f"registry.example/a/m-{n}:1") for n in range(9)]
    assert named(*(each.pulls(T, why.format(image=each.image, host="registry.example")) for each in runs)) == []


def test_an_image_that_three_teams_may_not_pull_is_that_image() -> None:
    runs = [run(n) for n in range(3)]
    why = say.DENIED.format(image="r.example/x:1", host="r.example")
    assert named(*(each.pulls(T, why) for each in runs)) == ["image r.example/x:1"]


def test_crashes_on_one_node_that_lie_far_apart_or_are_one_tenants_are_no_node() -> None:
    crash = say.exited(139)
    assert named(*(run(n, "n7", "a").fails(T, crash, times=3) for n in range(9))) == []
    assert named(*(run(n, "n7").fails(T, crash, times=3) for n in range(3))) == [], "three are chance"
    apart = [run(n, "n7").hangs(T - 1000 * n, 0) for n in range(6)]
    assert named(*apart) == []


def test_a_node_that_is_reported_of_one_run_takes_the_troubles_of_three_others_along() -> None:
    shows = [run(0, "n7").evicted(T, say.LOW), run(1, "n7").hangs(T, 0), run(2, "n7").fails(T, say.exited(139))]
    assert named(*shows) == [], "two may be chance"
    assert named(*shows, run(3, "n7").hangs(T, 0)) == ["node n7"]


def test_a_node_that_is_reported_of_three_runs_takes_the_troubles_of_any_other_along() -> None:
    shows = [run(n, "n7").evicted(T, say.LOW) for n in range(3)]
    assert named(*shows, run(9, "n7").hangs(T - 5000, 0)) == ["node n7"]


def test_gangs_that_hang_over_a_storage_that_others_use_are_no_incident() -> None:
    gangs = [run(n, storage="shared-fs").hangs(T) for n in range(40)]
    assert named(*gangs, used=[("storage class", "shared-fs")]) == []
    assert named(*gangs, used=[]) == ["storage class shared-fs"]


def test_gangs_that_hang_together_without_a_storage_in_common_are_no_incident() -> None:
    assert named(*(run(n, storage=f"s{n}").hangs(T) for n in range(40)), used=[]) == []
    assert named(*(run(n).hangs(T) for n in range(40)), used=[]) == []
    assert named(*(run(n, storage="fs").hangs(T + 200 * n) for n in range(4)), used=[]) == []


def test_a_mass_of_ends_is_reported_to_hit_runs_and_not_to_keep_them() -> None:
    said = say.start_error(say.MISMATCH)
    signs = [sign for n in range(5) for sign in run(n, "n7").fails(T, said)]
    tracking = follow(follow(Tracking(), signs, T), signs, T + BEGINS)
    assert [incident_sentence(each) for each in tracking.shown] == [
        "node n7: DriverFailed hits 5 runs of 5 namespaces (5 ranks)"
    ]


def test_a_sick_node_under_several_symptoms_is_not_reported_to_have_one_of_them() -> None:
    shows = [
        run(0, "n7").hangs(T, 0),
        run(1, "n7").hangs(T, 0),
        *(run(n, "n7").fails(T, say.exited(139)) for n in (2, 3)),
    ]
    signs = [sign for each in shows for sign in each]
    (found,) = follow(follow(Tracking(), signs, T + 100), signs, T + 110).shown
    assert found.cause == "SeveralCauses"


def test_a_driver_that_keeps_a_container_waiting_is_its_cause_and_names_the_node() -> None:
    (driver, node) = run(1, "n7").waits(T, "RunContainerError", say.MISMATCH)
    assert (driver.cause, driver.kind, driver.where) == ("DriverFails", "device driver", "n7")
    assert (node.cause, node.kind, node.subject, node.node) == ("DriverFails", "node", "n7", True)
    (full,) = run(1, "n7").waits(T, "CreateContainerError", say.NO_SPACE)
    assert (full.cause, full.kind, full.subject) == ("NodeDiskFull", "node", "n7")
