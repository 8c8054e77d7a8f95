"""What is read of the status that a program reports by Kubeflow's protocol."""

from typing import Any

import msgspec
import pytest

from muster.kinds.kubeflow.trainer_status import MAX_METRICS, MAX_TEXT, TrainerStatus, own_report, report_in
from muster.state.view.progress import LONGEST_INTERVAL, StepReport
from muster.state.view.sent_reports import SAME_STEP


def status(percent: Any = 12, /, **metrics: Any) -> dict[str, Any]:
    listed = [{"name": name, "value": value} for name, value in metrics.items()]
    return {"progressPercentage": percent, "metrics": listed, "lastUpdatedTime": "2026-11-25T20:00:00+00:00"}


def read(percent: Any = 12, rank: int = 0, /, **metrics: Any) -> StepReport | None:
    return report_in(msgspec.convert(status(percent, **metrics), TrainerStatus), rank)


def test_what_transformers_says_in_a_step() -> None:
    seen = read(current_step="1840", total_steps="9000", loss="2.31", current_epoch="0.2")
    assert seen == StepReport(0, 1840, 0, scalars=(("loss", 2.31), ("current_epoch", 0.2)))


def test_what_transformers_says_at_the_begin_and_at_the_end() -> None:
    assert read(0, 3, total_steps="9000") == StepReport(3, 0, 0)
    end = read(100, loss="1.0")
    assert end == StepReport(0, SAME_STEP, 0, scalars=(("loss", 1.0),), pause=LONGEST_INTERVAL)


@pytest.mark.parametrize(
    "step",
    [
        *("-1", "1.5", "nan", "inf", "-inf", "1e400", "9007199254740993", "", "x" * 10, "1" * 65, None, 7, [], True),
        *("1_000", "\u0661\u0662", "\uff11\uff12", " 12", "12\n", "0x10", "\u00b2"),
    ],
)
def test_a_step_that_is_no_step_is_no_report(step: Any) -> None:
    assert read(current_step=step) is None


@pytest.mark.parametrize("number", ["1_000", "\u0661\u0662", " 12", "12\n", "infinity"])
def test_a_metric_that_only_python_reads_as_a_number_is_left_out(number: str) -> None:
    seen = read(current_step="7", loss=number, other="2")
    assert seen == StepReport(0, 7, 0, scalars=(("other", 2.0),))


def test_a_percentage_alone_is_no_step() -> None:
    assert read(loss="1.0") is None


def test_of_the_metrics_eight_are_kept_and_those_without_a_name_or_with_a_long_one_are_left_out() -> None:
    seen = read(
        current_step="1", **{"": "1", "n" * (MAX_TEXT + 1): "1"}, **{f"m{number}": "1" for number in range(200)}
    )
    assert seen is not None
    assert [name for name, _ in seen.scalars] == [f"m{number}" for number in range(8)]


def test_names_are_made_printable() -> None:
    seen = read(current_step="1", **{"\x1b[31m": "1"})
    assert seen is not None
    assert "\x1b" not in seen.scalars[0][0]


def test_the_status_of_a_trainjob() -> None:
    kept = {"trainerStatus": status(40, current_step="12")}
    assert own_report(kept) == (StepReport(0, 12, 0), "2026-11-25T20:00:00+00:00")


@pytest.mark.parametrize(
    "kept",
    [
        {},
        None,
        [],
        {"trainerStatus": None},
        {"trainerStatus": 7},
        {"trainerStatus": {"metrics": "x"}},
        {"trainerStatus": status(101, current_step="12")},
        {"trainerStatus": status(**{f"m{number}": "1" for number in range(MAX_METRICS + 1)})},
    ],
)
def test_a_status_of_a_trainjob_without_one_to_read_is_no_report(kept: object) -> None:
    assert own_report(kept) == (None, "")
