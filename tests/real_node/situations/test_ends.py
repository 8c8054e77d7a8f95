"""How the program of a rank ends on a real node: what the kubelet reports, and who is charged for the restart."""

from dataclasses import dataclass, field

import pytest

from tests.real.core import with_core
from tests.real.namespace import SLOW, Object
from tests.real_node.site import Site, python
from tests.real_node.situations.test_cannot_start import main, volume

pytestmark = pytest.mark.timeout(400)


@dataclass(frozen=True, slots=True)
class End:
    """One row: what rank 1 does in epoch 0, what Muster says, and whether the restart is charged."""

    happens: str
    does: str
    says: str
    """Of the sentence of the restart."""
    charged: bool
    change: Object = field(default_factory=dict)
    others: str = "sleep 600"
    """What the other rank does, and both in epoch 1."""


ALLOCATE = "b = bytearray(1 << 30); b[::4096] = b'x' * len(b[::4096]); import time; time.sleep(600)"
FILL = "dd if=/dev/zero of={0} bs=1M count=200; sleep 600"
PROBED = {"periodSeconds": 1, "failureThreshold": 2, "initialDelaySeconds": 5}
ALIVE = {"exec": {"command": ["test", "-e", "/tmp/alive"]}, **PROBED}
ENDS = {
    "exit 1": End("rank 1 exits 1", "exit 1", r"rank 1 .* ended with exit code 1 on node node-", charged=True),
    "kill -9": End("kill -9 of rank 1's program, from within its container",
        "sleep 600 & kill -9 $!; wait $!; exit 137", r"rank 1 .* ended with exit code 137", charged=True),
    "segfault": End("rank 1 dies of SIGSEGV",
        f"exec {python('import os, signal; os.kill(os.getpid(), signal.SIGSEGV)')}",
        r"rank 1 .* ended with exit code 139 \(SIGSEGV\)", charged=True),
    "oom": End("rank 1 takes more memory than its limit: killed by the kernel", f"exec {python(ALLOCATE)}",
        r"rank 1 .* ended with exit code 137 .*OOMKilled", charged=True),
    "oom of a child": End("a child of rank 1 is killed for the pod's memory, and the program goes on to exit 7",
        f"{python(ALLOCATE)}; exit 7", r"rank 1 .* ended with exit code (7|137).*", charged=True),
    "sizeLimit": End("rank 1 writes more into an emptyDir than its sizeLimit: evicted by the kubelet",
        FILL.format("/data/file"), r"rank 1 .*(Evicted|evicted).*exceeds the limit", charged=True,
        change=volume(emptyDir={"sizeLimit": "50Mi"})),
    "ephemeral": End(
        "rank 1 writes more into its container than its limit of ephemeral storage: evicted by the kubelet",
        FILL.format("/file"), r"rank 1 .*(Evicted|evicted).*ephemeral", charged=True,
        change=main(resources={"limits": {"ephemeral-storage": "50Mi"}, "requests": {"ephemeral-storage": "10Mi"}})),
    "liveness": End("rank 1 does not answer its liveness probe: killed by the kubelet", "rm -f /tmp/alive; sleep 600",
        r"rank 1 .* ended with exit code (137|143)", charged=True,
        change={"gracefulTermination": {"terminationGracePeriodSeconds": 2}, **main(livenessProbe=ALIVE)},
        others="touch /tmp/alive; sleep 600"),
}  # fmt: skip


@pytest.mark.parametrize("end", with_core(ENDS, "oom", "liveness"))
async def test_the_end_of_a_rank_is_named_and_charged(here: Site, end: str) -> None:
    what = ENDS[end]
    here.row.happens(what.happens)
    command = f'if [ "$MUSTER_RANK$MUSTER_EPOCH" = 10 ]; then sleep 2; {what.does}\nfi\n{what.others}'
    await here.submit("run", command, restartPolicy={"backoffLimit": 1}, **what.change)
    await here.says("run", rf"^Restarting \S+ .*{what.says}", SLOW)
    seen = await here.until("run", lambda seen: seen.status.epoch == 1)
    here.charges(seen, what.charged)


@pytest.mark.core
async def test_a_checkpoint_is_saved_within_the_grace_period(here: Site) -> None:
    """SIGTERM reaches the program; what it writes within its grace period is there for the next epoch."""
    path = f"{here.ground.folder}/{here.namespace}"
    code = (
        "import os, pathlib, signal, sys, time\n"
        "saved = pathlib.Path('/data', os.environ['MUSTER_RANK'])\n"
        "print('goes on from', saved.read_text() if saved.exists() else 'nothing', flush=True)\n"
        "signal.signal(15, lambda *_: (time.sleep(3), saved.write_text('step 7'), sys.exit(0)))\n"
        "time.sleep(600)"
    )
    change = volume(hostPath={"path": path, "type": "DirectoryOrCreate"})
    await here.running("run", f"exec {python(code)}", **change)
    here.row.happens("muster restart: SIGTERM, and a checkpoint that takes 3 s")
    await here.muster("restart", "run")
    await here.until("run", lambda seen: seen.status.epoch == 1 and seen.phase == "Running", SLOW)
    here.row.says(" ".join((await here.muster("logs", "run", "--rank", "0")).split()))
    assert "goes on from step 7" in here.row.said
