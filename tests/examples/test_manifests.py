"""The manifests under examples/ are in order."""

from pathlib import Path

import pytest

from muster.api.manifest.load import load_manifest

EXAMPLES = Path(__file__).parents[2] / "examples"
IGNORED = ("builder",)
"""Fields of AIchor manifests that Muster warns about and that an example may show."""


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.yaml")), ids=lambda path: path.stem)
def test_an_example_loads_without_a_problem(path: Path) -> None:
    loaded = load_manifest(path.read_text(encoding="utf-8"), filename=path.name)
    assert [str(each) for each in loaded.warnings if each.field not in IGNORED] == []
