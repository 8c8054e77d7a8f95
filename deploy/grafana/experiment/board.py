"""One experiment: what it waits for, who is missing, and what it has been through."""

from deploy.grafana.alerts import alerts
from deploy.grafana.board import Board, Row, variable
from deploy.grafana.experiment.course import COURSE
from deploy.grafana.experiment.steps import STEPS
from deploy.grafana.marks import RESTARTS
from deploy.grafana.palette import COORDINATOR_STATES, PHASES
from deploy.grafana.panels import series, single, timeline
from deploy.grafana.parts import (
    BAD_FROM_ONE,
    GOODPUT,
    GREEN,
    GREY,
    ORANGE,
    RED,
    TIME_LEFT,
    YELLOW,
    Head,
    Link,
    Query,
    page,
    runbook,
)
from deploy.grafana.promql import ONE, has_run

_ROLL_CALL = Link("Roll call of this experiment", "${musterd}/experiments/${namespace}/${experiment}")
_REASONS = page("guide.md#8-every-reason-and-what-to-do", "Every reason, and what to do")

_PHASE_CODES = {phase: place for place, phase in enumerate(PHASES, 1)}
_COORDINATOR_CODES = {state: place for place, state in enumerate(COORDINATOR_STATES, 11)}
_STUCK_CODE = 20
_STATES = {
    0: ("-", "transparent"),
    **{code: (phase, PHASES[phase]) for phase, code in _PHASE_CODES.items()},
    **{code: (state, COORDINATOR_STATES[state]) for state, code in _COORDINATOR_CODES.items()},
    _STUCK_CODE: ("stuck", RED),
}


def _encoded(metric: str, label: str, codes: dict[str, int]) -> str:
    """A state set as one series, whose value is the code of the state that holds."""
    terms = (f'{code} * max({metric}{{{ONE},{label}="{state}"}})' for state, code in codes.items())
    return " + ".join(terms)


NOW = Row(
    "Now",
    (
        single(
            Head(
                number=1,
                title="Phase",
                description="The phase that the experiment is in.",
                width=4,
                links=(_ROLL_CALL, page("guide.md#5-phases", "Phases")),
            ),
            [Query(f"max by (phase) (muster_experiment_phase{{{ONE}}} == 1)", "{{phase}}")],
            "none",
            name_colors=PHASES,
            empty="unknown",
        ),
        single(
            Head(
                number=2,
                title="Stuck because of",
                description="The reason of the condition Stuck. Empty while the experiment is not stuck.",
                width=5,
                links=(_REASONS, runbook("MusterExperimentStuck"), runbook("MusterCoordinatorStuck")),
            ),
            [Query(f"max by (reason) (muster_experiment_stuck_reason{{{ONE}}} == 1)", "{{reason}}")],
            "none",
            ((None, GREEN), (0, RED)),
            name_colors={},
            empty="not stuck",
        ),
        single(
            Head(
                number=3,
                title="Stuck for",
                description="How long the condition Stuck has held.",
                width=3,
                links=(_REASONS,),
            ),
            [Query(f"time() - max(muster_experiment_stuck_since_timestamp_seconds{{{ONE}}})")],
            "dtdurations",
            ((None, GREEN), (0, YELLOW), (300, ORANGE), (1800, RED)),
            empty="not stuck",
        ),
        single(
            Head(
                number=4,
                title="Ranks missing",
                description="Ranks that are expected and have not arrived. The roll call names them.",
                width=3,
                links=(_ROLL_CALL, runbook("MusterRankMissing")),
            ),
            [Query(f"max(muster_experiment_ranks_missing{{{ONE}}})")],
            "short",
            BAD_FROM_ONE,
        ),
        single(
            Head(
                number=5,
                title="Next deadline in",
                description="Time until the nearest of the clocks that run. The table of clocks says which one it is.",
                width=3,
                links=(runbook("MusterDeadlineNear"), page("guide.md#7-clocks", "Clocks")),
            ),
            [Query(f"min(muster_experiment_clock_remaining_seconds{{{ONE}}})")],
            "dtdurations",
            TIME_LEFT,
            empty="no clock runs",
        ),
        single(
            Head(
                number=6,
                title="Gang restarts",
                description="Restarts of the whole gang since the start, disruptions included.",
                width=3,
                links=(runbook("MusterRestartStorm"), runbook("MusterDisruptionLoop")),
            ),
            [Query(f"max(muster_experiment_gang_restarts_total{{{ONE}}})")],
            "short",
            ((None, GREEN), (1, YELLOW), (5, ORANGE)),
        ),
        single(
            Head(
                number=7,
                title="Goodput so far",
                description="Time in which all ranks were there and running, and it was not Stuck, divided by the time "
                "since the start (suspended time left out). Empty before the experiment has run.",
                width=3,
            ),
            [Query(f"{has_run(ONE)} / max(muster_experiment_wall_seconds_total{{{ONE}}})")],
            "percentunit",
            GOODPUT,
            decimals=0,
            empty="not yet",
        ),
        timeline(
            Head(
                number=10,
                title="Phase, coordinator and stuck reasons over time",
                description="The phase; the state of the coordinator as the last probe saw it; and a row for each "
                "reason for which the experiment has been stuck.",
                width=24,
                links=(_REASONS, page("guide.md#5-phases", "Phases")),
            ),
            [
                Query(_encoded("muster_experiment_phase", "phase", _PHASE_CODES), "phase"),
                Query(_encoded("muster_experiment_coordinator_state", "state", _COORDINATOR_CODES), "coordinator"),
                Query(
                    f"{_STUCK_CODE} * max by (reason) (muster_experiment_stuck_reason{{{ONE}}})", "stuck: {{reason}}"
                ),
            ],
            _STATES,
        ),
        alerts(11, 24, ONE, labels=("reason",)),
    ),
)

ROLL = Row(
    "The roll",
    (
        series(
            Head(
                number=20,
                title="Ranks expected, arrived and missing",
                description="The roll of the current epoch. Arrived falls to zero when the gang restarts.",
                width=8,
                links=(_ROLL_CALL,),
            ),
            [
                Query(f"max(muster_experiment_ranks_{kind}{{{ONE}}})", kind)
                for kind in ("expected", "arrived", "missing")
            ],
            "short",
            stepped=True,
            colors={"expected": GREY, "arrived": GREEN, "missing": RED},
        ),
        series(
            Head(
                number=21,
                title="Missing ranks by cause",
                description="Why ranks have not arrived. NotArrived: the program runs and has not registered with the "
                "coordinator.",
                width=8,
                links=(_ROLL_CALL, runbook("MusterRankMissing")),
            ),
            [Query(f"max by (cause) (muster_experiment_ranks_missing_by_cause{{{ONE}}}) > 0", "{{cause}}")],
            "short",
            stacked=True,
            stepped=True,
        ),
        series(
            Head(
                number=22,
                title="Ready pods",
                description="Pods of the current epoch that are ready. Ready pods without arrived ranks: the programs "
                "run and do not call the coordinator.",
                width=8,
            ),
            [
                Query(f"max(muster_experiment_members_ready{{{ONE}}})", "ready"),
                Query(f"max(muster_experiment_ranks_expected{{{ONE}}})", "expected"),
            ],
            "short",
            stepped=True,
            colors={"expected": GREY, "ready": GREEN},
        ),
    ),
)


EXPERIMENT = Board(
    name="muster-experiment",
    title="Muster / Experiment",
    description="One experiment: what it waits for, which ranks are missing and why, and what it has been through.",
    variables=(
        variable("namespace", "Namespace", "label_values(muster_experiment_info, namespace)", many=False),
        variable(
            "experiment",
            "Experiment",
            'label_values(muster_experiment_info{namespace="$namespace"}, experiment)',
            many=False,
        ),
    ),
    rows=(NOW, ROLL, STEPS, COURSE),
    links=(_ROLL_CALL, page("dashboards.md", "About these dashboards"), page("runbooks", "Runbooks")),
    marks=(RESTARTS,),
    since="now-3h",
)
