"""Each example runs from its file to Succeeded with real processes, on one local cluster for all."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml

from muster.cli.processes.stack import module
from tests.examples.table import BY_NAME, EXAMPLES, ROOT, Example, process_of
from tests.processes.forked import Forked, run
from tests.processes.local_up import local_up

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(300), pytest.mark.xdist_group("examples")]


def environment_of(home: Path) -> dict[str, str]:
    """The environment of ``muster`` with that home."""
    kept = {name: value for name, value in os.environ.items() if name not in ("KUBECONFIG", "PYTHONPATH")}
    return {**kept, "MUSTER_HOME": str(home), "PYTHONPATH": str(ROOT)}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The directory of a cluster that runs."""
    home = tmp_path_factory.mktemp("cluster") / "home"
    environment = environment_of(home)
    for example in EXAMPLES:
        environment |= example.environment  # pods of other kinds have the environment of the cluster
    with local_up(environment, ROOT):
        yield home


def command_of(
    folder: Path, home: Path, example: Example, more: str = "", **spec: object
) -> tuple[list[str], Mapping[str, str]]:
    """``muster run`` of the example's manifest, and its environment. Skips where the framework is missing."""
    if example.skipped:
        pytest.skip(example.skipped)
    document = example.document(folder)
    if not example.object:
        document["spec"] |= spec
        document["spec"]["command"] += more
    manifest = folder / f"{example.name}.yaml"
    manifest.write_text(yaml.safe_dump(document, sort_keys=False), encoding="utf-8")
    environment = environment_of(home) | {"PATH": example.search_path} | example.environment
    return module("muster.cli", "run", str(manifest)), environment


def logs_of(home: Path) -> set[Path]:
    """The logs of all containers so far."""
    return set(home.rglob("node/**/*.log"))


@pytest.mark.parametrize("name", BY_NAME)
def test_an_example_runs_to_its_end(name: str, home: Path, tmp_path: Path) -> None:
    before = logs_of(home)
    command, environment = command_of(tmp_path, home, BY_NAME[name])
    done = run(command, env=environment, cwd=ROOT)
    assert done.returncode == 0, done.stderr + done.stdout
    printed = "".join(log.read_text(encoding="utf-8") for log in logs_of(home) - before)
    for pattern in BY_NAME[name].prints:
        assert re.search(pattern, printed, re.MULTILINE), (pattern, printed)
    for pattern in BY_NAME[name].same:
        assert len(set(re.findall(pattern, printed))) == 1, (pattern, printed)


def test_a_killed_rank_of_pytorch_is_one_restart_from_the_checkpoint(home: Path, tmp_path: Path) -> None:
    more = " --steps 200 --pace 0.1 --every 5"
    command, environment = command_of(tmp_path, home, BY_NAME["pytorch"], more)
    with (tmp_path / "out.log").open("w+", encoding="utf-8") as out:
        process: Forked[bytes] = Forked(command, env=environment, cwd=ROOT, stdout=out, stderr=subprocess.STDOUT)
        try:
            until_line(tmp_path / "out.log", r"step +10 ", process)
            os.kill(process_of(str(tmp_path), "RANK=1"), signal.SIGKILL)
            status = process.wait(200)
        finally:
            end(process)
    printed = (tmp_path / "out.log").read_text(encoding="utf-8")
    assert status == 0, printed
    assert re.search(r"3 processes, from step [1-9]\d*", printed), printed
    assert re.search(r"1 restart", printed), printed


def until_line(log: Path, pattern: str, process: Forked[bytes]) -> str:
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


def end(process: Forked[bytes]) -> None:
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
