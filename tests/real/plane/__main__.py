"""``python -m tests.real.plane FOLDER``: a bare control plane until SIGTERM; ``FOLDER/admin.kubeconfig`` names it.

For `make real` it is a cluster that exists already. Its times are Kubernetes' defaults, as on any other cluster.
"""

import signal
import sys
from pathlib import Path

from tests.real.binaries import CANNOT_BUILD, binaries
from tests.real.plane.servers import Plane
from tests.real.plane.supervisor import Supervisor
from tests.tools.go_tool import CannotBuild

DEFAULTS = {
    "kube-apiserver": ["--default-not-ready-toleration-seconds=300", "--default-unreachable-toleration-seconds=300"],
    "kube-controller-manager": ["--node-monitor-period=5s", "--node-monitor-grace-period=50s"],
}
"""Kubernetes' own, instead of the short ones of `servers`."""


def main(folder: Path) -> int:
    """Serve until a signal; print one line when the API server is ready."""
    waiting = {signal.SIGINT, signal.SIGTERM}
    signal.pthread_sigmask(signal.SIG_BLOCK, waiting)
    try:
        programs = binaries()
    except CannotBuild as missing:
        print(missing)
        return CANNOT_BUILD
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    supervisor = Supervisor(folder / "run")
    try:
        plane = Plane(programs, folder, supervisor, more=DEFAULTS)
        plane.start()
        print(f"ready: KUBECONFIG={plane.admin}", flush=True)
        signal.sigwait(waiting)
        return 0
    finally:
        supervisor.close()


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
