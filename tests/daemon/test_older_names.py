"""Settings by the names that they had in older releases: read from everywhere, with a line that says the new name."""

from pathlib import Path

import pytest

from muster.daemon.older_names import OLDER
from muster.daemon.settings import Settings, from_command_line

WATCHED = {"foreign_kinds": "none", "observe_kinds": "jobs,pods"}
"""A value for each setting that is not its default."""


def test_each_older_name_is_of_a_setting_and_is_none_itself() -> None:
    assert set(OLDER.values()) <= set(Settings.model_fields)
    assert not OLDER.keys() & set(Settings.model_fields)
    assert set(WATCHED) == set(OLDER)


@pytest.mark.parametrize("older", OLDER)
@pytest.mark.parametrize("joined", [True, False])
def test_a_flag_by_its_older_name_is_read(older: str, joined: bool) -> None:
    flag, new = f"--{older.replace('_', '-')}", f"--{OLDER[older].replace('_', '-')}"
    words = [f"{flag}={WATCHED[older]}"] if joined else [flag, WATCHED[older]]
    with pytest.warns(DeprecationWarning, match=f"^{flag} has a new name: write {new}$"):
        settings = from_command_line([*words, "--http-port", "9000"])
    assert (getattr(settings, OLDER[older]), settings.http_port) == (WATCHED[older], 9000)


@pytest.mark.parametrize("older", OLDER)
def test_a_variable_by_its_older_name_is_read(older: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(f"MUSTER_{older.upper()}", WATCHED[older])
    with pytest.warns(DeprecationWarning, match=f"^MUSTER_{older.upper()} .* write MUSTER_{OLDER[older].upper()}$"):
        assert getattr(from_command_line([]), OLDER[older]) == WATCHED[older]


@pytest.mark.parametrize("older", OLDER)
def test_a_line_of_the_file_by_its_older_name_is_read(
    older: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "musterd.yaml").write_text(f"{older}: {WATCHED[older]}\nhttp_port: 9000\n")
    monkeypatch.setenv("MUSTER_CONFIG", str(tmp_path / "musterd.yaml"))
    with pytest.warns(DeprecationWarning, match=f"^{older} has a new name: write {OLDER[older]}$"):
        settings = from_command_line([])
    assert (getattr(settings, OLDER[older]), settings.http_port) == (WATCHED[older], 9000)


def test_an_older_name_of_a_source_that_wins_is_not_overruled_by_a_new_one_below(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "musterd.yaml").write_text("watch_kinds: jobsets\n")
    monkeypatch.setenv("MUSTER_CONFIG", str(tmp_path / "musterd.yaml"))
    monkeypatch.setenv("MUSTER_OBSERVE_KINDS", "jobs")
    with pytest.warns(DeprecationWarning, match="MUSTER_OBSERVE_KINDS"):
        assert from_command_line([]).watch_kinds == "jobs"
    with pytest.warns(DeprecationWarning, match="MUSTER_OBSERVE_KINDS"):
        assert from_command_line(["--watch-kinds", "pods"]).watch_kinds == "pods"


def test_of_two_names_in_one_source_the_new_one_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MUSTER_OBSERVE_KINDS", "jobs")
    monkeypatch.setenv("MUSTER_WATCH_KINDS", "pods")
    with pytest.warns(DeprecationWarning, match="MUSTER_OBSERVE_KINDS"):
        assert from_command_line([]).watch_kinds == "pods"


def test_new_names_give_no_warning() -> None:
    assert from_command_line(["--run-kinds", "none", "--watch-kinds", "all"]).run == frozenset()
