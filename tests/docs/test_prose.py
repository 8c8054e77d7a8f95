"""Vale finds nothing in documents and messages: no word of the dialect, none twice, none that is in no dictionary."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.docs.commands import ROOT
from tests.tools.go_tool import VALE

CONFIGURATION = ROOT / "tools/lengths/vale.ini"
READ = ("README.md", "CONTRIBUTING.md", "docs", "tests/messages/messages.golden")
PLANTED = "# Title\n\nThe page says that that rank of `says` is gone.\n\nA mispelled word.\n"

pytestmark = pytest.mark.slow


def findings(*read: str | Path) -> Mapping[str, list[tuple[int, str, str]]]:
    """Return the line, the rule and the text of each finding, by file."""
    command = [VALE.needed(), f"--config={CONFIGURATION}", "--output=JSON", "--no-exit", *read]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    return {
        file: [(each["Line"], each["Check"], each["Match"]) for each in found]
        for file, found in json.loads(done.stdout).items()
    }


def test_documents_and_messages_have_no_finding() -> None:
    assert findings(*READ) == {}


def test_each_rule_finds_what_it_is_about(tmp_path: Path) -> None:
    page, message = tmp_path / "page.md", tmp_path / "message.golden"
    page.write_text(PLANTED, encoding="utf-8")
    message.write_text("Stuck | rank 2 says nothing\n", encoding="utf-8")
    found = findings(page, message)
    assert found[str(message)] == [(1, "Muster.Plain", "says")]
    assert sorted(found[str(page)]) == [
        (3, "Muster.Plain", "says"),
        (3, "Muster.Repetition", "that that"),
        (5, "Muster.Spelling", "mispelled"),
    ]
    rules = {f"Muster.{each.stem}" for each in (CONFIGURATION.parent / "styles/Muster").glob("*.yml")}
    assert {rule for _, rule, _ in found[str(page)]} == rules
