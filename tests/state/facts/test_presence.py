"""Presence: each member has one, and a pod that vanished is neither there nor gone."""

from muster.state.facts import presence
from muster.state.facts.context import Context
from muster.state.facts.presence import Presence
from muster.state.vocabulary.pod import Exit, PodPhase
from tests.builders import NOW, plan, pod, record, view

ENDED = Exit("main", 0, 0, "Completed", "", NOW)


def gang(*ranks: int, scheduled_at: float | None = None) -> Context:
    """A gang of four with pods of these ranks; rank 1 has succeeded."""
    pods = {rank: pod(rank, **({"phase": PodPhase.SUCCEEDED, "exit": ENDED} if rank == 1 else {})) for rank in ranks}
    seen = view(*pods.values())
    for rank in (1, 2):
        if rank in pods:
            seen.change(pods[rank], None)
    late = pod(3, scheduled=False)
    seen.engine.vanish(late)
    seen.engine.altered[late.uid] = None
    return Context.at(plan(), record(scheduled_at=scheduled_at), seen, NOW)


def presences(context: Context) -> list[Presence]:
    return [presence.of(context, rank) for rank in range(4)]


def test_a_member_has_a_pod_needs_none_lost_it_or_it_vanished() -> None:
    assert presences(gang(0, 1, 2)) == [Presence.SEEN, Presence.DONE, Presence.GONE, Presence.VANISHED]


def test_a_member_without_a_pod_is_unmade_until_all_had_one() -> None:
    assert presences(gang(1))[::2] == [Presence.UNMADE, Presence.UNMADE]
    assert presences(gang(1, scheduled_at=NOW))[::2] == [Presence.GONE, Presence.GONE]
