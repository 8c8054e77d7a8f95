"""One experiment: what it waits for, who is missing, and what it has been through."""

from collections.abc import Mapping

from deploy.grafana.alerts import alerts
from deploy.grafana.marks import LEADERS, RESTARTS, VERSIONS
from deploy.grafana.palette import BAD_FROM_ONE, COORDINATOR_STATES, GOODPUT, ODD_FROM_ONE, PHASES, TIME_LEFT
from deploy.grafana.promql import OWNED
from deploy.grafana.row import Board, Choice, Column, Graph, Rows, Stack, Stat, Table, Timeline
from deploy.prometheus.recordings import FAILURES

_STATES = {
    **dict(enumerate([("-", "transparent"), *PHASES.items()])),
    **dict(enumerate(COORDINATOR_STATES.items(), 11)),
    20: ("stuck", "red"),
}
"""The states of the timeline by their codes."""

_STUCK = "max by (reason) (muster_experiment_stuck_reason{@chosen}"
_FAILURES = f"max by (reason) (muster_experiment_restarts_total{{@chosen,{FAILURES}}})"
_LEFT = "max by (clock) (muster_experiment_clock_remaining_seconds{@chosen})"
_LIMIT = "max by (clock) (muster_experiment_clock_limit_seconds{@chosen})"
_WENT = "max by (source) (rate(muster_experiment_badput_seconds_total{@chosen}[$__rate_interval]))"
_WALL = "max(rate(muster_experiment_wall_seconds_total{@chosen}[$__rate_interval]))"
_NO_STEPS = "No steps reported in this range."
_WITHOUT = "Empty unless the program reports steps (muster.jax.report)."


def _max(metric: str) -> str:
    """Return a metric of the experiment. Two musterds may export it for one scrape after a change of leader."""
    return f"max(muster_experiment_{metric}{{@chosen}})"


def _rate(kind: str) -> str:
    return f"sum (rate(muster_experiment_{kind}_seconds_total{{@chosen}}[$__rate_interval]))"


def _encoded(metric: str, label: str, names: Mapping[str, str]) -> str:
    """Return a state set as one series, whose value is the code of the state that holds.

    A finished experiment has no zeros, so the terms are not added up.
    """
    codes = {state: code for code, (state, _) in _STATES.items() if state in names}
    terms = (f'{code} * max({metric}{{@chosen,{label}="{state}"}} == 1)' for state, code in codes.items())
    return " or ".join(terms)


def _of_each_clock(expr: str) -> str:
    """Return a value of each running clock, with what follows as the label ``action``."""
    follows = "max by (clock, action) (muster_experiment_clock_action{@chosen} == 1)"
    return f"{follows} * on (clock) group_left () ({expr})"


_KEPT = f"({_max('productive_seconds_total')} > 0) - {_max('taken_back_seconds_total')}"
_SO_FAR = f"({_KEPT}) / {_max('wall_seconds_total')}"

ROWS: Rows = (
    "Now",
    Stat(1, 4, "Phase", {"{{phase}}": "max by (phase) (muster_experiment_phase{@chosen} == 1)"}, "none", names=PHASES,
        empty="unknown", links="roll-call phases", about="The phase that the experiment is in."),
    Stat(2, 5, "Stuck because of", {"{{reason}}": f"{_STUCK} == 1)"}, "none", ((None, "green"), (0, "red")), names={},
        empty="not stuck", links="reasons MusterExperimentStuck MusterCoordinatorStuck",
        about="The reason of the condition Stuck. Empty while the experiment is not stuck."),
    Stat(3, 3, "Stuck for", f"time() - {_max('stuck_since_timestamp_seconds')}", "dtdurations",
        ((None, "green"), (0, "yellow"), (300, "orange"), (1800, "red")), empty="not stuck", links="reasons",
        about="How long the condition Stuck has held."),
    Stat(4, 3, "Ranks missing", _max("ranks_missing"), steps=BAD_FROM_ONE, links="roll-call MusterRankMissing",
        about="Ranks that are expected and have not arrived. The roll call names them."),
    Stat(5, 3, "Next deadline in", "min(muster_experiment_clock_remaining_seconds{@chosen})", "dtdurations", TIME_LEFT,
        empty="no clock runs", links="MusterDeadlineNear clocks",
        about="Time until the nearest of the clocks that run. The table of clocks shows which one it is."),
    Stat(6, 3, "Gang restarts", _max("gang_restarts_total"), steps=(*ODD_FROM_ONE, (5, "orange")),
        links="MusterRestartStorm MusterDisruptionLoop",
        about="Restarts of the whole gang since the start, disruptions included."),
    Stat(7, 3, "Goodput so far", _SO_FAR, "percentunit", GOODPUT, decimals=0, empty="not yet",
        about="Time in which all ranks had arrived and ran, and it was not Stuck, divided by the time since the "
        "start (suspended time left out). Empty before the experiment has run."),
    Stat(8, 12, "Accelerators held", {"{{resource}}": "max by (resource) (muster_experiment_accelerators{@chosen})"},
        empty="none",
        about="What its pods hold of each extended resource, from the moment in which they have a node until they "
        "end. They are idle while it is stuck."),
    Stat(9, 12, "Part of an incident", _max("explained"), steps=ODD_FROM_ONE, empty="no",
        links="roll-call MusterIncident MusterRunExplained",
        about="1 while an incident of several runs explains why it is stuck. The alert of the incident then "
        "replaces those of the experiment, and the roll call names it."),
    Table(12, 24, "Whose it is", "namespace experiment operator engine", (Column("1", OWNED),), empty="not exported",
        sort="experiment", height=3, owners=True, links="owners",
        about="The labels of its owners: a column for each that the setting ownerLabels of musterd names and it has."),
    Timeline(10, 24, "Phase, coordinator and stuck reasons over time",
        {"phase": _encoded("muster_experiment_phase", "phase", PHASES),
         "coordinator": _encoded("muster_experiment_coordinator_state", "state", COORDINATOR_STATES),
         "stuck: {{reason}}": f"20 * {_STUCK})"}, _STATES, links="reasons phases",
        about="The phase; the state of the coordinator as the last probe saw it; and a row for each reason for "
        "which the experiment has been stuck."),
    alerts(11, "reason", "@chosen"),
    "The roll",
    Graph(20, 8, "Ranks expected, arrived and missing",
        {kind: _max(f"ranks_{kind}") for kind in ("expected", "arrived", "missing")}, stepped=True,
        colors={"expected": "gray", "arrived": "green", "missing": "red"}, links="roll-call",
        about="The roll of the current epoch. Arrived falls to zero when the gang restarts."),
    Stack(21, 8, "Missing ranks by cause",
        {"{{cause}}": "max by (cause) (muster_experiment_ranks_missing_by_cause{@chosen}) > 0"}, stepped=True,
        links="roll-call MusterRankMissing",
        about="Why ranks have not arrived. NotArrived: the program runs and has not registered with the coordinator."),
    Graph(22, 8, "Ready pods", {"ready": _max("members_ready"), "expected": _max("ranks_expected")}, stepped=True,
        colors={"expected": "gray", "ready": "green"},
        about="Pods of the current epoch that are ready. Ready pods without arrived ranks: the programs run and do "
        "not call the coordinator."),
    "Steps, of programs that report them",
    Graph(50, 6, "Step", {"step": _max("step")}, empty=_NO_STEPS, colors={"step": "blue"},
        about=f"The step that half of the ranks have reached. {_WITHOUT}"),
    Graph(51, 6, "Steps per second", {"steps per second": _max("steps_per_second")}, "ops", empty=_NO_STEPS,
        about=f"Of the median rank, over the last half minute. {_WITHOUT}"),
    Graph(52, 6, "Stragglers", {"ranks": _max("straggler_ranks")}, empty=_NO_STEPS, stepped=True,
        colors={"ranks": "orange"}, about=f"Ranks that are behind the others. The roll call names them. {_WITHOUT}"),
    Graph(53, 6, "Since the last report",
        {"since the last report": f"time() - {_max('last_step_timestamp_seconds')}",
         "hung after": _max("hung_after_seconds")}, "s", empty=_NO_STEPS, colors={"hung after": "red"},
        links="MusterHung reasons",
        about=f"Time since any rank reported, and the time after which the gang is called hung. {_WITHOUT}"),
    "Restarts and time",
    Stack(30, 6, "Restarts: failures and disruptions",
        {"failures": f"sum({_FAILURES}) or {_max('gang_restarts_total')} * 0",
         "disruptions": _max("disruptions_total")}, stepped=True, colors={"failures": "red", "disruptions": "orange"},
        links="MusterRestartStorm MusterDisruptionLoop",
        about="Of the gang, of a job or of a member alone. Failures: a container that failed, a clock with action "
        "Restart. Disruptions: preemption, eviction, node loss, deleted pods. A restart that a person asked for is "
        "neither."),
    Stack(34, 6, "Restarts by reason",
        {"{{reason}}": "max by (reason) (muster_experiment_restarts_total{@chosen}) > 0",
         "container in its pod": _max("container_restarts_total")}, stepped=True, links="MusterRestartStorm ends",
        about="The reason of the cause of each restart, over the life of the experiment: the first container that "
        "failed, the disruption, or the clock. Other is a reason that is rare. Containers that the kubelet has "
        "started again in their pods are counted beside them."),
    Graph(31, 4, "Epoch", {"epoch": _max("epoch")}, stepped=True, colors={"epoch": "blue"},
        about="The life of the gang: 0 at first, and one more with every restart and resumption. Steps that follow "
        "each other closely are a gang that does not hold."),
    Graph(32, 4, "Goodput",
        {"goodput": f"clamp_min({_rate('productive')} - {_rate('taken_back')}, 0) / {_rate('wall')}",
         "queued": f"{_rate('queued')} / {_rate('wall')}"}, "percentunit", top=1,
        colors={"goodput": "green", "queued": "light-blue"},
        about="Share of the time since the point before in which all ranks had arrived and ran and it was not "
        "Stuck, and in which it waited for the admission of a queue."),
    Graph(33, 4, "Coordinator's answers", {"answer": _max("coordinator_probe_latency_seconds")}, "s",
        links="MusterCoordinatorStuck",
        about="How long the last probe of the coordinator took. It grows before a coordinator stops answering."),
    Stack(35, 18, "Where the time went", {"{{source}}": f"{_WENT} / on () group_left () {_WALL} > 0"}, "percentunit",
        links="metrics",
        about="Share of the time since the point before that was not productive, by what it went into. What is "
        "missing to 100 % was productive. A part that is known late (lost work, the beginning of a hang) is shown "
        "when it is."),
    Stat(36, 6, "Known from", {"{{basis}}": "max by (basis) (muster_experiment_goodput_basis{@chosen} == 1)"}, "none",
        names={}, empty="not yet",
        about="What the parts are made of. With phase no program has reported a step: lost work, pauses and the "
        "startup of the program are not known, and count as productive."),
    Graph(40, 14, "Clocks: time that is left", {"{{clock}}": _LEFT}, "dtdurations", links="MusterDeadlineNear clocks",
        about="Each running clock counts down to zero, where its action follows."),
    Table(41, 10, "Clocks", "clock action",
        (Column("runs out in", _of_each_clock(_LEFT), "dtdurations", TIME_LEFT),
         Column("set to", _of_each_clock(_LIMIT), "dtdurations"),
         Column("used", _of_each_clock(f"1 - {_LEFT} / {_LIMIT}"), "percentunit",
             ((None, "green"), (0.75, "orange"), (0.9, "red")))), empty="No clock runs.", sort="used",
        links="MusterDeadlineNear clocks",
        about="The clocks that run now: what follows, how much of each is left and what it was set to."),
)  # fmt: skip

EXPERIMENT = Board(
    name="muster-experiment",
    title="Muster / Experiment",
    description="One experiment: what it waits for, which ranks are missing and why, and what it has been through.",
    choices=(
        Choice("namespace", "Namespace", "label_values(muster_experiment_info, namespace)"),
        Choice("experiment", "Experiment", 'label_values(muster_experiment_info{namespace="$namespace"}, experiment)'),
    ),
    chosen='namespace="$namespace",experiment="$experiment"',
    links="roll-call about runbooks",
    marks=(RESTARTS, LEADERS, VERSIONS),
    since="now-3h",
    many=False,
    rows=ROWS,
)
