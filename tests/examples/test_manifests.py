"""The manifests under examples/ are in order."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.api.foreign.jaxjob import parse_jaxjob
from muster.api.foreign.jobset import parse_jobset
from muster.api.manifest.load import load_manifest

EXAMPLES = Path(__file__).parents[2] / "examples"
IGNORED = ("builder",)
"""Fields of AIchor manifests that Muster warns about and that an example may show."""


FOREIGN: dict[str, Callable[[dict[str, Any]], object]] = {"JobSet": parse_jobset, "JAXJob": parse_jaxjob}


@pytest.mark.parametrize("path", sorted(EXAMPLES.rglob("*.yaml")), ids=lambda path: path.stem)
def test_an_example_loads_without_a_problem(path: Path) -> None:
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    if read := FOREIGN.get(document["kind"]):
        assert read(document)
        return
    loaded = load_manifest(path.read_text(encoding="utf-8"), filename=path.name)
    assert [str(each) for each in loaded.warnings if each.field not in IGNORED] == []
