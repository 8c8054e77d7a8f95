"""The recordings on docs/reading-the-roll-call.md: ``python docs/images/roll_call.py`` makes them anew, in two minutes.

It starts a local cluster, runs two examples with real JAX processes, kills a rank of the first, which goes on until
then, and records what the commands print in docs/images/roll-call. At the time of ``stuck`` Chromium takes pictures of
the roll-call page.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
RECORDINGS = HERE / "roll-call"
PAGES = {"page": ("/", 360), "page-of-one": ("/experiments/default/missing-rank", 1500)}
"""Path and height of each picture of the page."""
PAGE = HERE.parent / "reading-the-roll-call.md"
BLOCK = re.compile(
    r'(<!-- recorded: (?P<name>[\w-]+)(?:, from "(?P<first>[^"]+)")?(?:, to "(?P<last>[^"]+)")? -->\n)```\n.*?^```\n',
    re.M | re.S,
)
DAEMON = re.compile(r"http://127[\d.:]+")


def filled(text: str) -> str:
    """The text of the page with its blocks as they are recorded now."""
    return BLOCK.sub(lambda found: f"{found[1]}```\n{excerpt(found['name'], found['first'], found['last'])}```\n", text)


def excerpt(name: str, first: str | None, last: str | None) -> str:
    """A recording, or what lies between two lines that begin with, or have, these words; ``...`` stands for the rest."""
    command, *lines = (RECORDINGS / f"{name}.txt").read_text(encoding="utf-8").splitlines()
    begin = next(i for i, line in enumerate(lines) if line.startswith(first)) if first else 0
    end = next(i for i, line in enumerate(lines) if i >= begin and last in line) + 1 if last else len(lines)
    parts = [command, *["..."] * (begin > 0), *lines[begin:end], *["..."] * (end < len(lines))]
    return "\n".join(parts) + "\n"


class Recorder:
    """Runs commands in a shell's environment and keeps what they print."""

    def __init__(self, home: Path) -> None:
        """Use a cluster with its state in ``home``."""
        self.environment = os.environ | {
            "MUSTER_HOME": str(home),
            "NO_COLOR": "1",
            "COLUMNS": "120",
            "JAX_PLATFORMS": "cpu",
        }
        self.muster = str(Path(sys.executable).with_name("muster"))
        self.environment["PATH"] = f"{Path(sys.executable).parent}:{os.environ['PATH']}"

    def run(self, command: str) -> str:
        """What a command prints."""
        program = [self.muster, *command.split()[1:]]
        done = subprocess.run(program, env=self.environment, cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"{command} exits with {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def record(self, name: str, command: str, shows: str) -> None:
        """Keep a command and what it prints, without spaces at the ends of lines. ``shows`` must be in it."""
        lines = [f"$ {command}", *(line.rstrip() for line in self.run(command).splitlines())]
        (RECORDINGS / f"{name}.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
        if not any(shows in line for line in lines):
            raise SystemExit(f"recorded too late, {shows!r} is not shown any more: {name}.txt. Run it again")


def main() -> None:
    """Make all recordings."""
    RECORDINGS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        shell = Recorder(Path(folder))
        up = subprocess.Popen(
            [shell.muster, "local", "up"], env=shell.environment, cwd=ROOT, stdout=subprocess.PIPE, text=True
        )
        try:
            assert up.stdout is not None
            up.stdout.readline()  # it is ready
            shell.environment["KUBECONFIG"] = shell.run("muster local status -o kubeconfig").strip()
            found = DAEMON.search(shell.run("muster local status"))
            assert found is not None
            scene(shell, found[0])
        finally:
            up.terminate()
            up.communicate(timeout=60)
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


def scene(shell: Recorder, address: str) -> None:
    """Run both examples and record them."""
    shell.run("muster submit examples/jax/killed.yaml --name train")
    shell.run("muster wait train --for Assembled --timeout 2m")
    shell.record("running", "muster get train", "Running")
    shell.run("muster local kill train --rank 2")
    shell.run("muster wait train --for Restarting --timeout 1m")
    shell.run("muster wait train --timeout 4m")
    shell.record("restarted", "muster explain train", "Epoch 0 ended because rank 2")
    shell.run("muster submit examples/jax/missing-rank.yaml --name missing-rank")
    shell.run("muster wait missing-rank --for Stuck --timeout 2m")
    camera = [sys.executable, "-m", "tests.browser.pictures"]
    for name, (path, height) in PAGES.items():
        camera += ["--page", f"{address}{path}", str(RECORDINGS / f"{name}.png"), str(height)]
    taking = subprocess.Popen(camera, cwd=ROOT)  # beside the commands: a clock ends the experiment soon
    shell.record("stuck", "muster get missing-rank", "stuck (RanksMissing)")
    shell.record("stuck-explained", "muster explain missing-rank", "stuck (RanksMissing)")
    if taking.wait(timeout=60) or "Assembling" not in shell.run("muster get missing-rank"):
        raise SystemExit("the pictures of the page were taken too late. Run it again")


if __name__ == "__main__":
    main()
