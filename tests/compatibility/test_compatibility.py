"""The page of compatibility is true: tests that it names exist, refusals are refused, and what works is read."""

from collections.abc import Callable
from typing import Final

import pytest

from muster.api.manifest.changes import override
from muster.api.manifest.experiment import Experiment
from muster.api.manifest.load import load_node
from muster.api.manifest.problems import ProblemsError
from muster.api.manifest.yaml.reader import Node, plain, read_yaml
from muster.kinds.declaration import PlanError
from muster.kinds.experiments import plan_of
from muster.kinds.jax.jaxjob import parse_jaxjob
from muster.kinds.jobset.checks import parse_jobset
from tests.compatibility.page import page
from tests.compatibility.row import AICHOR, JAXJOB, JOBSET, SECTIONS, Row, Section
from tests.docs.pages import ROOT

ROWS: Final = [(section, row) for section in SECTIONS for row in section.rows]


def _read_aichor(node: Node) -> object:
    loaded = load_node(node, filename="m.yaml")
    return plan_of(Experiment("u", loaded.name or "train", "default", 1, None, loaded.spec))


READ: Final[dict[str, Callable[[Node], object]]] = {
    AICHOR.title: _read_aichor,
    JOBSET.title: lambda node: parse_jobset(plain(node), file="m.yaml", node=node),
    JAXJOB.title: lambda node: parse_jaxjob(plain(node), file="m.yaml", node=node),
}


def tried(section: Section, row: Row) -> object:
    """Read the manifest of the section with the change of the row."""
    node, problems = read_yaml(section.base, filename="m.yaml")
    assert node is not None
    assert not problems
    if row.set:
        override(node, row.set)
    return READ[section.title](node)


def test_every_row_that_works_names_a_test_that_exists() -> None:
    assert [found for _, row in ROWS if row.works and (found := row.missing())] == []


@pytest.mark.parametrize(
    ("section", "row"),
    [each for each in ROWS if each[1].works and each[1].set],
    ids=lambda part: getattr(part, "field", getattr(part, "title", "")),
)
def test_what_works_is_read(section: Section, row: Row) -> None:
    assert tried(section, row)


@pytest.mark.parametrize(
    ("section", "row"),
    [each for each in ROWS if not each[1].works],
    ids=lambda part: getattr(part, "field", getattr(part, "title", "")),
)
def test_what_is_refused_is_refused_with_its_reason(section: Section, row: Row) -> None:
    with pytest.raises((ProblemsError, PlanError)) as raised:
        tried(section, row)
    assert row.refused in str(raised.value)


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.title)
def test_the_base_of_a_section_is_read_and_its_rows_differ(section: Section) -> None:
    assert tried(section, Row("", ""))
    assert len({row.field for row in section.rows}) == len(section.rows)


@pytest.mark.drift
def test_the_page_is_written_from_the_table() -> None:
    assert (ROOT / "tests" / "compatibility" / "README.md").read_text(encoding="utf-8") == page()
