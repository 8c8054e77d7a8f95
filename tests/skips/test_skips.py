"""A skip is expected where the machine lacks what it is about, and nowhere else."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.frameworks.interpreters import CURRENT_TORCH, MISSING
from tests.outcomes.outcome import Outcome
from tests.skips import __main__ as skips
from tests.skips.expected import PROGRAMS, Machine, expected

WHOLE = Machine(PROGRAMS, {"PROMETHEUS_OPERATOR_CRDS": "/crds", "JOBSET_CONTROLLER": "/jobset"})


@pytest.mark.parametrize(
    ("reason", "machine"),
    [
        ("kubectl is not installed", replace(WHOLE, programs={"go"})),
        ("there is no Go here to build helm: install Go 1.24", replace(WHOLE, programs={"kubectl"})),
        ("no netns on this machine: not root", replace(WHOLE, root=False)),
        ("the image cannot be built here: not on PATH: debootstrap", replace(WHOLE, programs={"buildah"})),
        ("PROMETHEUS_OPERATOR_CRDS names no folder", replace(WHOLE, variables={})),
        (f"no {CURRENT_TORCH}: {MISSING} TORCH=1", replace(WHOLE, variables={"CI_TORCH": ""})),
    ],
)
def test_a_skip_is_expected_only_where_the_machine_lacks_what_it_names(reason: str, machine: Machine) -> None:
    assert expected(reason, machine)
    assert not expected(reason, WHOLE)


@pytest.mark.parametrize(
    "reason",
    [f"no ray: {MISSING}", "could not import 'jax': No module named 'jax'", "Go cannot fetch the modules of helm"],
)
def test_what_ci_installs_is_never_expected_to_lack(reason: str) -> None:
    assert not expected(reason, Machine((), {}, root=False, namespaces=False))


def test_the_list_has_reasons_with_their_number_and_names_what_is_not_expected(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(skips, "this_machine", lambda: WHOLE)
    rows = [
        Outcome("t.py::a", "skipped", why="a drawing"),
        Outcome("t.py::b", "skipped", why="kubectl is not installed"),
    ]
    for number, row in enumerate(rows):
        line = {each: getattr(row, each) for each in row.__slots__}
        (tmp_path / f"{number}.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    assert skips.main(tmp_path) == 1
    assert capsys.readouterr().out.splitlines() == [
        "skipped: 2 tests",
        "  1: a drawing",
        "  1: kubectl is not installed",
        "    NOT EXPECTED on this machine, first t.py::b: have what it names, or add a row to expected.py",
    ]


def test_nothing_skipped_is_well(tmp_path: Path) -> None:
    assert skips.main(tmp_path) == 0
