"""When everything is over the daemon rests, keeps nothing of what is gone, and finds what is there."""

from collections.abc import Iterator

from muster.daemon.informers import LONGEST_WAIT
from muster.state.vocabulary.subject import title
from tests.scenarios.scenario import Serves, StopsServing
from tests.simulation.oracles.ends import ended
from tests.simulation.oracles.histories import history
from tests.simulation.oracles.result import UNCOMPARED, Result
from tests.simulation.plans.masks import CONVERGE
from tests.simulation.plans.plan import FOREIGN_CHANGES
from tests.simulation.world.process import WATCHED
from tests.simulation.world.world import EPOCH, World


def at_rest(world: World, clean: Result | None) -> Iterator[str]:
    """When nothing changes any more, the daemon soon stops writing."""
    own = {write.committed for write in world.writes}
    changes = [change.at for change in world.changes if change.version not in own and change.resource not in UNCOMPARED]
    faults = [at + fault.seconds for fault, at in world.injected.items()]
    actions = [EPOCH + step.second for step in world.scenario.user_actions]
    last = max([*changes, *faults, *actions])
    written = world.writes[-1].at if world.writes else 0.0
    if written > last + world.scenario.settle_within:
        yield f"the last write comes {written - last:.1f} s after every other change"
    if clean is not None and not world.plan.has(*FOREIGN_CHANGES):
        late = ended(world) - clean.ended - world.plan.seconds - unserved(world)
        if late > CONVERGE:
            yield f"it ends {late:.1f} s later than the faults explain"


def unserved(world: World) -> float:
    """Seconds for which another kind is not served, and until its watch is open again. What has not begun by then
    waits for that long."""
    acts = world.scenario.user_actions
    return sum(each.second for each in acts if isinstance(each, Serves)) - sum(
        each.second - LONGEST_WAIT for each in acts if isinstance(each, StopsServing)
    )


def nothing_kept(world: World) -> Iterator[str]:
    """The last daemon keeps nothing of experiments that are gone."""
    daemon = world.runs[-1].daemon
    assert daemon is not None
    existing = {obj["metadata"]["uid"] for obj in world.experiments()}
    if (gang := daemon.find("team", f"pods/{WATCHED}")) is not None:
        existing.add(gang.plan.uid)
    views = {uid for _, uid in daemon.index.members}
    for what, kept in (("entries", set(daemon.index.entries)), ("views", views)):
        if left := kept - existing:
            yield f"{what} of {len(left)} experiments that are gone are kept"


def findable(world: World) -> Iterator[str]:
    """The last daemon finds every experiment by namespace and name, as the roll-call page asks for it."""
    daemon = world.runs[-1].daemon
    assert daemon is not None
    for obj in world.experiments():
        metadata = obj["metadata"]
        kind = world.operator.subject.kind
        subject = daemon.find(metadata["namespace"], title(kind, metadata["name"]))
        if subject is None or subject.plan.uid != metadata["uid"]:
            yield f"looking for {metadata['namespace']}/{metadata['name']} finds {subject and subject.plan.uid}"


def repeated(world: World, clean: Result | None) -> Iterator[str]:
    """If the only fault is that events come twice, the run is the same as the clean run."""
    disturbed = world.plan.shuffle or {fault.kind for fault in world.plan.faults} != {"double"}
    if clean is None or clean.history is None or disturbed:
        return
    if history(world).digest != clean.history.digest:
        yield "events that come twice make a difference"
