"""The page of reasons has every reason that Muster names, once for each place, and each is a reason of the code."""

import re
from collections.abc import Iterable
from itertools import chain

import pytest

from deploy.prometheus.__main__ import ROOT
from muster.metrics.catalogue import FAILURES, SUCCESSES
from muster.metrics.runbooks import of_reason
from muster.state.facts.audience import CATALOGUE
from muster.state.facts.audience import of_reason as audience
from muster.state.facts.causes.on_its_way import STEPS
from muster.state.facts.causes.table import CAUSES
from muster.state.policies.failures.restart_reasons import CLOCKED, REASONS, TO_THE_PLATFORM, TO_THE_USER
from tools.reasons.__main__ import PAGE, page
from tools.reasons.rows import CAUSE, ENDED, QUEUE, STUCK, WAITING, Row

KUBELETS = {"RunContainerError", "CrashLoopBackOff", "ErrImagePull", "PodFailed"}
"""Reasons of kubelets, which no module has to name."""
TABLES = {"waiting": WAITING, "stuck": STUCK, "ended": ENDED, "cause": CAUSE}


def named(*tables: tuple[Row, ...]) -> list[str]:
    return [reason for row in chain(*tables) for reason in row.reasons]


@pytest.mark.drift
def test_the_page_is_the_one_of_the_rows() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tools.reasons"


def test_each_cause_is_a_heading_of_its_own_to_which_a_runbook_leads() -> None:
    headings = [each.lower() for each in re.findall(r"^##+ `?([^`\n]*)", page(), re.MULTILINE)]
    assert sorted(set(headings)) == sorted(headings)
    assert {cause.value.lower() for cause in CAUSES} <= set(headings)


@pytest.mark.parametrize(
    ("reasons", "explained"),
    [
        pytest.param(CATALOGUE, named(*TABLES.values()), id="reasons of the catalogue"),
        pytest.param({*FAILURES, *SUCCESSES}, named(ENDED), id="ends"),
        pytest.param(REASONS, {*named(CAUSE), *TO_THE_PLATFORM, *TO_THE_USER, *CLOCKED}, id="reasons of a restart"),
    ],
)
def test_every_reason_is_explained(reasons: Iterable[str], explained: Iterable[str]) -> None:
    assert set(reasons) - set(explained) == set()


@pytest.mark.parametrize("table", TABLES)
def test_no_reason_is_in_a_table_twice(table: str) -> None:
    reasons = named(TABLES[table])
    assert sorted(set(reasons)) == sorted(reasons)


@pytest.mark.parametrize("row", STUCK, ids=lambda row: row.reasons[0])
def test_reasons_of_one_row_have_one_runbook_and_one_audience(row: Row) -> None:
    assert len({(of_reason(reason), audience(reason)) for reason in row.reasons}) == 1


def test_every_reason_of_a_row_is_one_of_the_code() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "muster").rglob("*.py")))
    built = {f"{kind}{end}" for kind in ("Pod", "Service", "PersistentVolumeClaim") for end in ENDS}
    assert [each for each in named(*TABLES.values()) if f'"{each}"' not in code and each not in KUBELETS | built] == []


def test_every_reason_of_a_queue_that_never_admits_has_a_meaning() -> None:
    assert set(QUEUE) == set(STEPS)


ENDS = ("Altered", "sForbidden", "sRefused", "Rejected")
"""What follows the kind of an object in the reason of a refusal."""
