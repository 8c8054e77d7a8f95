"""The page of a run of each watched kind: its story, its causes with the next step, and its links."""

import asyncio
import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest

from muster.daemon.app import Daemon
from muster.daemon.settings import Settings
from muster.daemon.web.pages import Pages
from muster.daemon.web.readers import Anyone
from muster.kinds.registry import WATCHED_KINDS
from muster.metrics.runbooks import PUBLISHED
from tests.cli.test_watched_kinds import name_of
from tests.daemon.watched.world import World, virtually, virtually_with_writes
from tests.watched_samples import SAMPLES

CODE = re.compile(r"<code>(.*?)</code>")
HREF = re.compile(r'href="(.*?)"')


async def run(world: World, kind: str) -> str:
    """Return the page of a run of that kind after minutes: rank 1 waits for its image and rank 2 has no pod."""
    daemon = await stood(world, kind)
    pages = Pages(daemon, daemon.health.role, world.cluster.wall, PUBLISHED)
    return pages.experiment(Anyone(), world.found(name_of(kind)), {})[1]


async def stood(world: World, kind: str, **settings: Any) -> Daemon:
    """Return the musterd that has watched such a run for minutes."""
    wanted, subject = SAMPLES[kind], WATCHED_KINDS[kind].subject
    if kind != "pods":
        world.serve(kind)
    daemon = await world.daemon("all", **settings)
    owner: list[dict[str, Any]] = []
    path = f"/apis/{subject.api_version}/namespaces/team/{subject.plural}/train"
    if kind != "pods":
        spec = {"kind": subject.kind, "apiVersion": subject.api_version, "spec": wanted.spec(3)}
        metadata = {"namespace": "team", "labels": {"muster.dev/observe": "train"}}
        made = world.api.put(path, {**spec, "metadata": metadata, "status": dict(wanted.status)})
        owner = [{**{name: made[name] for name in ("kind", "apiVersion")}, "name": "train", "controller": True}]
        owner[0]["uid"] = made["metadata"]["uid"]
    for rank in range(2):
        labels = {**wanted.pods[rank]} | ({wanted.uid_label: owner[0]["uid"]} if wanted.uid_label else {})
        own: dict[str, Any] = {"labels": labels, "annotations": dict(wanted.annotations)}
        if wanted.controller:
            own["ownerReferences"] = [{**owner[0], "kind": wanted.controller}]
        world.pod(f"train-{rank}", ip=f"10.0.0.{rank + 1}", **own)
    waiting(world, "train-1", wanted.container)
    await asyncio.sleep(400)
    return daemon


def waiting(world: World, name: str, container: str) -> None:
    """Let a pod wait for an image that cannot be pulled."""
    path = f"/api/v1/namespaces/team/pods/{name}"
    found = world.api.objects[path]
    why = {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "example.org/train:2"'}
    states = [{"name": container, "ready": False, "state": {"waiting": why}}]
    conditions = [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": "False"}]
    status = {"phase": "Pending", "containerStatuses": states, "conditions": conditions}
    world.api.put(path, {**found, "status": status})


def text(html: str, section: str) -> str:
    """Return the words of a section."""
    inside = re.search(rf'<section id="{section}"[^>]*>(.*?)</section>', html, re.DOTALL)
    return unescape(" ".join(re.sub(r"<[^>]*>", " ", inside[1]).split())) if inside else ""


@pytest.mark.parametrize("kind", WATCHED_KINDS)
@virtually
async def test_the_page_of_every_watched_kind_has_its_story_causes_and_links(world: World, kind: str) -> None:
    page = await run(world, kind)
    title = name_of(kind)
    assert f"team/{title}" in page
    assert "stuck (" in page
    causes = text(page, "causes")
    assert "rank 1" in causes
    assert "ImagePull" in causes
    assert "rank 2" in causes
    assert "imagePullSecrets of train-1" in causes
    for words in ("Muster creates", "spec.template", "the experiment", "muster cancel", "NAMESPACE", "restart policy"):
        assert words not in causes
    told = text(page, "story")
    assert "Stuck" in told
    assert "epoch 0: Assembling, ongoing" in page
    facts = text(page, "facts")
    assert ("Dashboard of the run port 8265 of the head's pod" in facts) is kind.startswith("ray")
    assert f"muster explain {title} --namespace team" in CODE.findall(page)
    links = HREF.findall(page)
    assert f"/experiments/team/{title}.json" in links
    assert any(link.startswith(PUBLISHED) for link in links)
    assert 'data-events="/events/experiments/team/' + title in page


@virtually_with_writes
async def test_the_page_of_a_standby_names_what_it_lacks(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Service leads to it, too; only the leader keeps records of watched runs."""

    async def at_once(work: Callable[..., Any], *given: Any, **named: Any) -> Any:
        return work(*given, **named)

    monkeypatch.setattr(asyncio, "to_thread", at_once)
    leader = await stood(world, "jobs", leader_elect=True)
    standby = await world.start(Settings(watch_kinds="all", leader_elect=True), "two")
    shown = [
        (await Pages(each, each.health.role, world.cluster.wall, PUBLISHED).fleet(Anyone(), {}))[1]
        for each in (leader, standby)
    ]
    assert ["train" in each for each in shown] == [True, False]
    lacks = "watched runs and incidents are known to the leader alone"
    assert [lacks in each for each in shown] == [False, True]
