"""The rooms are imported below ``muster`` only: by its bare name, a room would be a second copy of its modules."""

import subprocess
import sys

import pytest

from tests.packaging.conftest import ROOT

ROOMS = sorted(path.name for path in (ROOT / "muster").iterdir() if path.is_symlink())


def test_the_rooms_are_linked_into_the_package() -> None:
    assert ROOMS == ["daemon", "metrics", "reconcilers", "state", "watchers"]
    assert all((ROOT / "muster" / room).resolve() == ROOT / room for room in ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_ruff_refuses_a_room_by_its_bare_name(room: str) -> None:
    code = f"import {room}\nfrom {room} import anything\nimport {room}.anything\nimport muster.{room}\n"
    ruff = [sys.executable, "-m", "ruff", "check", "--select", "TID251", "--output-format", "concise", "-"]
    checked = subprocess.run(ruff, cwd=ROOT, input=code, capture_output=True, text=True, check=False)
    assert [line.split(":")[1] for line in checked.stdout.splitlines() if "TID251" in line] == ["1", "2", "3"]
