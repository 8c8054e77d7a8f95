"""Browser and driver are taken each from where it is; what is missing is fetched, or named with what to install."""

import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser import chromium
from tests.tools import debian

DOWNLOADS = {"chromium": "chromium", "chromium-driver": "chromedriver"}


@pytest.fixture(autouse=True)
def unasked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv(chromium.CACHE_VARIABLE, str(tmp_path / "cache"))
    chromium.programs.cache_clear()
    yield
    chromium.programs.cache_clear()


def on_path(monkeypatch: pytest.MonkeyPatch, *names: str) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}" if name in names else None)


def test_both_are_taken_from_path(monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, "chromium", "chromedriver")
    assert chromium.programs() == ("/usr/bin/chromium", "/usr/bin/chromedriver", "")


@pytest.mark.parametrize(("there", "package"), [("chromium", "chromium-driver"), ("chromedriver", "chromium")])
def test_only_the_one_that_is_missing_is_fetched(there: str, package: str, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[str] = []

    def run(command: list[str], folder: Path | None = None) -> subprocess.CompletedProcess[str]:
        if "--simulate" in command:
            return subprocess.CompletedProcess(command, 0, f"Inst {command[-1]} (1.0)\n", "")
        if "download" in command:
            assert folder is not None
            fetched.extend(command[2:])
            for each in command[2:]:
                (folder / f"{each}.deb").touch()
        else:
            Path(command[3]).mkdir(parents=True, exist_ok=True)
        return subprocess.CompletedProcess(command, 0, "", "")

    on_path(monkeypatch, there, "apt-get", "dpkg-deb")
    monkeypatch.setattr(debian, "run", run)
    browser, driver, _ = chromium.programs()
    assert fetched == [package]
    here = {"chromium": browser, "chromedriver": driver}
    assert here.pop(there) == f"/usr/bin/{there}"
    (other,) = here.values()
    assert other.endswith(chromium.UNPACKED[DOWNLOADS[package]])


def test_what_cannot_be_fetched_is_named_with_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    on_path(monkeypatch, "chromium")
    with pytest.raises(chromium.Unavailable, match=r"chromium-driver is not installed.*apt-get install chromium"):
        chromium.programs()
