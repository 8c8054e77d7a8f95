"""A storm: many SIGKILLs over many experiments whose members are real processes."""

import asyncio
import random
from collections import Counter, defaultdict
from functools import partial

import msgspec
import pytest

from muster.api.names import LABEL_EPOCH, LABEL_EXPERIMENT, LABEL_RANK
from muster.client import Snapshot
from muster.kube.resources import core
from tests.real.namespace import Object
from tests.real.site import PROCESSES, Site

pytestmark = [pytest.mark.alone, pytest.mark.timeout(600)]
EXPERIMENTS = 12
MEMBERS = 3
KILLS = 36


class Witness:
    """Sees every version of every pod, and notes what must never be."""

    def __init__(self) -> None:
        self.pods: dict[str, Object] = {}
        self.violations: list[str] = []

    def sees(self, kind: str, pod: Object) -> None:
        self.pods[pod["metadata"]["uid"]] = pod
        if kind == "DELETED":
            del self.pods[pod["metadata"]["uid"]]
        labels = pod["metadata"]["labels"]
        live = [each for each in self.of(labels[LABEL_EXPERIMENT]) if each["status"].get("phase") == "Running"]
        epochs = {each["metadata"]["labels"][LABEL_EPOCH] for each in live}
        ranks = Counter(each["metadata"]["labels"][LABEL_RANK] for each in live)
        if len(epochs) > 1:
            self.violations.append(f"{labels[LABEL_EXPERIMENT]}: epochs {sorted(epochs)} run at once")
        self.violations += [f"{labels[LABEL_EXPERIMENT]}: rank {r} runs {n} times" for r, n in ranks.items() if n > 1]

    def of(self, experiment: str) -> list[Object]:
        return [pod for pod in self.pods.values() if pod["metadata"]["labels"].get(LABEL_EXPERIMENT) == experiment]

    async def watch(self, here: Site) -> None:
        path = core(here.namespace, "pods")
        version = (await here.request("GET", path))["metadata"]["resourceVersion"]
        params = {"watch": "true", "resourceVersion": version}
        async with here.client.transport.lines(path, params=params, silence=300) as lines:
            async for line in lines:
                event = msgspec.json.decode(line, type=dict)
                self.sees(event["type"], event["object"])


async def test_a_storm_of_kills_leaves_every_gang_whole(here: Site) -> None:
    witness = Witness()
    watching = asyncio.create_task(witness.watch(here), name="witness")
    await asyncio.sleep(0.5)
    policy = {"backoffLimit": 50, "backoff": {"initial": "1s", "max": "1s"}}
    names = [f"storm-{number}" for number in range(EXPERIMENTS)]
    for name in names:
        await here.submit(name, "exec sleep 600", members=MEMBERS, on=PROCESSES, restartPolicy=policy)
    await asyncio.gather(*(here.phase(name, "Running", 120) for name in names))

    here.row.happens(f"{KILLS} SIGKILLs over {EXPERIMENTS} experiments of {MEMBERS} processes")
    chance, struck = random.Random(7), defaultdict[str, set[str]](set)
    for kill in range(KILLS):
        name = names[kill % EXPERIMENTS]
        while not (alive := [pod for pod in witness.of(name) if _kills(pod)]):  # noqa: ASYNC110 - the watch has no event
            await asyncio.sleep(0.1)
        victim = chance.choice(alive)
        try:
            here.kill(victim)
        except ProcessLookupError:
            continue  # it was ended by the restart of its gang meanwhile
        struck[name].add(victim["metadata"]["labels"][LABEL_EPOCH])
        await asyncio.sleep(chance.uniform(0.1, 0.8))
    for name in names:
        due = max(map(int, struck[name])) + 1
        status = (await here.until(name, partial(_goes_on, due), 120)).status
        assert status.restarts == status.epoch == len(struck[name]), f"{name}: {status}, struck {struck[name]}"
        live = [pod for pod in witness.of(name) if pod["status"].get("phase") == "Running"]
        assert sorted(pod["metadata"]["labels"][LABEL_RANK] for pod in live) == list("012")
    watching.cancel()
    await asyncio.gather(watching, return_exceptions=True)
    assert not witness.violations
    listed = (await here.muster("list")).splitlines()[1:]
    assert [line.split()[1] for line in listed] == ["Running"] * EXPERIMENTS
    restarts = sum(map(len, struck.values()))
    here.row.says(f"all {EXPERIMENTS} Running; {restarts} restarts, one for each epoch struck; no two epochs at once")


def _goes_on(epoch: int, seen: Snapshot) -> bool:
    return seen.phase == "Running" and seen.status.epoch >= epoch


def _kills(pod: Object) -> bool:
    """It runs, and nobody has asked for its end."""
    return pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
