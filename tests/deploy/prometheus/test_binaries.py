"""A machine that has no Prometheus and cannot fetch it says why."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.deploy.prometheus.binaries import CACHE_VARIABLE, Unavailable, program


@pytest.fixture(autouse=True)
def an_empty_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    program.cache_clear()
    yield
    program.cache_clear()


def test_without_a_packager_the_reason_is_given() -> None:
    with pytest.raises(Unavailable, match="without apt-get and dpkg-deb it cannot be fetched"):
        program("promtool")


def test_the_answer_of_a_failed_download_is_given_and_nothing_is_kept(tmp_path: Path) -> None:
    for name, script in (("apt-get", "echo 'E: no such package' >&2; exit 100"), ("dpkg-deb", "exit 0")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    with pytest.raises(Unavailable, match="E: no such package"):
        program("alertmanager")
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [".lock"]


def test_a_program_on_the_path_is_taken_first(tmp_path: Path) -> None:
    (tmp_path / "promtool").write_text("#!/bin/sh\n")
    (tmp_path / "promtool").chmod(0o755)
    assert program("promtool") == tmp_path / "promtool"
