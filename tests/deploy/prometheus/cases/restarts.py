"""Restarts and the deadline."""

from tests.deploy.prometheus.case import ONE, Case, reason

_LABELS = {"namespace": "vision", "experiment": "llama"}
_RESTARTS = f"muster_experiment_gang_restarts_total{{{ONE}}}"
_DISRUPTIONS = f"muster_experiment_disruptions_total{{{ONE}}}"


def _for(reason: str) -> str:
    """The series of restarts for that reason; absent before the first restart of the experiment."""
    return f'muster_experiment_restarts_total{{{ONE},reason="{reason}"}}'


def _verdict(verdict: str, enforced: str, instance: str = "a") -> str:
    """The series of verdicts over restarts; at zero from the start of a musterd."""
    labels = f'job="musterd",instance="{instance}",verdict="{verdict}",enforced="{enforced}"'
    return f"muster_restart_verdicts_total{{{labels}}}"


_AGAIN, _RENEWED = "SameFailureAgain", "BudgetRenewed"
_ENDED = "Experiments that ended within 30m because their gang failed in the same way again: "
_LEFT = f'muster_experiment_clock_remaining_seconds{{{ONE},clock="total"}}'
_LIMIT = f'muster_experiment_clock_limit_seconds{{{ONE},clock="total"}}'

RESTARTS = (
    Case(
        "MusterRestartStorm",
        "the program fails at once in every epoch: three restarts in two minutes",
        {_RESTARTS: "0x11 1x11 2x11 3x1000", _for("Error"): "_x12 1x11 2x11 3x1000"},
        fires_after=120,
        labels=_LABELS,
        summary="vision/llama: 3 restarts after failures in 30m.",
    ),
    Case(
        "MusterRestartStorm",
        "as many disruptions of members that run again alone as failures of the gang",
        {
            _RESTARTS: "0x11 1x11 2x11 3x1000",
            _DISRUPTIONS: "0x11 1x11 2x11 3x1000",
            _for("Error"): "_x12 1x11 2x11 3x1000",
            _for("PreemptionByScheduler"): "_x12 1x11 2x11 3x1000",
        },
        fires_after=120,
        labels=_LABELS,
        summary="vision/llama: 3 restarts after failures in 30m.",
    ),
    Case(
        "MusterRestartStorm",
        "three disruptions by the platform and one failure",
        {
            _RESTARTS: "0x11 1x11 2x11 3x11 4x1000",
            _DISRUPTIONS: "0x11 1x11 2x11 3x1000",
            _for("NodeLost"): "_x12 1x11 2x11 3x1000",
            _for("Error"): "_x12 0x35 1x1000",
        },
    ),
    Case(
        "MusterRestartStorm",
        "a person asks for three restarts in two minutes",
        {_RESTARTS: "0x11 1x11 2x11 3x1000", _for("Requested"): "_x12 1x11 2x11 3x1000"},
    ),
    Case(
        "MusterRestartStorm",
        "one failure every 20 minutes",
        {_RESTARTS: "0x239 1x239 2x239 3x1000", _for("Error"): "0x239 1x239 2x239 3x1000"},
        watched=4200,
    ),
    Case(
        "MusterRestartStorm",
        "another musterd leads, and reports the restarts of the last days",
        {
            f'{_RESTARTS[:-1]},instance="a"}}': "7x20 stale",
            f'{_RESTARTS[:-1]},instance="b"}}': "_x22 7x1000",
            f'{_for("Error")[:-1]},instance="a"}}': "7x20 stale",
            f'{_for("Error")[:-1]},instance="b"}}': "_x22 7x1000",
        },
        without=("muster_experiment_gang_restarts_total",),
    ),
    Case(
        "MusterSameFailureAgain",
        "the gang fails twice at one line, and is restarted",
        {**reason(_AGAIN), _verdict(_AGAIN, "false"): "0x11 1x1000"},
        fires_after=0,
        labels={**_LABELS, "reason": _AGAIN},
        summary="vision/llama: the gang fails in the same way again and gets no further (SameFailureAgain).",
    ),
    Case(
        "MusterSameFailureAgain",
        "it is restarted, and waits for a node meanwhile",
        reason("Unschedulable", "0x11 1x23 0x1000"),
    ),
    Case("MusterSameFailureAgain", "it has advanced since", reason(_AGAIN, "0x1000")),
    Case(
        "MusterSameFailureEnded",
        "a second one ends a minute after the first",
        {_verdict(_AGAIN, "true"): "0x11 1x11 2x1000"},
        fires_after=60,
        at_once=False,
        labels={"verdict": _AGAIN},
        summary=f"{_ENDED}2.",
    ),
    Case(
        "MusterSameFailureEnded",
        "the spec of one experiment asks for its end",
        {_verdict(_AGAIN, "true"): "0x11 1x1000", _verdict(_AGAIN, "false"): "0x1000"},
        fires_after=0,
        labels={"verdict": _AGAIN},
        summary=f"{_ENDED}1.",
    ),
    Case(
        "MusterSameFailureEnded",
        "verdicts are only said, and a budget is renewed",
        {
            _verdict(_AGAIN, "true"): "0x1000",
            _verdict(_AGAIN, "false"): "0+1x1000",
            _verdict(_RENEWED, "true"): "0+1x1000",
        },
    ),
    Case(
        "MusterSameFailureEnded",
        "another musterd leads, after one that ended experiments hours ago",
        {_verdict(_AGAIN, "true"): "4x11 stale", _verdict(_AGAIN, "true", "b"): "_x12 0x1000"},
    ),
    Case(
        "MusterDeadlineNear",
        "half an hour of a day is left",
        {_LEFT: "1861-5x1000", _LIMIT: "86400x1000"},
        fires_after=0,
        at_once=False,
        labels=_LABELS,
        summary="vision/llama: 30m 1s are left until its deadline.",
    ),
    Case(
        "MusterDeadlineNear",
        "the last hour of a day begins",
        {_LEFT: "3659-5x1000", _LIMIT: "86400x1000"},
        fires_after=60,
        labels=_LABELS,
        summary="vision/llama: 58m 59s are left until its deadline.",
    ),
    Case(
        "MusterDeadlineNear",
        "half an hour of an hour is left",
        {_LEFT: "1800-0x1000", _LIMIT: "3600x1000"},
    ),
    Case(
        "MusterDeadlineNear",
        "a run of five minutes ends in time",
        {_LEFT: "300-5x55 stale", _LIMIT: "300x55 stale"},
    ),
    Case(
        "MusterDeadlineNear",
        "another clock runs out",
        {
            f'muster_experiment_clock_remaining_seconds{{{ONE},clock="starting"}}': "600-5x120",
            f'muster_experiment_clock_limit_seconds{{{ONE},clock="starting"}}': "600x120",
        },
    ),
)
