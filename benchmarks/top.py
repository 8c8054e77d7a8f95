"""``muster top`` of 20,000 experiments, one in ten with a missing rank: CPU to read them, and of one frame.

A frame is drawn each second, on a terminal of 200 columns and 60 lines.
"""

import io
import json
from typing import Any, Final

from rich.console import Console

from benchmarks.harness.measuring import ROUNDS, best_of
from benchmarks.harness.result import Result
from muster.api.conditions import Condition, ConditionType
from muster.api.gang import HeldDevices, RollCall
from muster.api.status import Phase
from muster.cli.commands.several.top import Screen
from muster.client import Snapshot
from muster.client.snapshot import snapshot_of
from muster.state.vocabulary.record import Record, to_status

EXPERIMENTS, EVERY = 20_000, 10
COLUMNS, LINES = 200, 60
SIZE, NOW = 8, 1_767_225_600.0
READING: Final = 4.0
"""Seconds, of all that the first list brings."""
FRAME: Final = 0.2
"""Seconds: a fifth of a core goes to drawing, and the watch has the rest."""


def objects() -> list[dict[str, Any]]:
    """The experiments, as the API server sends them."""
    held = (HeldDevices("nvidia.com/gpu", 64),)
    why = "7/8 ranks arrived: missing rank 5 (no pod)"
    stuck = Condition(ConditionType.STUCK, True, "RanksMissing", why, 1, NOW)
    whole = Record(phase=Phase.RUNNING, phase_at=NOW, size=SIZE, ready=SIZE, roll=RollCall(SIZE, SIZE), devices=held)
    absent = Record(
        phase=Phase.ASSEMBLING,
        phase_at=NOW,
        reason="RanksMissing",
        message=why,
        size=SIZE,
        ready=SIZE,
        roll=RollCall(SIZE, SIZE - 1, (5,)),
        devices=held,
        conditions=(stuck,),
    )
    statuses = [to_status(absent if number % EVERY == 0 else whole) for number in range(EVERY)]
    return [
        {
            "apiVersion": "muster.dev/v1alpha1",
            "kind": "Experiment",
            "metadata": {
                "name": f"experiment-{number:06}",
                "namespace": f"team-{number % 50}",
                "uid": f"00000000-0000-4000-8000-{number:012}",
                "resourceVersion": str(number),
                "creationTimestamp": "2026-01-01T00:00:00Z",
            },
            "spec": {"operator": "jax", "image": "registry.example/train:1", "command": "python train.py"},
            "status": statuses[number % EVERY],
        }
        for number in range(EXPERIMENTS)
    ]


def run() -> list[Result]:
    """Read the list as the client does, then draw the screen as rich does."""
    sent = [json.dumps(each) for each in objects()]
    found: list[Snapshot] = []

    def read() -> None:
        found[:] = [snapshot_of(json.loads(each)) for each in sent]

    reading = best_of(read, 1, ROUNDS) / 1e6
    written = io.StringIO()
    console = Console(file=written, width=COLUMNS, height=LINES, force_terminal=True)
    screen = Screen(console, everywhere=True, over=False)
    screen.seen = {each.uid: each for each in found}
    frame = best_of(lambda: console.print(screen), 1, ROUNDS) / 1e6
    counted = written.getvalue().count(f"{EXPERIMENTS} experiments, {EXPERIMENTS // EVERY} with a problem")
    return [
        Result.of(f"top of {EXPERIMENTS:,} experiments, CPU to read the list", reading, "s", READING),
        Result.of(f"top of {EXPERIMENTS:,} experiments, CPU of one frame", frame, "s", FRAME),
        Result.of("frames of top that count its problems wrongly", ROUNDS - counted, "frames", 0),
    ]
