"""The problem of an image: one sentence for both states of the kubelet, without a repetition."""

import asyncio
import time
from typing import Any

import pytest

from muster.watchers.pods.containers import pull_problem
from tests.daemon.virtual_daemon import played
from tests.daemon.watched.world import World

IMAGE = "registry.example.org/team/train:typo"
NOT_FOUND = (
    f'rpc error: code = NotFound desc = failed to pull and unpack image "{IMAGE}": failed to resolve reference '
    f'"{IMAGE}": {IMAGE}: not found'
)
REFUSED = (
    f'failed to pull and unpack image "{IMAGE}": failed to resolve reference "{IMAGE}": failed to do request: '
    'Head "https://registry.example.org/v2/team/train/manifests/typo": dial tcp: connection refused'
)
CRIO = f"initializing source docker://{IMAGE}: reading manifest typo in team/train: manifest unknown"


@pytest.mark.parametrize(
    ("tried", "found"),
    [
        (NOT_FOUND, f'image "{IMAGE}": not found'),
        (REFUSED, f'image "{IMAGE}": {REFUSED[REFUSED.index("failed to do") :]}'),
        (CRIO, f'image "{IMAGE}": {CRIO}'),
    ],
    ids=["not found", "refused", "of CRI-O"],
)
def test_both_states_say_the_same_once(tried: str, found: str) -> None:
    assert pull_problem(tried, IMAGE) == found
    assert pull_problem(f'Back-off pulling image "{IMAGE}": ErrImagePull: {tried}', IMAGE) == found
    assert pull_problem(f'Back-off pulling image "{IMAGE}": ErrImagePull: {tried}', None) == found


def test_a_kubelet_that_says_no_more_than_that_it_waits_is_quoted() -> None:
    assert pull_problem(f'Back-off pulling image "{IMAGE}"', None) == f'Back-off pulling image "{IMAGE}"'
    assert pull_problem("", None) == ""
    assert pull_problem(None, IMAGE) == ""
    assert pull_problem("pull access denied", None) == "pull access denied"


@pytest.mark.parametrize(
    "text", ['failed to pull image "' * 40_000, "Back-off pulling image " * 40_000, "\x1b[31m" * 9]
)
def test_hostile_words_cost_little_and_are_escaped(text: str) -> None:
    begun = time.process_time()
    assert "\x1b" not in pull_problem(text, "x" * 100_000)
    assert time.process_time() - begun < 0.1


def test_a_back_off_after_each_try_writes_no_status() -> None:
    """A kubelet alternates for as long as the image is missing: eight writes were made in 70 s."""
    played(World, _alternates)


async def _alternates(world: World) -> None:
    await world.daemon("pods")
    world.pod("run-0", labels={"muster.dev/observe": "run"})
    for turn in range(12):
        reason = "ErrImagePull" if turn % 2 == 0 else "ImagePullBackOff"
        waits(
            world,
            reason,
            NOT_FOUND if turn % 2 == 0 else f'Back-off pulling image "{IMAGE}": ErrImagePull: {NOT_FOUND}',
        )
        await asyncio.sleep(10)
        record = world.found("pods/run").record
        assert record.reason == "ImagePullBackOff"
        assert record.message.count("not found") == record.message.count(IMAGE) == 1, record.message
    found = [each for each in world.lines() if "ImagePull" in each]
    assert len(found) == 1, found


def waits(world: World, reason: str, message: str) -> None:
    path = "/api/v1/namespaces/team/pods/run-0"
    found = world.api.objects[path]
    state: dict[str, Any] = {
        "name": "train",
        "ready": False,
        "state": {"waiting": {"reason": reason, "message": message}},
    }
    conditions = [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "False"}]
    status = {"phase": "Pending", "containerStatuses": [state], "conditions": conditions}
    world.api.put(path, {**found, "status": status})
