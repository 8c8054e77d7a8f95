"""Of the pods of a rank the client shows the one of its latest life."""

from typing import Any

from muster.client.logs.gang_log import newest
from muster.client.member import member_of


def pod(rank: int, epoch: int, attempt: int, **metadata: Any) -> dict[str, Any]:
    labels = {"muster.dev/rank": str(rank), "muster.dev/epoch": str(epoch), "muster.dev/attempt": str(attempt)}
    return {"metadata": {"name": f"{rank}-{epoch}-{attempt}", "labels": labels, **metadata}}


def test_the_latest_attempt_of_the_latest_epoch_is_shown() -> None:
    lives = [(0, 1, 0), (0, 0, 5), (1, 1, 2), (1, 1, 0), (1, 1, 1)]
    for order in (lives, lives[::-1]):
        found = newest(member_of(pod(*life)) for life in order)
        assert [(member.rank, member.epoch, member.attempt) for member in found.values()] == [(0, 1, 0), (1, 1, 2)]
