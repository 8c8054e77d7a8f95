"""Presence: each member has one, and a pod that vanished is neither there nor gone."""

from muster.state.facts import presence
from muster.state.facts.context import Context
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


def lost(context: Context) -> list[int]:
    return [rank for rank in range(4) if presence.lost_its_pod(context, rank)]


def test_a_member_has_a_pod_needs_none_lost_it_or_it_vanished() -> None:
    context = gang(0, 1, 2)
    assert [presence.has_pod_or_needs_none(context, rank) for rank in range(4)] == [True, True, False, False]
    assert lost(context) == [2]
    assert list(presence.vanished(context)) == [3]


def test_a_member_without_a_pod_has_lost_none_until_all_had_one() -> None:
    assert lost(gang(1)) == []
    assert lost(gang(1, scheduled_at=NOW)) == [0, 2, 3]
