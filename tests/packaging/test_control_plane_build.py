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
    [ ! -f "$FAKE/unfit" ] || { cat "$FAKE/unfit" >&2; exit 1; }
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
    return sum(line.startswith(verb) for line in (fake / "calls").read_text().splitlines())


def test_what_is_built_is_not_built_again(fake: Path) -> None:
    found = binaries.binaries()
    assert {each.name for each in found.folder.iterdir()} == {*PROGRAMS, "lock"}
    assert calls(fake, "build") == len(PROGRAMS)
    binaries.binaries()
    assert calls(fake, "build") == len(PROGRAMS)


@pytest.mark.parametrize(
    ("file", "printed", "error", "words"),
    [
        ("unfit", "verifying module: checksum mismatch", RuntimeError, "checksum mismatch"),
        ("broken", "x.go:1:1: syntax error", RuntimeError, "syntax error"),
        ("broken", "k8s.io/kubernetes/x: compile: signal: killed", CannotBuild, "too little memory or disk"),
    ],
)
def test_only_what_the_machine_lacks_is_an_excuse(
    fake: Path, file: str, printed: str, error: type[Exception], words: str
) -> None:
    (fake / file).write_text(f"{printed}\n")
    with pytest.raises(error, match=words):
        binaries.binaries()
    assert calls(fake, "list") == 1
