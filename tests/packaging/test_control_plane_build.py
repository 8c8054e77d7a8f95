"""The build of the control plane for `make real`, with a program that stands in for Go."""

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


def test_what_is_built_is_not_built_again(fake: Path) -> None:
    found = binaries.binaries()
    assert {each.name for each in found.folder.iterdir()} == {*PROGRAMS, "lock"}
    assert calls(fake, "build") == len(PROGRAMS)
    binaries.binaries()
    assert calls(fake, "build") == len(PROGRAMS)


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
