"""Scrapes that fail or are a minute apart, leaders that change, runs that end or are made anew: what alerts do then."""

from tests.deploy.prometheus.case import ONE, Case, reason

_LABELS = {"namespace": "vision", "experiment": "llama"}
_MISSING = "vision/llama: the roll is not complete: reason RanksMissing, the others wait."
_SILENT = "vision/llama: the coordinator stopped responding (CoordinatorUnreachable)."
_REFUSED = f'muster_experiment_coordinator_state{{{ONE},state="refused"}}'
_REASON = f'muster_experiment_stuck_reason{{{ONE},reason="%s",instance="%s"}}'
_PHASE = f'muster_experiment_phase{{{ONE},phase="%s"}}'
_WALL = f"muster_experiment_wall_seconds_total{{{ONE}}}"
_RESTARTS = f"muster_experiment_gang_restarts_total{{{ONE}}}"
_ERRORS = f'muster_experiment_restarts_total{{{ONE},reason="Error"}}'
_NO_COUNT = ("muster_experiment_ranks_missing",)

SCRAPES = (
    Case(
        "MusterCoordinatorStuck",
        "of two scrapes of the leader one succeeds, for five minutes",
        reason("CoordinatorUnreachable", "_x12 " + "1 _ " * 100),
        fires_after=300,
        at_once=False,
        labels={**_LABELS, "reason": "CoordinatorUnreachable"},
        summary=_SILENT,
    ),
    Case(
        "MusterCoordinatorStuck",
        "one scrape finds the port closed, and then the run is deleted",
        {**reason("CoordinatorUnreachable", "0x11 1 stale"), _REFUSED: "0x11 1 stale"},
    ),
    Case(
        "MusterRankMissing",
        "scrapes are a minute apart",
        reason("RanksMissing", "0 _x11 " + "1 _x10 " * 60),
        fires_after=120,
        at_once=False,
        labels=_LABELS,
        summary=_MISSING,
        without=_NO_COUNT,
    ),
    Case(
        "MusterRankMissing",
        "scrapes are a minute apart, and a rank is missing in one of them",
        reason("RanksMissing", "0 _x11 1 _x10 " + "0 _x10 " * 60),
    ),
    Case(
        "MusterRankMissing",
        "another musterd leads after 20 s in which none did: the time of the alert goes on",
        {_REASON % ("RanksMissing", "a"): "0x11 1x11 stale", _REASON % ("RanksMissing", "b"): "_x28 1x1000"},
        fires_after=120,
        labels=_LABELS,
        summary=_MISSING,
        without=_NO_COUNT,
    ),
    Case("MusterUnschedulable", "the run is deleted after four minutes", reason("Unschedulable", "0x11 1x47 stale")),
    Case(
        "MusterAssemblyOverdue",
        "a run of the same name is deleted after a minute and made anew 13 minutes later",
        {
            _PHASE % "Assembling": "1x11 stale _x155 1x170",
            _PHASE % "Running": "0x11 stale _x155 0x170",
            _WALL: "0+5x11 stale _x155 0+5x170",
        },
    ),
    Case(
        "MusterRestartStorm",
        "a young run has failed twice in its first two minutes",
        {_RESTARTS: "_x11 0x7 1x11 2x1000", _ERRORS: "_x19 1x11 2x1000"},
    ),
    Case(
        "MusterRestartStorm",
        "a run that had failed seven times is made anew under its name",
        {_RESTARTS: "7x60 stale _x5 0x1000", _ERRORS: "7x60 stale"},
    ),
)
