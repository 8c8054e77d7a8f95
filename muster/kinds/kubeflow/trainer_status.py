"""The status that a training program reports by Kubeflow's protocol, to musterd or to Kubeflow's Trainer.

Everything in it is a claim of the program. Invalid parts are left out, and a status without a step that can be read
shows no progress.
"""

import re
from collections.abc import Iterable
from math import isfinite
from typing import Annotated, Any

import msgspec

from muster.api.progress import MAX_SCALAR_NAME, MAX_SCALARS, MAX_STEP, STEP_METRICS, TOTAL_METRIC
from muster.api.values.printable import printable
from muster.state.view.progress import LONGEST_INTERVAL, StepReport
from muster.state.view.sent_reports import SAME_STEP

MAX_METRICS = 256
"""Limit of a status, as in Kubeflow's kind TrainJob."""
MAX_TEXT = 64
"""Characters of a name and of a value, as there."""
DONE = 100
"""Percent. transformers reports it when training ends, and nothing after it, while the program saves its model."""


class _Metric(msgspec.Struct):
    name: str = ""
    value: Any = None


class TrainerStatus(msgspec.Struct):
    """``trainerStatus`` of a TrainJob, and of a body."""

    progressPercentage: Annotated[float, msgspec.Meta(ge=0, le=DONE)] | None = None  # noqa: N815 - the wire's names
    metrics: Annotated[list[_Metric], msgspec.Meta(max_length=MAX_METRICS)] | None = None
    lastUpdatedTime: str = ""  # noqa: N815


def own_report(status: object) -> tuple[StepReport | None, str]:
    """Return the report in the status of a TrainJob and its time in the program's words; None if none can be read."""
    found = status.get("trainerStatus") if isinstance(status, dict) else None
    try:
        written = msgspec.convert(found, TrainerStatus) if found is not None else None
    except msgspec.ValidationError:
        written = None
    return (report_in(written, 0), written.lastUpdatedTime[:MAX_TEXT]) if written is not None else (None, "")


_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,64}(?:\.[0-9]{0,64})?|\.[0-9]{1,64})(?:[eE][+-]?[0-9]{1,3})?\Z")
"""A number as JSON, C and Go write it. Python's ``float`` also reads ``1_000`` and digits of other scripts."""


def report_in(status: TrainerStatus, rank: int) -> StepReport | None:
    """Return the report of that rank. One with ``calls`` 0 is to be counted by who gets it."""
    numbers = dict(_numbers(status.metrics or ()))
    step = next((numbers[name] for name in STEP_METRICS if numbers.get(name, SAME_STEP) != SAME_STEP), None)
    done = status.progressPercentage == DONE
    if step is None and (done or status.progressPercentage == 0):
        step = float(SAME_STEP if done else 0)
    if step is None or not step.is_integer() or not SAME_STEP <= step <= MAX_STEP:
        return None
    scalars = tuple((name, number) for name, number in numbers.items() if name not in (*STEP_METRICS, TOTAL_METRIC))
    return StepReport(rank, int(step), 0, scalars=scalars[:MAX_SCALARS], pause=LONGEST_INTERVAL if done else 0.0)


def _numbers(metrics: Iterable[_Metric]) -> Iterable[tuple[str, float]]:
    for metric in metrics:
        text = metric.value
        if not metric.name or len(metric.name) > MAX_TEXT or not isinstance(text, str) or len(text) > MAX_TEXT:
            continue
        if _NUMBER.match(text) and isfinite(number := float(text)):
            yield printable(metric.name, MAX_SCALAR_NAME), number
