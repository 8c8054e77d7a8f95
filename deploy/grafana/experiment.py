"""One experiment: what it waits for, who is missing, and what it has been through."""

from deploy.grafana.links import ABOUT, ABOUT_CLOCKS, ABOUT_PHASES, REASONS, ROLL_CALL, page
from deploy.grafana.marks import LEADERS, RESTARTS, VERSIONS
from deploy.grafana.palette import (
    BAD_FROM_ONE,
    BLUE,
    COORDINATOR_STATES,
    CYAN,
    GOODPUT,
    GREEN,
    GREY,
    ODD_FROM_ONE,
    ORANGE,
    PHASES,
    RED,
    TIME_LEFT,
    YELLOW,
)
from deploy.grafana.promql import ONE, SPAN, goodput, has_run, owned
from deploy.grafana.row import Board, Choice, Column, Graph, Stat, Table, Timeline
from deploy.grafana.shared import alerts
from deploy.prometheus.recordings import FAILURES

_PHASE_CODES = {phase: place for place, phase in enumerate(PHASES, 1)}
_COORDINATOR_CODES = {state: place for place, state in enumerate(COORDINATOR_STATES, 11)}
_STUCK_CODE = 20
_STATES = {
    0: ("-", "transparent"),
    **{code: (phase, PHASES[phase]) for phase, code in _PHASE_CODES.items()},
    **{code: (state, COORDINATOR_STATES[state]) for state, code in _COORDINATOR_CODES.items()},
    _STUCK_CODE: ("stuck", RED),
}

_STUCK = f"max by (reason) (muster_experiment_stuck_reason{{{ONE}}}"
_FAILURES = f"max by (reason) (muster_experiment_restarts_total{{{ONE},{FAILURES}}})"
_LEFT = f"max by (clock) (muster_experiment_clock_remaining_seconds{{{ONE}}})"
_LIMIT = f"max by (clock) (muster_experiment_clock_limit_seconds{{{ONE}}})"

_NO_STEPS = "No steps reported in this range."
_WITHOUT = "Empty unless the program reports steps (muster.jax.report)."


def _max(metric: str) -> str:
    """A metric of the experiment. Two musterds may export it for one scrape after a change of leader."""
    return f"max(muster_experiment_{metric}{{{ONE}}})"


def _encoded(metric: str, label: str, codes: dict[str, int]) -> str:
    """A state set as one series, whose value is the code of the state that holds.

    A finished experiment has no zeros, so the terms are not added up.
    """
    terms = (f'{code} * max({metric}{{{ONE},{label}="{state}"}} == 1)' for state, code in codes.items())
    return " or ".join(terms)


def _of_each_clock(expr: str) -> str:
    """A value of each running clock, with what follows as the label ``action``."""
    follows = f"max by (clock, action) (muster_experiment_clock_action{{{ONE}}} == 1)"
    return f"{follows} * on (clock) group_left () ({expr})"


NOW = (
    Stat(
        (1, 4, "Phase"),
        "The phase that the experiment is in.",
        {"{{phase}}": f"max by (phase) (muster_experiment_phase{{{ONE}}} == 1)"},
        "none",
        name_colors=PHASES,
        empty="unknown",
        links=(ROLL_CALL, ABOUT_PHASES),
    ),
    Stat(
        (2, 5, "Stuck because of"),
        "The reason of the condition Stuck. Empty while the experiment is not stuck.",
        {"{{reason}}": f"{_STUCK} == 1)"},
        "none",
        ((None, GREEN), (0, RED)),
        name_colors={},
        empty="not stuck",
        links=(REASONS, "MusterExperimentStuck", "MusterCoordinatorStuck"),
    ),
    Stat(
        (3, 3, "Stuck for"),
        "How long the condition Stuck has held.",
        f"time() - {_max('stuck_since_timestamp_seconds')}",
        "dtdurations",
        ((None, GREEN), (0, YELLOW), (300, ORANGE), (1800, RED)),
        empty="not stuck",
        links=(REASONS,),
    ),
    Stat(
        (4, 3, "Ranks missing"),
        "Ranks that are expected and have not arrived. The roll call names them.",
        _max("ranks_missing"),
        steps=BAD_FROM_ONE,
        links=(ROLL_CALL, "MusterRankMissing"),
    ),
    Stat(
        (5, 3, "Next deadline in"),
        "Time until the nearest of the clocks that run. The table of clocks shows which one it is.",
        f"min(muster_experiment_clock_remaining_seconds{{{ONE}}})",
        "dtdurations",
        TIME_LEFT,
        empty="no clock runs",
        links=("MusterDeadlineNear", ABOUT_CLOCKS),
    ),
    Stat(
        (6, 3, "Gang restarts"),
        "Restarts of the whole gang since the start, disruptions included.",
        _max("gang_restarts_total"),
        steps=(*ODD_FROM_ONE, (5, ORANGE)),
        links=("MusterRestartStorm", "MusterDisruptionLoop"),
    ),
    Stat(
        (7, 3, "Goodput so far"),
        "Time in which all ranks had arrived and ran, and it was not Stuck, divided by the time since the start "
        "(suspended time left out). Empty before the experiment has run.",
        f"({has_run(ONE)} - {_max('taken_back_seconds_total')}) / {_max('wall_seconds_total')}",
        "percentunit",
        GOODPUT,
        decimals=0,
        empty="not yet",
    ),
    Stat(
        (8, 12, "Accelerators held"),
        "What its pods hold of each extended resource, from the moment in which they have a node until they end. They "
        "are idle while it is stuck.",
        {"{{resource}}": f"max by (resource) (muster_experiment_accelerators{{{ONE}}})"},
        empty="none",
    ),
    Stat(
        (9, 12, "Part of an incident"),
        "1 while an incident of several runs explains why it is stuck. The alert of the incident then replaces those "
        "of the experiment, and the roll call names it.",
        _max("explained"),
        steps=ODD_FROM_ONE,
        empty="no",
        links=(ROLL_CALL, "MusterIncident", "MusterRunExplained"),
    ),
    Table(
        (12, 24, "Whose it is"),
        "The labels of its owners: a column for each that the setting ownerLabels of musterd names and it has.",
        (Column("1", owned(ONE)),),
        labels=("namespace", "experiment", "operator", "engine"),
        empty="not exported",
        sort="experiment",
        height=3,
        owners=True,
        links=(page("platform.md", "Labels of owners"),),
    ),
    Timeline(
        (10, 24, "Phase, coordinator and stuck reasons over time"),
        "The phase; the state of the coordinator as the last probe saw it; and a row for each reason for which the "
        "experiment has been stuck.",
        {
            "phase": _encoded("muster_experiment_phase", "phase", _PHASE_CODES),
            "coordinator": _encoded("muster_experiment_coordinator_state", "state", _COORDINATOR_CODES),
            "stuck: {{reason}}": f"{_STUCK_CODE} * {_STUCK})",
        },
        _STATES,
        links=(REASONS, ABOUT_PHASES),
    ),
    alerts(11, 24, ONE, labels=("reason",), links={}),
)

ROLL = (
    Graph(
        (20, 8, "Ranks expected, arrived and missing"),
        "The roll of the current epoch. Arrived falls to zero when the gang restarts.",
        {kind: _max(f"ranks_{kind}") for kind in ("expected", "arrived", "missing")},
        stepped=True,
        colors={"expected": GREY, "arrived": GREEN, "missing": RED},
        links=(ROLL_CALL,),
    ),
    Graph(
        (21, 8, "Missing ranks by cause"),
        "Why ranks have not arrived. NotArrived: the program runs and has not registered with the coordinator.",
        {"{{cause}}": f"max by (cause) (muster_experiment_ranks_missing_by_cause{{{ONE}}}) > 0"},
        stacked=True,
        stepped=True,
        links=(ROLL_CALL, "MusterRankMissing"),
    ),
    Graph(
        (22, 8, "Ready pods"),
        "Pods of the current epoch that are ready. Ready pods without arrived ranks: the programs run and do not call "
        "the coordinator.",
        {"ready": _max("members_ready"), "expected": _max("ranks_expected")},
        stepped=True,
        colors={"expected": GREY, "ready": GREEN},
    ),
)

STEPS = (
    Graph(
        (50, 6, "Step"),
        f"The step that half of the ranks have reached. {_WITHOUT}",
        {"step": _max("step")},
        empty=_NO_STEPS,
        colors={"step": BLUE},
    ),
    Graph(
        (51, 6, "Steps per second"),
        f"Of the median rank, over the last half minute. {_WITHOUT}",
        {"steps per second": _max("steps_per_second")},
        "ops",
        empty=_NO_STEPS,
    ),
    Graph(
        (52, 6, "Stragglers"),
        f"Ranks that are behind the others. The roll call names them. {_WITHOUT}",
        {"ranks": _max("straggler_ranks")},
        empty=_NO_STEPS,
        stepped=True,
        colors={"ranks": ORANGE},
    ),
    Graph(
        (53, 6, "Since the last report"),
        f"Time since any rank reported, and the time after which the gang is called hung. {_WITHOUT}",
        {
            "since the last report": f"time() - {_max('last_step_timestamp_seconds')}",
            "hung after": _max("hung_after_seconds"),
        },
        "s",
        empty=_NO_STEPS,
        colors={"hung after": RED},
        links=("MusterHung", REASONS),
    ),
)

COURSE = (
    Graph(
        (30, 6, "Restarts: failures and disruptions"),
        "Of the gang, of a job or of a member alone. Failures: a container that failed, a clock with action Restart. "
        "Disruptions: preemption, eviction, node loss, deleted pods. A restart that a person asked for is neither.",
        {
            "failures": f"sum({_FAILURES}) or {_max('gang_restarts_total')} * 0",
            "disruptions": _max("disruptions_total"),
        },
        stacked=True,
        stepped=True,
        colors={"failures": RED, "disruptions": ORANGE},
        links=("MusterRestartStorm", "MusterDisruptionLoop"),
    ),
    Graph(
        (34, 6, "Restarts by reason"),
        "The reason of the cause of each restart, over the life of the experiment: the first container that failed, "
        "the disruption, or the clock. Other is a reason that is rare. Containers that the kubelet has started again "
        "in their pods are counted beside them.",
        {
            "{{reason}}": f"max by (reason) (muster_experiment_restarts_total{{{ONE}}}) > 0",
            "container in its pod": _max("container_restarts_total"),
        },
        stacked=True,
        stepped=True,
        links=("MusterRestartStorm", page("reasons.md#why-an-epoch-ended", "Every reason")),
    ),
    Graph(
        (31, 4, "Epoch"),
        "The life of the gang: 0 at first, and one more with every restart and resumption. Steps that follow each "
        "other closely are a gang that does not hold.",
        {"epoch": _max("epoch")},
        stepped=True,
        colors={"epoch": BLUE},
    ),
    Graph(
        (32, 4, "Goodput"),
        "Share of the time since the point before in which all ranks had arrived and ran and it was not Stuck, and "
        "in which it waited for the admission of a queue.",
        {"goodput": goodput(ONE, SPAN), "queued": goodput(ONE, SPAN, kind="queued")},
        "percentunit",
        top=1,
        colors={"goodput": GREEN, "queued": CYAN},
    ),
    Graph(
        (33, 4, "Coordinator's answers"),
        "How long the last probe of the coordinator took. It grows before a coordinator stops answering.",
        {"answer": _max("coordinator_probe_latency_seconds")},
        "s",
        links=("MusterCoordinatorStuck",),
    ),
    Graph(
        (35, 18, "Where the time went"),
        "Share of the time since the point before that was not productive, by what it went into. What is missing to "
        "100 % was productive. A part that is known late (lost work, the beginning of a hang) is shown when it is.",
        {
            "{{source}}": f"max by (source) (rate(muster_experiment_badput_seconds_total{{{ONE}}}[{SPAN}])) / on () "
            f"group_left () max(rate(muster_experiment_wall_seconds_total{{{ONE}}}[{SPAN}])) > 0"
        },
        "percentunit",
        stacked=True,
        links=(page("metrics.md", "Metrics"),),
    ),
    Stat(
        (36, 6, "Known from"),
        "What the parts are made of. With phase no program has reported a step: lost work, pauses and the startup of "
        "the program are not known, and count as productive.",
        {"{{basis}}": f"max by (basis) (muster_experiment_goodput_basis{{{ONE}}} == 1)"},
        "none",
        name_colors={},
        empty="not yet",
    ),
    Graph(
        (40, 14, "Clocks: time that is left"),
        "Each running clock counts down to zero, where its action follows.",
        {"{{clock}}": _LEFT},
        "dtdurations",
        links=("MusterDeadlineNear", ABOUT_CLOCKS),
    ),
    Table(
        (41, 10, "Clocks"),
        "The clocks that run now: what follows, how much of each is left and what it was set to.",
        (
            Column("runs out in", _of_each_clock(_LEFT), "dtdurations", TIME_LEFT),
            Column("set to", _of_each_clock(_LIMIT), "dtdurations"),
            Column(
                "used",
                _of_each_clock(f"1 - {_LEFT} / {_LIMIT}"),
                "percentunit",
                ((None, GREEN), (0.75, ORANGE), (0.9, RED)),
            ),
        ),
        labels=("clock", "action"),
        empty="No clock runs.",
        sort="used",
        links=("MusterDeadlineNear", ABOUT_CLOCKS),
    ),
)

EXPERIMENT = Board(
    name="muster-experiment",
    title="Muster / Experiment",
    description="One experiment: what it waits for, which ranks are missing and why, and what it has been through.",
    choices=(
        Choice("namespace", "Namespace", "label_values(muster_experiment_info, namespace)"),
        Choice("experiment", "Experiment", 'label_values(muster_experiment_info{namespace="$namespace"}, experiment)'),
    ),
    rows={
        "Now": NOW,
        "The roll": ROLL,
        "Steps, of programs that report them": STEPS,
        "Restarts and time": COURSE,
    },
    links=(ROLL_CALL, *ABOUT),
    marks=(RESTARTS, LEADERS, VERSIONS),
    since="now-3h",
    many=False,
)
