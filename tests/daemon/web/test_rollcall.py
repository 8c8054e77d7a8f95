"""The small pieces of a roll-call document."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.values.rank_ranges import to_ranges
from muster.daemon.web.page.html import Html, element, join
from muster.daemon.web.rollcall import detail, stamp, summary
from muster.metrics.collector import Subject
from muster.state.record import Phase, RollCall
from tests.builders import NOW, plan, pod, record, view


@pytest.mark.parametrize(("numbers", "text"), [((), ""), ((4,), "4"), ((0, 1, 2, 3, 7), "0-3,7"), ((1, 3, 4), "1,3-4")])
def test_ranks_are_written_short(numbers: tuple[int, ...], text: str) -> None:
    assert to_ranges(numbers) == text


@given(st.sets(st.integers(0, 200)))
def test_nothing_is_lost_in_the_short_form(numbers: set[int]) -> None:
    parts = [part.split("-") for part in to_ranges(sorted(numbers)).split(",") if part]
    assert [n for first, *last in parts for n in range(int(first), int(last[0] if last else first) + 1)] == sorted(
        numbers
    )


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), 1e300, -1e300])
def test_a_time_no_calendar_has_is_left_out(odd: float) -> None:
    assert stamp(odd) == ""


def test_after_a_restart_of_the_daemon_the_record_names_the_missing() -> None:
    told = detail(Subject(plan(), record(phase=Phase.ASSEMBLING, roll=RollCall(4, 2, (1, 3))), view()), {}, NOW)
    assert [missed.rank for missed in told.missing_ranks] == [1, 3]
    assert told.missing_ranks[0].pod == ""
    assert "no pod yet" in told.missing_ranks[0].why
    assert told.coordinator is None


@pytest.mark.parametrize("phase", [Phase.SUSPENDED, Phase.SUCCEEDED])
def test_who_does_not_run_misses_nobody(phase: Phase) -> None:
    told = summary(Subject(plan(), record(phase=phase), view()), {}, NOW)
    assert (told.arrived, told.missing) == (None, None)


def test_text_is_escaped_once_and_elements_are_not() -> None:
    inner = element("b", "<&>", title='"')
    assert inner == '<b title="&quot;">&lt;&amp;&gt;</b>'
    assert element("p", inner, "<") == f"<p>{inner}&lt;</p>"
    assert isinstance(join((inner,)), Html)


def test_the_findings_name_members_cause_evidence_and_next_step() -> None:
    pods = [pod(0), pod(1), pod(2, node="n7", cut_off=True, ready=False), pod(3, node="n7", cut_off=True, ready=False)]
    told = detail(Subject(plan(), record(phase=Phase.RUNNING, scheduled_at=NOW), view(*pods)), {}, NOW)
    found = next(each for each in told.findings if each.cause == "NodeNotReady")
    assert (found.ranks, found.count, found.node, found.group) == ("2-3", 2, "n7", "worker")
    assert found.sentence == "ranks 2-3: node n7 is not ready"
    assert "kubectl describe node" in found.next_step
    assert pods[2].name in found.evidence
