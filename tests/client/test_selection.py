"""The pods of an experiment are those with its uid, as for the daemon: a name can be used again, and a policy may
rewrite the label that has it."""

import asyncio
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from muster.api.names import LABEL_EXPERIMENT
from muster.client import Client, NoSuchExperiment, NoSuchRank
from muster.client.logs.gang_log import FollowedLog, GangLog, LogChoice, newest
from muster.client.member import member_of
from tests.client.localserver import MANIFEST, LocalServer, labels, running

ANOTHER = {"muster.dev/experiment-uid": "another"}


async def test_pods_of_another_experiment_with_that_name_are_not_shown(client: Client, server: LocalServer) -> None:
    await client.submit(MANIFEST, name="mine")
    server.pod("left-0", labels("mine", 0, epoch=7) | ANOTHER, prints=("of the experiment before",), **running())
    assert await client.members("mine") == []
    with pytest.raises(NoSuchRank, match=r"it has no pods now"):
        await anext(client.logs("mine"))


async def test_pods_whose_label_of_the_name_was_rewritten_are_shown(client: Client, server: LocalServer) -> None:
    await client.submit(MANIFEST, name="mine")
    rewritten = {LABEL_EXPERIMENT: "team-a.mine", "muster.dev/experiment-uid": server.uid("mine")}
    server.pod("pod-0", labels("mine", 0) | rewritten, prints=("one",), **running())
    assert [member.pod for member in await client.members("mine")] == ["pod-0"]
    assert [member.pod for member in (await client.explain("mine")).members] == ["pod-0"]
    assert [line.text async for line in client.logs("mine")] == ["one"]
    async with aclosing(client.watch_members("mine")) as members:
        assert (await anext(members)).member.pod == "pod-0"


async def test_a_followed_log_ends_where_another_experiment_has_the_name(client: Client, server: LocalServer) -> None:
    await client.submit(MANIFEST, name="mine")
    server.pod("pod-0", labels("mine", 0), **running())
    deleted = replace(await client.get("mine"), uid="deleted-meanwhile")
    log = FollowedLog(GangLog(client.resources, deleted, LogChoice(), lambda _note: None))
    async with asyncio.timeout(10):
        assert [line async for line in log.lines()] == []


async def test_the_members_of_an_experiment_that_is_missing_are_an_error(client: Client) -> None:
    for call in (client.members("missing"), anext(client.watch_members("missing")), anext(client.logs("missing"))):
        with pytest.raises(NoSuchExperiment, match=r"default/missing does not exist"):
            await call


def pod(rank: int, epoch: int, attempt: int, **metadata: Any) -> dict[str, Any]:
    labels = {"muster.dev/rank": str(rank), "muster.dev/epoch": str(epoch), "muster.dev/attempt": str(attempt)}
    return {"metadata": {"name": f"{rank}-{epoch}-{attempt}", "labels": labels, **metadata}}


def test_the_latest_attempt_of_the_latest_epoch_is_shown() -> None:
    lives = [(0, 1, 0), (0, 0, 5), (1, 1, 2), (1, 1, 0), (1, 1, 1)]
    for order in (lives, lives[::-1]):
        found = newest(member_of(pod(*life)) for life in order)
        assert [(member.rank, member.epoch, member.attempt) for member in found.values()] == [(0, 1, 0), (1, 1, 2)]


def test_a_pod_that_goes_is_not_shown_beside_the_one_that_replaces_it() -> None:
    pods = [pod(0, 1, 0, uid="goes", deletionTimestamp="2026-01-01T00:00:00Z"), pod(0, 1, 0, uid="new")]
    for order in (pods, pods[::-1]):
        assert [member.uid for member in newest(map(member_of, order)).values()] == ["new"]
