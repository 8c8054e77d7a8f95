"""The state directory: its lock and its files."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from muster.local.home import Announcement, Exposed, Home, NoDirectory, Occupied, default_home


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "state")


def announcement(home: Home) -> Announcement:
    where = {"kubeconfig": str(home.kubeconfig), "state": str(home.path)}
    return Announcement(pid=1, url="http://127.0.0.1:1", isolation="mnt", started=1.0, **where)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_muster_home_overrides_the_xdg_state_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_HOME", "/somewhere")
    assert default_home() == Path("/somewhere")
    monkeypatch.delenv("MUSTER_HOME")
    monkeypatch.setenv("XDG_STATE_HOME", "/var/state")
    assert default_home() == Path("/var/state/muster")


def test_a_state_directory_can_be_locked_once(home: Home) -> None:
    with home.acquire():
        assert home.held()
        with pytest.raises(Occupied, match=r"muster local down"):
            home.acquire()
    assert not home.held()


def test_the_directory_is_private(home: Home) -> None:
    home.acquire().close()
    assert mode(home.path) == 0o700


def test_an_announcement_is_valid_only_while_the_lock_is_held(home: Home) -> None:
    with home.acquire():
        assert home.running() is None
        home.announce(announcement(home))
        assert home.running() == announcement(home)
    assert home.announcement.exists()
    assert home.running() is None, "the file was left by a crash"
    home.withdraw()
    assert not home.announcement.exists()


def test_a_damaged_announcement_is_ignored(home: Home) -> None:
    with home.acquire():
        home.announcement.write_text("{")
        assert home.running() is None


def test_the_lock_is_released_when_its_process_is_killed(home: Home) -> None:
    program = (
        "import os, sys; from pathlib import Path; from muster.local.home import Home;"
        "held = Home(Path(sys.argv[1])).acquire(); os.kill(os.getpid(), 9)"
    )
    ended = subprocess.run([sys.executable, "-c", program, str(home.path)], check=False)
    assert ended.returncode == -9
    home.acquire().close()


@pytest.mark.parametrize("content", ["", "lock", "runs"])
def test_a_state_directory_that_others_may_enter_is_closed_to_them(home: Home, content: str) -> None:
    home.path.mkdir(mode=0o755)
    if content:
        (home.path / content).touch()
    home.create()
    assert mode(home.path) == 0o700


def test_a_directory_with_a_purpose_of_its_own_is_refused_and_not_changed(home: Home) -> None:
    home.path.mkdir(mode=0o755)
    (home.path / "thesis.tex").touch()
    with pytest.raises(Exposed, match="chmod 700"):
        home.create()
    assert mode(home.path) == 0o755
    home.path.chmod(0o700)
    home.create()


def test_a_directory_of_another_user_is_refused(home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    home.create()
    victim = home.path / "victim"
    victim.write_text("precious")
    home.lock.symlink_to(victim)
    monkeypatch.setattr("muster.local.home.os.geteuid", lambda: os.getuid() + 1)
    with pytest.raises(Exposed, match="another user"):
        home.acquire()
    assert victim.read_text() == "precious"


def test_what_cannot_be_a_directory_is_named_with_the_next_step(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path / "file", tmp_path / "file/below"):
        with pytest.raises(NoDirectory, match=r"name another with MUSTER_HOME"):
            Home(path).create()
