"""docs/cli.md is generated from the commands."""

from pathlib import Path

import pytest

from muster.cli.main import VERBS
from muster.cli.reference import cli_reference
from muster.daemon.settings import Settings

PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


@pytest.mark.drift
def test_the_page_is_up_to_date() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert text == cli_reference(), "run: python -m muster.cli.reference > docs/cli.md"


def test_every_verb_and_every_setting_has_its_line() -> None:
    page = cli_reference()
    for verb in (*VERBS, "local up", "local down", "local status", "local kill"):
        assert f"# muster {verb}\n" in page
    for setting in Settings.model_fields:
        assert f"\n- `--{setting.replace('_', '-')}`" in page
    assert "\b" not in page
