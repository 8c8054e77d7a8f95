"""The build of the control plane for `make real`, with a program that stands in for Go."""

import fcntl
import os
import stat
from pathlib import Path

import pytest

from tests.real import binaries
from tests.real.binaries import PROGRAMS
from tests.tools.go_tool import CannotBuild

GO = """#!/bin/sh
echo "$@" >> "$FAKE/calls"
case "$1" in
env) echo go1.99.0 ;;
list)
    [ ! -f "$FAKE/proxy-down" ] || { rm "$FAKE/proxy-down"; echo "$(cat "$FAKE/said")" >&2; exit 1; }
    printf 'build ID mismatch\nnot installed but available in build cache\n\nstale dependency: a/b\n' ;;
build)
    [ ! -f "$FAKE/slow" ] || sleep 60
    [ ! -f "$FAKE/broken" ] || { cat "$FAKE/broken" >&2; exit 1; }
    mkdir -p "$GOCACHE" && touch "$GOCACHE/object"
    while [ "$1" != -o ]; do shift; done
    echo program > "$2" ;;
esac
"""


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the first of the PATH; files in it steer the `go` there."""
    go = tmp_path / "fake" / "go"
    go.parent.mkdir()
    go.write_text(GO)
    go.chmod(go.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{go.parent}:/usr/bin:/bin")
    monkeypatch.setenv("FAKE", str(go.parent))
    monkeypatch.setenv(binaries.CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.setattr(binaries, "DISK", 0)
    return go.parent


def calls(fake: Path, verb: str) -> int:
    """How often Go was called for that."""
    return sum(line.startswith(verb) for line in (fake / "calls").read_text().splitlines())


def test_a_build_names_what_it_makes_and_each_step_before_it_takes_its_time(
    fake: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = binaries.binaries().folder
    first, *others = capfd.readouterr().out.splitlines()
    assert first == f"building {binaries.control_plane().title} into {folder}"
    assert "minutes on 2 idle cores" in first
    packages = binaries.control_plane().packages
    listings = [
        f"  {package}: Go lists its packages and fetches its modules (a minute or two)" for package in packages.values()
    ]
    assert others[::2] == listings
    assert [line.rpartition(" in ")[0] for line in others[1::2]] == [f"  {program}: built" for program in packages]
    binaries.binaries()
    assert capfd.readouterr().out == ""


def test_what_is_built_is_not_built_again(fake: Path) -> None:
    found = binaries.binaries()
    assert {each.name for each in found.folder.iterdir()} == {*PROGRAMS, "lock"}
    assert calls(fake, "build") == len(PROGRAMS)
    binaries.binaries()
    assert calls(fake, "build") == len(PROGRAMS)


def test_all_modules_share_one_build_cache_until_a_command_has_its_programs(fake: Path) -> None:
    found = binaries.binaries()
    assert (found.folder.parent / "gocache" / "object").exists()
    binaries.forget_build_cache()
    assert not (found.folder.parent / "gocache").exists()


def test_a_build_cache_that_was_used_a_moment_ago_can_be_kept(fake: Path) -> None:
    binaries.binaries()
    binaries.forget_build_cache(unused=binaries.DAY)
    assert binaries.build_cache().exists()


def test_the_build_cache_of_a_build_that_runs_stays(fake: Path) -> None:
    binaries.binaries()
    with (binaries.home() / "gocache.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_SH)
        binaries.forget_build_cache()
    assert binaries.build_cache().exists()


def test_packages_that_are_compiled_already_do_not_count_as_needed(fake: Path) -> None:
    module = binaries.control_plane()
    assert binaries.needed(module, str(fake / "go"), "a/b", os.environ) == 2


def test_a_module_proxy_that_fails_once_is_asked_again(fake: Path) -> None:
    (fake / "proxy-down").touch()
    (fake / "said").write_text("proxy.golang.org: connection reset by peer")
    binaries.binaries()
    assert calls(fake, "list") == len(PROGRAMS) + 1


def test_a_checksum_that_is_wrong_is_not_an_excuse(fake: Path) -> None:
    (fake / "proxy-down").touch()
    (fake / "said").write_text("verifying module: checksum mismatch")
    with pytest.raises(RuntimeError, match="checksum mismatch"):
        binaries.binaries()
    assert calls(fake, "list") == 1


def test_a_machine_with_too_little_memory_cannot_build_and_says_so(fake: Path) -> None:
    (fake / "broken").write_text("k8s.io/kubernetes/x: compile: signal: killed\n")
    with pytest.raises(CannotBuild, match="too little memory or disk"):
        binaries.binaries()


def test_code_that_does_not_compile_is_not_an_excuse(fake: Path) -> None:
    (fake / "broken").write_text("x.go:1:1: syntax error\n")
    with pytest.raises(RuntimeError, match="syntax error"):
        binaries.binaries()


def test_a_build_that_takes_too_long_ends_and_the_next_one_goes_on(
    fake: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (fake / "slow").touch()
    monkeypatch.setenv(binaries.SECONDS_VARIABLE, "0.2")
    binaries.build_cache().mkdir(parents=True)
    with pytest.raises(CannotBuild, match="goes on from there"):
        binaries.binaries()
    assert binaries.build_cache().exists()
    assert "  etcd: 0 of 2 packages compiled (0 s)\n" in capfd.readouterr().out


def test_a_disk_that_is_too_full_is_said_before_anything_is_built(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(binaries, "DISK", 1 << 60)
    with pytest.raises(CannotBuild, match="GB are free"):
        binaries.binaries()
    assert not calls(fake, "build")


def test_without_go_it_says_what_to_install(fake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (fake / "go").unlink()
    monkeypatch.setenv("PATH", str(fake))
    with pytest.raises(CannotBuild, match="install Go"):
        binaries.binaries()
