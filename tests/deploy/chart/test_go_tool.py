"""A program that this machine cannot build is missed with a reason that says what to do."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.tools.go_tool import CACHE_VARIABLE, NO_BUILD_VARIABLE, CannotBuild, GoTool


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GoTool:
    """A program that is not built, of a module that needs a Go of the far future."""
    module = tmp_path / "module"
    module.mkdir()
    (module / "go.mod").write_text("module example.com/tool\n\ngo 9.1\n")
    (module / "go.sum").write_text("")
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))
    monkeypatch.delenv(NO_BUILD_VARIABLE, raising=False)
    return GoTool(module=module, package="example.com/tool", program="tool", variable="MUSTER_TEST_TOOL")


def go(folder: Path, version: str) -> str:
    """A PATH with a Go of that version."""
    folder.mkdir()
    program = folder / "go"
    program.write_text(f"#!/bin/sh\necho {version}\n")
    program.chmod(0o755)
    return str(folder)


def test_without_go_the_reason_says_which_go_to_install(
    tool: GoTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        CannotBuild, match=r"no Go here .* install Go 9\.1 or newer, or name a tool in MUSTER_TEST_TOOL"
    ):
        tool.path()


def test_an_older_go_is_named_with_what_is_needed(
    tool: GoTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", go(tmp_path / "bin", "go1.2"))
    with pytest.raises(CannotBuild, match=r"tool needs Go 9\.1, and .*/go is go1\.2"):
        tool.path()


def test_a_program_with_parts_in_c_needs_a_compiler(
    tool: GoTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", go(tmp_path / "bin", "go9.9"))
    with pytest.raises(CannotBuild, match="tool needs a C compiler: install gcc, or name a tool in MUSTER_TEST_TOOL"):
        replace(tool, c=True).path()


def test_a_program_that_is_there_is_taken_without_go(
    tool: GoTool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    tool.folder.mkdir(parents=True)
    (tool.folder / "tool").touch()
    assert tool.path() == tool.folder / "tool"
    monkeypatch.setenv("MUSTER_TEST_TOOL", "/opt/tool")
    assert tool.path() == Path("/opt/tool")


def test_where_building_is_switched_off_the_program_is_missing(tool: GoTool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(NO_BUILD_VARIABLE, "1")
    with pytest.raises(CannotBuild, match=NO_BUILD_VARIABLE):
        tool.path()


def test_other_pins_are_another_program(tool: GoTool) -> None:
    before = tool.folder
    (tool.module / "go.sum").write_text("example.com/other v1.0.0 h1:x\n")
    assert tool.folder != before


def test_a_program_that_is_built_on_request_is_missing_until_then(tool: GoTool) -> None:
    late = replace(tool, on_request="make tools MORE=1")
    with pytest.raises(CannotBuild, match="tool is not built: make tools MORE=1 builds it"):
        late.path()
    late.folder.mkdir(parents=True)
    (late.folder / "tool").touch()
    assert late.path() == late.built() == late.folder / "tool"
