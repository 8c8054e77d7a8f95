"""Real JAX processes on the project's own node agent, bound by the real scheduler."""

import signal
import sys

import pytest

from muster.api.names import LABEL_RANK
from tests.real.site import PROCESSES, Site

pytestmark = pytest.mark.timeout(600)
LONG = 240.0
"""Seconds for what several JAX processes do on a busy machine."""


def train(here: Site, *options: str) -> str:
    """The example's program, with checkpoints in the test's own folder."""
    folder = f"{here.ground.folder}/checkpoints"
    return " ".join([sys.executable, "-u", "examples/jax/train.py", "--checkpoints", folder, *options])


async def test_a_rank_that_never_calls_is_named_and_the_clock_ends_it(here: Site) -> None:
    here.row.happens("rank 1 of 3 never calls the JAX coordinator; then an assembly clock of 60 s")
    command = train(here, "--absent 1")
    await here.submit(
        "absent",
        command,
        operator="jax",
        on=PROCESSES,
        members=3,
        clocks={"assembly": {"after": "10m", "action": "Fail"}},  # the others arrive late on a busy machine
    )
    missing = r"missing rank 1 \(absent-worker-"
    await here.is_stuck("absent", "RanksMissing", f"^Assembling RanksMissing 2/3 ranks arrived; {missing}", LONG)
    await here.change("absent", clocks={"assembly": {"after": "60s"}})
    await here.says("absent", f"^Failed AssemblyDeadlineExceeded only 2/3 ranks arrived within 60 s; {missing}", LONG)


async def test_a_stopped_coordinator_is_called_unreachable_and_not_restarted(here: Site) -> None:
    await here.submit("train", train(here, "--steps 2000"), operator="jax", on=PROCESSES)
    await here.until("train", lambda seen: seen.phase == "Running", LONG)
    coordinator = next(pod for pod in await here.pods("train") if pod["metadata"]["labels"][LABEL_RANK] == "0")
    here.row.happens("the coordinator's process is stopped (SIGSTOP)")
    here.kill(coordinator, signal.SIGSTOP)
    pattern = "^Running CoordinatorUnreachable the coordinator stopped responding"
    await here.is_stuck("train", "CoordinatorUnreachable", pattern, LONG)
    here.kill(coordinator, signal.SIGCONT)
    seen = await here.until("train", lambda seen: not seen.holds("Stuck"), LONG)
    assert seen.status.epoch == 0


async def test_a_wrong_number_of_processes_is_reported(here: Site) -> None:
    here.row.happens("the program calls jax.distributed.initialize with one process too many")
    call = "jax.distributed.initialize(num_processes=3, process_id=int(os.environ['JAXOPERATOR_PROCESS_ID']))"
    command = f'{sys.executable} -c "import os, jax; {call}"'
    await here.submit("train", command, operator="jax", on=PROCESSES)
    pattern = "^Assembling ProcessCountMismatch the coordinator waits for 3 processes, the gang has 2 members"
    await here.is_stuck("train", "ProcessCountMismatch", pattern, LONG)
