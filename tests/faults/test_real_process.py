"""Some of the plans that ``python -m tests.faults`` plays by the hundred, and the syntax of a plan."""

from collections import Counter
from pathlib import Path

import pytest

from tests.faults.plans import REQUEST_KINDS, STREAM_KINDS, Plan, catalogue, parse
from tests.faults.play import environment
from tests.faults.score import Session

FEW = [
    "survivors-hang:n=2:crash-before=PUT-experiments.Running0-1",
    "survivors-hang:n=2:crash-after=POST-pods-2",
    "survivors-hang:n=2:crash-told=DELETE-pods-1",
    "member-fails:n=2:crash-after=PUT-experiments.Restarting1-1",
    "survivors-hang:n=2:late=POST-pods-3/1.5",
    "survivors-hang:n=2:refuse=POST-services-1/429",
    "survivors-hang:n=2:refuse=DELETE-pods-1/409",
    "survivors-hang:n=2:lose=PUT-experiments.Pending0-1/reset",
    "survivors-hang:n=2:lose=POST-pods-4/504",
    "survivors-hang:n=2:delay=LIST-pods-2/1.5",
    "survivors-hang:n=2:stall=pods-4",
    "survivors-hang:n=2:expire=experiments-4",
    "survivors-hang:n=2:cut=pods-9",
    "survivors-hang:n=2:hold=pods-6/2",
]


@pytest.mark.cluster
@pytest.mark.timeout(180)
async def test_real_processes_end_well_behind_a_faulty_proxy(tmp_path: Path) -> None:
    async with environment(tmp_path) as here:
        session = Session(here, jobs=len(FEW))
        await session.all([parse(line) for line in FEW])
    assert session.wrong == []
    assert session.plans >= len(FEW)


@pytest.mark.parametrize("line", FEW)
def test_a_plan_and_its_line_convert_into_each_other(line: str) -> None:
    assert str(parse(line)) == line


@pytest.mark.parametrize(
    "line",
    ["nothing:n=2", "survivors-hang:crash-after=3", "survivors-hang:stall=leases-1", "survivors-hang:burn=PUT-pods-1"],
)
def test_a_line_that_is_not_a_plan_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match="is not a"):
        parse(line)


def test_the_catalogue_contains_every_kind_of_fault() -> None:
    requests = ["WATCH-pods-1", "LIST-pods-1", "POST-pods-1", "PUT-experiments.Pending0-1", "POST-events-1"]
    plans = list(catalogue(Plan("survivors-hang"), requests, Counter(pods=9, experiments=2)))
    assert {plan.kind for plan in plans} == {*REQUEST_KINDS, *STREAM_KINDS}
    assert len(set(map(str, plans))) == len(plans)
