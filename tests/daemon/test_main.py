"""The settings that musterd starts with, the file that has them, and the content of its log."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
import structlog
from pydantic import ValidationError

from muster.daemon.main import configure_logs, main, own_namespace, uninterrupted
from muster.daemon.settings import Settings


@pytest.mark.parametrize(
    ("times", "why"),
    [
        ({"lease_duration": 10, "renew_deadline": 10}, "must be longer than renew_deadline"),
        ({"renew_deadline": 3}, "at least twice retry_period"),
        ({"retry_period": 0}, "greater than 0"),
        ({"retry_period": float("nan")}, "retry_period"),
        ({"lease_duration": float("inf")}, "lease_duration"),
        ({"lease_duration": 7200}, "less than or equal to 3600"),
    ],
)
def test_times_that_leave_no_room_are_refused(times: dict[str, float], why: str) -> None:
    with pytest.raises(ValidationError, match=why):
        Settings(**times)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["", "A", "a/b", "..", "a_b", "-a", "a" * 254])
def test_a_name_is_one_that_kubernetes_takes(name: str) -> None:
    with pytest.raises(ValidationError):
        Settings(lease_name=name)


def test_the_namespace_is_the_pods_own(tmp_path: Path) -> None:
    assert own_namespace(tmp_path) == "default"
    (tmp_path / "namespace").write_text("muster-system\n")
    assert own_namespace(tmp_path) == "muster-system"


def test_the_clock_of_the_election_never_goes_back() -> None:
    readings = [uninterrupted() for _ in range(100)]
    assert readings == sorted(readings)


@pytest.mark.parametrize(
    ("text", "why"), [(None, "No such file"), ("namespace: [a\n", "line 1, column 12"), ("- a\n", "dictionary update")]
)
def test_a_file_of_settings_that_cannot_be_read_ends_the_daemon_at_its_start(
    text: str | None, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without it musterd would run with its defaults: in all namespaces, and without an election."""
    file = tmp_path / "musterd.yaml"
    if text is not None:
        file.write_text(text)
    monkeypatch.setenv("MUSTER_CONFIG", str(file))
    monkeypatch.setattr("sys.argv", ["musterd"])
    with pytest.raises(SystemExit, match="2"):
        main()
    logged = capsys.readouterr().err
    assert logged.startswith(f"musterd: MUSTER_CONFIG={file}: ")
    assert why in logged


TOKEN = "eyJhbGciOi"
EVENT = "a request could not be answered"


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def review(token: str) -> None:
    asked = {"spec": {"token": token}}
    raise RuntimeError(f"no answer to {len(asked)} review")


@pytest.mark.parametrize("form", ["json", "pretty"])
def test_a_traceback_is_logged_without_the_values_of_its_variables(
    form: Literal["json", "pretty"], capsys: pytest.CaptureFixture[str]
) -> None:
    configure_logs(form, "info")
    try:
        review(TOKEN)
    except RuntimeError:
        structlog.get_logger().exception(EVENT)
    logged = capsys.readouterr().err
    assert TOKEN not in logged
    for words in (EVENT, "RuntimeError", "no answer to 1 review", "review", "test_main.py"):
        assert words in logged
    if form == "json":
        assert json.loads(logged)["event"] == EVENT
