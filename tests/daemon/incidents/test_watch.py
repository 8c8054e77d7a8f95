"""The search for incidents: its cost, its Events, and the effect of an unreadable run on the others."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from muster.api.errors import error_of
from muster.api.values.accelerators import USUAL
from muster.daemon.incidents.watch import EVERY, IncidentWatch
from muster.daemon.settings import Settings
from muster.metrics.collector import Subject
from muster.state.facts.context import Context
from muster.state.facts.incidents.grouping import Places
from muster.state.facts.incidents.signs import Sign, signs_of
from muster.state.summary.hurt import incident_sentence
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Claim, PodPhase, PodSpec
from muster.state.vocabulary.record import Cause, Condition, ConditionType, Phase, StoryLine
from tests.builders import NOW, edited, plan, pod, record, view, worker_group
from tests.daemon.virtual_daemon import Daemons, experiment, of_daemons
from tests.fakes.plans import experiment_path

STUCK = Condition(ConditionType.STUCK, True, "NodeNotReady", "", 1, NOW - 5)


class World:
    """Runs on node n7, a clock, and the announcements about each."""

    def __init__(self, count: int) -> None:
        self.now = NOW
        self.said: list[tuple[str, str]] = []
        self.lines: list[StoryLine] = []
        self.runs = [self.run(n) for n in range(count)]
        self.leading = True
        self.places = Places()
        self.watch = IncidentWatch(
            lambda: iter(self.runs),
            lambda: self.leading,
            self.say,
            clock=lambda: self.now,
            monotonic=lambda: self.now,
            sleep=self.sleep,
            accelerators=USUAL,
            places=lambda: self.places,
        )

    def run(self, n: int, node: str = "n7") -> Subject:
        wanted = plan(
            uid=f"u{n}",
            name=f"run-{n}",
            namespace=f"team-{n % 4}",
            size=1,
            groups=(worker_group(1, pod=PodSpec(limits={"nvidia.com/gpu": "8"})),),
        )
        return Subject(
            wanted, record(phase=Phase.RUNNING, conditions=(STUCK,)), view(pod(node=node, ready=False, cut_off=True))
        )

    def say(self, about: Plan, line: StoryLine) -> None:
        self.said.append((about.name, line.message))
        self.lines.append(line)

    async def sleep(self, seconds: float) -> None:
        self.now += seconds

    async def looks(self, count: int) -> None:
        for _ in range(count):
            await self.sleep(EVERY)
            await self.watch.look()


async def test_each_run_that_an_incident_explains_is_spoken_to_once() -> None:
    world = World(8)
    await world.looks(10)
    (found,) = world.watch.tracking.shown
    assert (found.key.kind, found.key.subject, len(found.runs)) == ("node", "n7", 8)
    assert sorted(name for name, _ in world.said) == sorted(f"run-{n}" for n in range(8))
    assert world.said[0][1] == "part of an incident: node n7"


async def test_what_stuck_runs_hold_is_counted_by_reason() -> None:
    world = World(3)
    await world.looks(7)
    assert dict(world.watch.lost) == {("nvidia.com/gpu", "NodeNotReady"): 3 * 8 * 6 * EVERY}


async def test_only_a_changed_or_an_old_run_is_diagnosed_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world, asked = World(20), []

    def counted(context: Context) -> tuple[Sign, ...]:
        asked.append(context.plan.uid)
        return signs_of(context)

    monkeypatch.setattr("muster.daemon.incidents.watch.signs_of", counted)
    await world.looks(3)
    assert len(asked) == 20
    world.runs[0] = replace(world.runs[0], record=record(phase=Phase.RUNNING, conditions=(STUCK,), epoch=0))
    await world.looks(1)
    assert asked[20:] == ["u0"]


async def test_runs_that_failed_a_moment_ago_are_looked_at_though_none_is_stuck() -> None:
    world, fault = World(5), "nvidia-container-cli: initialization error: nvml error: gpu is lost"
    ended = Cause(0, "DeviceDriverFailed", fault, NOW, node="n7", disruption=True)
    again = record(phase=Phase.RESTARTING, epoch=1, cause=ended)
    world.runs = [replace(each, record=again, view=view()) for each in world.runs]
    await world.looks(5)
    (found,) = world.watch.tracking.shown
    assert incident_sentence(found) == "node n7: DriverFailed hits 5 runs of 4 namespaces (5 ranks)"
    assert sorted(name for name, _ in world.said) == sorted(f"run-{n}" for n in range(5))
    assert {line.at for line in world.lines} == {NOW}
    assert not world.watch.lost, "nothing is held"
    well = record(phase=Phase.RUNNING, epoch=1, cause=ended)
    world.runs = [replace(each, record=well) for each in world.runs]
    await world.looks(1)
    assert not world.watch.tracking.shown[0].members, "they run again"


HUNG = record(
    phase=Phase.RUNNING,
    conditions=(Condition(ConditionType.STUCK, True, "Hung", "no step", 1, NOW),),
    assembled_at=NOW - 600,
)
CLASS, SERVER = "storage class {}", "file server {}"


def mounting(each: Subject, what: str, name: str) -> Subject:
    """The run with a claim of that class, or with a volume of that file server."""
    if what == CLASS:
        return replace(each, plan=edited(each.plan, claims=(Claim("data", {"storageClassName": name}),)))
    template = {"spec": {"volumes": [{"nfs": {"server": name, "path": "/export"}}]}}
    return replace(each, plan=edited(each.plan, groups=(replace(each.plan.groups[0], template=template),)))


async def hang(what: str, *hung: str, well: tuple[str, ...] = ("",)) -> list[str]:
    """The incidents where each gang hangs that uses one of ``hung``, and runs that use one of ``well`` are well."""
    world = World(0)
    for number, name in enumerate((*hung, *well)):
        each = replace(world.run(number), view=view(pod(node=f"n{number}")))
        each = replace(each, record=HUNG if number < len(hung) else record(phase=Phase.RUNNING))
        world.runs.append(mounting(each, what, name) if name else each)
    await world.looks(6)
    return sorted(f"{each.key.kind} {each.key.subject}: {len(each.runs)}" for each in world.watch.tracking.shown)


@pytest.mark.parametrize("what", [CLASS, SERVER])
async def test_gangs_hang_over_a_storage_only_where_those_that_are_well_do_not_use_it(what: str) -> None:
    incident = [f"{what.format('fs')}: 40"]
    assert await hang(what, *["fs"] * 40) == incident
    assert await hang(what, *["fs"] * 40, well=("fs",) * 4 + ("other",)) == incident, "few are well"
    assert await hang(what, *["fs"] * 8, well=("fs", "")) == []
    assert await hang(what, *["fs"] * 40, well=()) == [], "nothing shows that it is the storage"


async def test_one_run_that_cannot_be_read_hides_no_incident() -> None:
    world = World(4)
    world.runs[0] = replace(world.runs[0], view=SimpleNamespace(remark=None))  # type: ignore[arg-type]
    await world.looks(5)
    assert len(world.watch.tracking.shown[0].runs) == 3


async def test_another_leader_says_it_in_the_same_words_of_the_same_time() -> None:
    world = World(8)
    await world.looks(10)
    first, world.lines = world.lines, []
    world.watch.stand_by()
    world.runs = world.runs[2:]
    await world.looks(10)
    assert world.lines == first[2:]


@of_daemons
async def test_a_run_has_one_event_of_its_incident_over_three_leaders(world: Daemons) -> None:
    full = error_of(403, "Forbidden", 'pods "x" is forbidden: exceeded quota: small, used: pods=1')
    settings = Settings(leader_elect=True)
    world.api.fail("POST /api/v1/namespaces/team/pods", full, times=1_000_000)
    one = await world.start(settings, "one")
    two = await world.start(settings, "two")
    for name in ("a", "b", "c"):
        meta = {"name": name, "namespace": "team"}
        world.api.put(experiment_path("team", name), {**experiment(), "metadata": meta})
    await asyncio.sleep(60)
    assert one.leading
    words = {event["involvedObject"]["name"]: event for event in world.cluster.events("Incident")}
    assert sorted(words) == ["a", "b", "c"]
    assert words["a"]["message"] == "part of an incident: quota team/small"
    for leader, number in ((two, 0), (None, 0)):
        await world.stop(number)
        if leader is None:
            leader = await world.start(settings, "three")
        await asyncio.sleep(60)
        assert leader.leading
        assert len(leader.incidents.tracking.shown) == 1
        assert len(world.cluster.events("Incident")) == 3
        assert len(world.cluster.events("Stuck")) == 3, "a takeover writes no Event again"


async def test_runs_on_nodes_of_one_rack_are_its_incident() -> None:
    world = World(0)
    world.runs = [world.run(n, f"n{n}") for n in range(6)]
    world.places = Places({f"n{n}": {"topology.kubernetes.io/rack": "r1" if n < 6 else "r2"} for n in range(12)})
    await world.looks(5)
    assert [each.key for each in world.watch.tracking.shown] == [("rack", "r1")]


@pytest.mark.parametrize(("held", "shown"), [("nvidia.com/gpu", 0), ("amd.com/gpu", 1)])
async def test_want_of_a_device_is_no_incident_while_a_run_that_is_well_holds_it(held: str, shown: int) -> None:
    world = World(0)
    full = pod(
        ready=False,
        started=False,
        scheduled=False,
        node="",
        phase=PodPhase.PENDING,
        waiting_reason="Unschedulable",
        waiting_message="0/9 nodes are available: 9 Insufficient nvidia.com/gpu.",
    )
    world.runs = [replace(world.run(n), view=view(full)) for n in range(4)]
    well = replace(world.run(9), record=record(phase=Phase.RUNNING), view=view(pod(node="n1")))
    well = replace(well, plan=plan(uid="u9", size=1, groups=(worker_group(1, pod=PodSpec(limits={held: "8"})),)))
    world.runs.append(well)
    await world.looks(5)
    assert len(world.watch.tracking.shown) == shown


def crashed(world: World, n: int) -> Subject:
    """Return a run whose program has just crashed on node n7: the program or the node may be the reason."""
    crash = Cause(0, "Error", "", NOW, exit_code=139, rank=0, node="n7")
    return replace(world.run(n), record=record(phase=Phase.RESTARTING, epoch=1, cause=crash), view=view())


@pytest.mark.parametrize(("healthy", "node", "shown"), [(0, "n7", 1), (4, "n7", 0), (3, "n7", 1), (9, "n1", 1)])
async def test_crashes_prove_nothing_of_a_node_on_which_as_many_runs_are_well(
    healthy: int, node: str, shown: int
) -> None:
    world = World(0)
    well = record(phase=Phase.RUNNING)
    world.runs = [crashed(world, n) for n in range(4)]
    world.runs += [replace(world.run(n), record=well, view=view(pod(node=node))) for n in range(4, 4 + healthy)]
    await world.looks(5)
    assert len(world.watch.tracking.shown) == shown


async def test_a_node_that_kubernetes_reports_is_named_whatever_runs_are_well_on_it() -> None:
    world = World(4)
    well = record(phase=Phase.RUNNING)
    world.runs += [replace(world.run(n), record=well, view=view(pod(node="n7"))) for n in range(4, 12)]
    await world.looks(5)
    assert [str(each.key.subject) for each in world.watch.tracking.shown] == ["n7"]


async def test_a_standby_has_none() -> None:
    world = World(4)
    await world.looks(5)
    assert world.watch.tracking.looked
    world.watch.stand_by()
    assert not world.watch.tracking.shown
    assert not world.watch.tracking.looked


async def test_a_run_that_is_over_is_in_none() -> None:
    world = World(4)
    await world.looks(5)
    world.runs = [replace(each, record=record(phase=Phase.FAILED, conditions=(STUCK,))) for each in world.runs]
    await world.looks(1)
    assert not any(each.runs for each in world.watch.tracking.shown)
