"""The manifests under examples/ are in order."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.api.manifest.load import load_manifest
from muster.kinds.experiments import REGISTRY
from muster.kinds.jax.jaxjob import parse_jaxjob
from muster.kinds.jobset.checks import parse_jobset
from muster.kinds.registry import RUN_KINDS, WATCHED_KINDS
from tests.examples import table

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
    if path.parent.name == "watched":
        assert (
            next(each for each in WATCHED_KINDS.values() if each.subject.kind == document["kind"])
            .plan_of(document)
            .size
        )
        return
    loaded = load_manifest(path.read_text(encoding="utf-8"), filename=path.name)
    assert [str(each) for each in loaded.warnings if each.field not in IGNORED] == []


def test_each_operator_and_each_other_kind_has_an_example_that_is_run() -> None:
    """``test_examples.py`` runs the rows on the local cluster, ``tests/real/situations`` on a real API server."""
    operators = {load_manifest(each.path.read_text()).spec.operator for each in table.EXAMPLES if not each.object}
    assert operators == set(REGISTRY)
    assert {each.subject.kind for each in table.EXAMPLES if each.object} == set(RUN_KINDS)
