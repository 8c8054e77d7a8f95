"""The workflows are valid, and the lock files of the image hold the versions that are tested."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

import muster
from deploy.image.locks import LOCKS, ROOT, RUNTIME, Lock
from tests.flakes.play import ONCE_VARIABLE
from tests.tools.go_tool import ACTIONLINT

WORKFLOWS = {path.stem: path for path in (ROOT / ".github" / "workflows").iterdir()}
each_workflow = pytest.mark.parametrize("workflow", WORKFLOWS.values(), ids=list(WORKFLOWS))


@each_workflow
@pytest.mark.slow
def test_actionlint_accepts_the_workflow(workflow: Path) -> None:
    checked = subprocess.run([ACTIONLINT.needed(), workflow], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def target_lists() -> dict[str, list[str]]:
    """The targets of the Makefile, each with those that it needs."""
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    found = re.findall(r"^([a-z-]+):([^#\n]*)", makefile, re.MULTILINE)
    return {name: needs.split() for name, needs in found}


def made_by(workflow: str) -> list[str]:
    """The targets that a workflow makes, as often as it makes them."""
    found = []
    for job in yaml.safe_load(WORKFLOWS[workflow].read_text(encoding="utf-8"))["jobs"].values():
        rows = job.get("strategy", {}).get("matrix", {}).get("target", [""])
        lines = [
            step["run"].replace("${{ matrix.target }}", row) for row in rows for step in job["steps"] if "run" in step
        ]
        found += [word for line in lines for asked in re.findall(r"make ([a-z -]+)", line) for word in asked.split()]
    return found


def test_the_nightly_plays_all_of_the_proof_and_real_nodes_three_times() -> None:
    made, targets = made_by("nightly"), target_lists()
    assert {*targets["proof-all"], "simulate-all", "coverage", "test-slow", "test-newer-python"} <= set(made)
    assert made.count("real-node") == 3
    assert yaml.safe_load(WORKFLOWS["nightly"].read_text(encoding="utf-8"))["env"][ONCE_VARIABLE]


@pytest.mark.parametrize("workflow", WORKFLOWS)
def test_a_workflow_makes_what_the_makefile_has(workflow: str) -> None:
    assert set(made_by(workflow)) <= set(target_lists())


@each_workflow
def test_actions_are_pinned_by_commit(workflow: Path) -> None:
    used = re.findall(r"uses: (\S+)", workflow.read_text(encoding="utf-8"))
    assert used
    assert [each for each in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", each)] == []


@pytest.mark.drift
@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: str(lock.path.stem))
def test_a_lock_file_holds_the_versions_of_the_constraints(lock: Lock) -> None:
    tested = dict(line.split("==") for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").split())
    others = {name: version for name, version in lock.pins.items() if tested.get(name, version) != version}
    assert others == {}, "run `python -m deploy.image`"
    assert len(set(lock.pins) & set(tested)) > len(lock.pins) // 2


@pytest.mark.drift
@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: str(lock.path.stem))
def test_every_package_of_a_lock_file_has_hashes(lock: Lock) -> None:
    assert len(lock.entries) == len(lock.pins)
    assert [entry.split()[0] for entry in lock.entries if "--hash=sha256:" not in entry] == []


def test_pushes_and_pull_requests_are_checked_tested_and_proven() -> None:
    workflow = yaml.safe_load(WORKFLOWS["ci"].read_text(encoding="utf-8"))
    assert set(workflow[True]) == {"push", "pull_request"}, "YAML 1.1 reads the key `on` as true"
    made, targets = set(made_by("ci")), target_lists()
    assert {"check", "frameworks", *targets["test-all"], "simulate", "planted-bugs", "fuzz", "site"} <= made
    assert "tests.skips" in workflow["jobs"]["test"]["steps"][-1]["run"]


def test_an_image_for_several_platforms_is_pushed_and_its_digest_kept(tmp_path: Path) -> None:
    asked = stubbed(tmp_path, "docker", 'echo "$@" >> ASKED')
    build_image(tmp_path, "registry.example.com/musterd:test", PLATFORMS="linux/amd64,linux/arm64")
    expected = "buildx build --platform linux/amd64,linux/arm64 --tag registry.example.com/musterd:test --push "
    assert asked.read_text() == f"{expected}--metadata-file {tmp_path}/image.json .\n"


def stubbed(folder: Path, program: str, line: str) -> Path:
    """Put a program of that one line into the folder; the file that it writes ASKED to."""
    asked = folder / f"{program}-asked"
    stub = folder / program
    stub.write_text(f"#!/bin/sh\n{line.replace('ASKED', str(asked))}\n", encoding="utf-8")
    stub.chmod(0o755)
    return asked


def build_image(folder: Path, tag: str, **variables: str) -> None:
    """Run deploy/image/build, in whose PATH the stubs of the folder come first."""
    environ = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHON": sys.executable, "OUT": str(folder)}
    build = [str(ROOT / "deploy" / "image" / "build"), tag]
    built = subprocess.run(build, env=environ | variables, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr


def test_make_image_lists_the_packages_of_the_lock_file_and_builds_on_the_base_that_is_asked_for(
    tmp_path: Path,
) -> None:
    stubbed(tmp_path, "docker", "exit 1")
    asked = stubbed(tmp_path, "buildah", 'echo "$@" > ASKED')
    build_image(tmp_path, "musterd:test", BASE="python:3.12-slim")
    assert asked.read_text().split() == ["build", "--build-arg", "BASE=python:3.12-slim", "--tag", "musterd:test", "."]
    listed = json.loads((tmp_path / f"musterd-{muster.__version__}.cdx.json").read_text())["components"]
    assert {each["name"]: each["version"] for each in listed} == RUNTIME.pins
