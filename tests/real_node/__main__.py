"""``python -m tests.real_node [-m core] [pytest arguments]``: real nodes, the situations on them, and the table.

``--build`` makes the programs and images and does nothing else; ``-- COMMAND`` runs it on the nodes in place of the
situations.

Exit status: 0 if every row is as it should be, 1 if one is not, 3 where this machine cannot run nodes or build what
they need, with a list of what lacks.

Programs and images are made first, with the network of this machine. Then the run goes on in network, mount and pid
namespaces of its own: when its first process ends, or is killed, the kernel ends all others and removes all mounts,
interfaces and addresses. A temporary folder and empty control groups are what a killed run leaves; the next removes
them.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path

from muster.local import tether
from tests.real.binaries import CANNOT_BUILD
from tests.real.ground import ROOT
from tests.real.play import chosen
from tests.real_node import leftovers
from tests.real_node.images.build import images
from tests.real_node.machine.machine import OWNER, PREFIX
from tests.real_node.programs import programs
from tests.real_node.requirements import missing
from tests.tools.go_tool import HELM, CannotBuild

NAMESPACES = ["--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation", "private"]


def main(arguments: list[str]) -> int:
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if arguments[:1] != ["--"]:
        chosen(parser(), arguments)
    lacks = missing()
    if lacks:
        return _unable(*lacks)
    leftovers.remove()
    try:
        built = programs()
        HELM.path()
        made = images(built)
    except CannotBuild as error:
        return _unable(str(error))
    if arguments == ["--build"]:
        return 0
    folder = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
    (folder / "made.json").write_text(json.dumps({"programs": asdict(built), "images": asdict(made)}))
    return play(folder, [sys.executable, "-m", "tests.real_node.inside", str(folder), *arguments])


def parser() -> argparse.ArgumentParser:
    """For the options of this program, and for its help."""
    made = argparse.ArgumentParser(
        "python -m tests.real_node",
        description="Play situations on real nodes: kubelets, containers, DNS, policies. Programs and images are built "
        "once. With -- COMMAND it runs that command on the nodes instead, with KUBECONFIG set.",
        allow_abbrev=False,
    )
    made.add_argument("--build", action="store_true", help="build programs and images, and do nothing else")
    return made


def play(folder: Path, inside: list[str]) -> int:
    """Run a command as the first process of new namespaces, and remove what it leaves; its exit status."""
    environment = {**os.environ, OWNER: str(os.getpid()), "PYTHONPATH": str(ROOT)}
    try:
        # SIGKILL: unshare ignores SIGTERM while it waits for its child
        command = tether.command(["unshare", *NAMESPACES, *inside], death=signal.SIGKILL)
        return subprocess.call(command, cwd=ROOT, env=environment)
    finally:
        leftovers.remove_groups_of(os.getpid())
        if not os.environ.get("MUSTER_REAL_KEEP"):
            shutil.rmtree(folder, ignore_errors=True)


def _unable(*lacks: str) -> int:
    print("make real-node cannot run here:", *(f"- {each}" for each in lacks), sep="\n", flush=True)
    return CANNOT_BUILD


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
