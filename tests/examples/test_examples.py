"""Each example runs from its file to Succeeded on the local cluster, with real processes."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
import yaml

from tests.examples.table import BY_NAME, EXAMPLES, ROOT, Example

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300), pytest.mark.xdist_group("examples")]


def command_of(folder: Path, example: Example, more: str = "", **spec: object) -> tuple[list[str], Mapping[str, str]]:
    """``muster run`` of the example's manifest, and its environment. Skips where the framework is missing."""
    if example.skipped:
        pytest.skip(example.skipped)
    document = example.document(folder)
    if not example.object:
        document["spec"] |= spec
        document["spec"]["command"] += more
    manifest = folder / f"{example.name}.yaml"
    manifest.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "PYTHONPATH")}
    environment |= {"MUSTER_HOME": str(folder / "home"), "PYTHONPATH": str(ROOT), "PATH": example.search_path}
    environment |= example.environment
    return [sys.executable, "-P", "-m", "muster.cli", "run", str(manifest)], environment


@pytest.mark.parametrize("name", BY_NAME)
def test_an_example_runs_to_its_end(name: str, tmp_path: Path) -> None:
    command, environment = command_of(tmp_path, BY_NAME[name])
    done = subprocess.run([*command, "--keep"], env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr + done.stdout
    printed = "".join(log.read_text(encoding="utf-8") for log in (tmp_path / "home").rglob("node/**/*.log"))
    for pattern in BY_NAME[name].prints:
        assert re.search(pattern, printed, re.MULTILINE), (pattern, printed)
    for pattern in BY_NAME[name].same:
        assert len(set(re.findall(pattern, printed))) == 1, (pattern, printed)


def test_a_killed_rank_of_pytorch_is_one_restart_from_the_checkpoint(tmp_path: Path) -> None:
    more = " --steps 200 --pace 0.1 --every 5"
    command, environment = command_of(tmp_path, BY_NAME["pytorch"], more)
    with (tmp_path / "out.log").open("w+", encoding="utf-8") as out:
        process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT)
        try:
            until_line(tmp_path / "out.log", r"step +10 ", process)
            os.kill(process_of(1, tmp_path), signal.SIGKILL)
            status = process.wait(200)
        finally:
            end(process)
    printed = (tmp_path / "out.log").read_text(encoding="utf-8")
    assert status == 0, printed
    assert re.search(r"3 processes, from step [1-9]\d*", printed), printed
    assert re.search(r"1 restart", printed), printed


def test_a_rank_of_pytorch_that_never_joins_is_named(tmp_path: Path) -> None:
    command, environment = command_of(tmp_path, BY_NAME["pytorch"], " --absent 2")
    with (tmp_path / "out.log").open("w+", encoding="utf-8") as out:
        process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT)
        try:
            line = until_line(tmp_path / "out.log", r"missing rank 2 \(\S+, running, but it has not called", process)
        finally:
            end(process)
    assert "2/3 ranks arrived" in line


def process_of(rank: int, folder: Path) -> int:
    """The process of that rank: the program whose checkpoints are in the test's folder."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (path / "cmdline").read_bytes().split(b"\0")
            variables = (path / "environ").read_bytes().split(b"\0")
            if os.fsencode(folder) in words and f"RANK={rank}".encode() in variables and b"-c" not in words:
                return int(path.name)
    raise AssertionError(f"no process of rank {rank}")


def until_line(log: Path, pattern: str, process: "subprocess.Popen[bytes]") -> str:
    """The line of the output that fits, once it is there; a real process offers no event for it."""
    deadline = time.monotonic() + 150
    while True:
        printed = log.read_text(encoding="utf-8")
        for line in printed.splitlines():
            if re.search(pattern, line):
                return line
        assert process.poll() is None, printed
        assert time.monotonic() < deadline, printed
        time.sleep(0.2)


def end(process: "subprocess.Popen[bytes]") -> None:
    """Interrupt a run that is not over, as a person would, so that its cluster ends too."""
    for _ in range(2):
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(40)
            except subprocess.TimeoutExpired:
                continue
    if process.poll() is None:
        process.kill()
        process.wait()


def test_every_example_of_the_table_has_a_readme() -> None:
    assert [each.file for each in EXAMPLES if not (each.path.parent / "README.md").is_file()] == []
