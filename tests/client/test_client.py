"""The verbs of the client against the local API server."""

import asyncio
import random
from pathlib import Path

import pytest

from muster.api.errors import AlreadyExists, Conflict, Forbidden, Unreachable
from muster.api.manifest.load import load_manifest
from muster.api.manifest.problems import ManifestError
from muster.client import Client, NoSuchExperiment, NotInstalled, Vanished
from muster.local.home import write_kubeconfig
from tests.client.localserver import MANIFEST, LocalServer, ended, labels, running


async def test_submitting_a_manifest_creates_an_experiment(client: Client, tmp_path: Path) -> None:
    file = tmp_path / "My Train.yaml"
    file.write_text(MANIFEST)
    seen = await client.submit(file)
    assert seen.name.startswith("my-train-")
    assert seen.raw["metadata"]["annotations"] == {"muster.dev/manifest": str(file)}
    again = await client.submit(file)
    assert again.name != seen.name
    assert [found.name for found in await client.list()] == sorted([seen.name, again.name])
    assert (await client.get(seen.name)).uid == seen.uid


async def test_a_generated_name_that_exists_is_generated_again(server: LocalServer) -> None:
    async with Client(server.kubeconfig, rng=random.Random(1)) as first:
        taken = await first.submit(MANIFEST)
    async with Client(server.kubeconfig, rng=random.Random(1)) as second:
        assert (await second.submit(MANIFEST)).name != taken.name


async def test_a_given_name_is_used_or_refused(client: Client) -> None:
    assert (await client.submit(MANIFEST, name="mine")).name == "mine"
    with pytest.raises(AlreadyExists, match=r"default/mine exists already.*--name"):
        await client.submit(load_manifest(MANIFEST), name="mine")


async def test_an_invalid_manifest_is_not_sent(client: Client) -> None:
    with pytest.raises(ManifestError, match=r"train.yaml:\d+:\d+: spec.operator"):
        await client.submit(MANIFEST.replace("jax", "slurm"), filename="train.yaml")
    assert not await client.list()


async def test_a_missing_experiment_and_a_missing_kind_have_their_own_errors(
    client: Client, server: LocalServer
) -> None:
    with pytest.raises(NoSuchExperiment, match=r"default/missing does not exist"):
        await client.get("missing")
    server.uninstall()
    with pytest.raises(NotInstalled, match=r"does not know experiments"):
        await client.list()
    with pytest.raises(NotInstalled, match=r"does not know experiments"):
        await client.submit(MANIFEST)


async def test_a_deletion_ends_a_wait(client: Client, server: LocalServer) -> None:
    await client.submit(MANIFEST, name="mine")
    waiting = asyncio.create_task(client.wait("mine"))
    await asyncio.sleep(0.1)
    server.drop("muster.dev/v1alpha1", "experiments", "default", "mine")
    with pytest.raises(Vanished, match=r"deleted while it was waited for"):
        await waiting


async def test_a_deletion_by_uid_spares_another_experiment_of_that_name(client: Client) -> None:
    first = await client.submit(MANIFEST, name="mine")
    await client.delete("mine", dry_run=True)
    assert (await client.get("mine")).uid == first.uid, "a dry run deletes nothing"
    await client.delete("mine", uid=first.uid)
    second = await client.submit(MANIFEST, name="mine")
    for dry_run in (True, False):
        with pytest.raises(Conflict, match="Precondition failed"):
            await client.delete("mine", uid=first.uid, dry_run=dry_run)
    assert (await client.get("mine")).uid == second.uid
    await client.delete("mine")
    with pytest.raises(NoSuchExperiment, match="default/mine does not exist"):
        await client.delete("mine")


async def test_cancelling_can_be_repeated(client: Client, server: LocalServer) -> None:
    await client.submit(MANIFEST, name="mine")
    server.status("mine", phase="Running")
    for _ in range(2):
        assert (await client.cancel("mine")).raw["spec"]["cancel"] is True
    server.status("mine", phase="Failed", reason="Cancelled")
    assert (await client.cancel("mine")).outcome == "Failed"
    with pytest.raises(NoSuchExperiment):
        await client.cancel("missing")


async def test_an_explanation_has_members_and_events(client: Client, server: LocalServer) -> None:
    created = await client.submit(MANIFEST, name="mine")
    explained = await client.explain("mine")
    assert "is the daemon running" in explained.waits_for
    server.pod("mine-worker-0-0-old", labels("mine", 0), **ended(1))
    server.pod("mine-worker-0-0-new", labels("mine", 0, epoch=1), **running(4711))
    server.pod("mine-worker-1-0-new", labels("mine", 1, epoch=1), phase="Pending")
    server.pod("another", labels("theirs", 0), **running())
    server.status("mine", phase="Assembling", message="1/2 ranks arrived; missing rank 1", epoch=1)
    about = {"kind": "Experiment", "name": "mine", "namespace": "default", "uid": created.uid}
    event = {"kind": "Event", "metadata": {"name": "e1"}, "involvedObject": about, "count": 3, "type": "Normal"}
    words = {"lastTimestamp": "2026-01-01T00:00:00Z", "reason": "Started", "message": "calling"}
    server.put("v1", "events", "default", event | words)
    explained = await client.explain("mine")
    assert explained.waits_for == "1/2 ranks arrived; missing rank 1"
    assert [(m.rank, m.epoch, m.state, m.process) for m in explained.members] == [
        (0, 1, "Running", 4711),
        (1, 1, "Pending", None),
    ]
    assert [(e.reason, e.count) for e in explained.events] == [("Started", 3)]
    assert await client.events("mine") == list(explained.events)
    await client.delete("mine")
    await client.submit(MANIFEST, name="mine")
    assert await client.events("mine") == [], "they were about the experiment that had the name before"


async def test_a_refused_token_and_an_unreachable_server_say_what_to_check(server: LocalServer, tmp_path: Path) -> None:
    stranger = tmp_path / "stranger"
    write_kubeconfig(stranger, url=server.url, token="wrong")
    async with Client(stranger) as client:
        with pytest.raises(Forbidden, match=r"401 Unauthorized"):
            await client.list()
    missing = tmp_path / "missing"
    write_kubeconfig(missing, url="http://127.0.0.1:1", token="any")
    async with Client(missing) as client:
        with pytest.raises(Unreachable, match=r"127.0.0.1:1 \(from .*missing\).*is the cluster running"):
            await client.get("mine")


async def test_a_proxy_is_not_asked_for_loopback(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    async with Client(server.kubeconfig) as client:
        assert not await client.list()


async def test_a_client_that_is_not_open_says_how_to_open_it(server: LocalServer) -> None:
    with pytest.raises(RuntimeError, match=r"async with Client"):
        await Client(server.kubeconfig).list()
