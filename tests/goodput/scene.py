"""The scene: a real gang on a local cluster is killed, frozen and suspended, and its time is counted twice."""

import asyncio
import json
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from muster.api.goodput import Bucket, Goodput
from muster.client import Snapshot
from muster.client.subjects import object_path
from tests.e2e.environment import ROOT, environment
from tests.goodput.expected import WAY, expected, lines

NAME = "timed"
SUSPENDED_AT, SUSPENDED_SECONDS = 165, 30.0
LONG = 900.0
"""Seconds for what comes true on a machine that does much else, too."""
TO_THE_ROLL = (Bucket.SCHEDULING, Bucket.STARTUP, Bucket.ASSEMBLY)
"""Buckets that the logs of the programs do not distinguish."""
SECONDS, PART = 1.0, 0.02
"""A bucket may be off by so many seconds, or by that part of it."""


@dataclass(frozen=True, slots=True)
class Row:
    """One bucket: seconds by the log of the programs, and as Muster counts them."""

    bucket: str
    logged: float
    counted: float

    @property
    def holds(self) -> bool:
        """The two are close."""
        return abs(self.counted - self.logged) <= max(SECONDS, PART * self.logged)


async def play(folder: Path) -> list[Row]:
    """Run it; the logs are in ``folder``."""
    command = f"JAX_PLATFORMS=cpu PYTHONPATH={ROOT} {sys.executable} -u {Path(__file__).parent / 'program.py'} {folder}"
    manifest = {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "Experiment",
        "metadata": {"name": NAME},
        "spec": {
            "operator": "jax",
            "image": "none",
            "command": command,
            "types": {"worker": {"count": 2, "resources": {"cpus": 0.25, "ramRatio": 4}}},
        },
    }
    async with environment(folder / "state") as cluster:
        await cluster.start_daemon()
        await cluster.serves()
        await cluster.client.submit(json.dumps(manifest))
        began = time.time()  # the sums begin when musterd sees the experiment; the first submission imports for long
        await _step(folder, SUSPENDED_AT)
        path = object_path("default", NAME)
        suspended_at = time.time()
        await cluster.client.resources.merge(path, {"spec": {"suspend": True}})
        await cluster.until(NAME, lambda seen: seen.phase == "Suspended", LONG)
        await asyncio.sleep(suspended_at + SUSPENDED_SECONDS - time.time())
        resumed_at = time.time()
        await cluster.client.resources.merge(path, {"spec": {"suspend": False}})
        seen = await cluster.until(NAME, lambda seen: seen.finished, LONG)
    assert seen.phase == "Succeeded", seen.message
    return rows(seen, folder, began, (suspended_at, resumed_at))


def rows(seen: Snapshot, folder: Path, began: float, suspended: tuple[float, float]) -> list[Row]:
    """Each bucket twice."""
    sums = seen.status.goodput
    assert sums is not None
    log = lines(folder)
    logged = expected(log, began, [suspended], float(log[-1]["at"]))
    return [Row(bucket, seconds, _counted(sums, bucket)) for bucket, seconds in logged.items()]


def _counted(sums: Goodput, bucket: str) -> float:
    chosen = TO_THE_ROLL if bucket == WAY else (Bucket(bucket),)
    return sum(sums.of(each) for each in chosen) / 1000


async def _step(folder: Path, step: int) -> None:
    """Wait until rank 0 has written that step."""
    async with asyncio.timeout(LONG):
        while not any(line["what"] == "step" and line["step"] >= step for line in lines(folder)):  # noqa: ASYNC110
            await asyncio.sleep(0.1)
