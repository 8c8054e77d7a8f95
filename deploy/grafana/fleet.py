"""Fleet: which experiments need a person now, and how well the cluster does."""

from deploy.grafana.links import ABOUT_CLOCKS, ABOUT_PHASES, NAMES, REASONS, TO_EXPERIMENT, page
from deploy.grafana.marks import LEADERS, VERSIONS
from deploy.grafana.palette import (
    BAD_FROM_ONE,
    GOODPUT,
    ODD_FROM_ONE,
    ORANGE,
    PHASES,
    STALENESS,
    TIME_LEFT,
    TIME_STUCK,
)
from deploy.grafana.promql import CHOSEN, OF_ALL, PAIR, SPAN, any_has_run, each, goodput_of_all, owned, quantiles
from deploy.grafana.row import Board, Column, Graph, Stat, Table
from deploy.grafana.shared import HOUR, alerts

_SINCE = each("muster_experiment_stuck_since_timestamp_seconds", CHOSEN)
_HELD = f"sum by ({PAIR}) ({each('muster_experiment_accelerators', CHOSEN, 'resource')})"
_QUEUED = f'{CHOSEN},phase="Queued"'
_WAITED = (
    f"{each('muster_experiment_queued_seconds_total', CHOSEN)} and on ({PAIR}) "
    f"({each('muster_experiment_phase', _QUEUED)} == 1)"
)
_SPENT = f'rate(muster_phase_duration_seconds_sum{{phase!="Suspended"}}[{HOUR}])'


def _count(gauge: str, selector: str) -> str:
    """How many experiments of the chosen namespaces a gauge of all of them has."""
    return f"sum(max by (namespace) ({gauge}{{{selector}}})) or vector(0)"


def _of_stuck(value: str) -> str:
    """A value of each stuck experiment, with the reason and who can mend it."""
    reasons = f"{each('muster_experiment_stuck_reason', CHOSEN, 'reason', 'audience')} == 1"
    return f"({value}) * on ({PAIR}) group_right () ({reasons})"


def _of_incident(value: str) -> str:
    """A value of each incident. They are of several namespaces, so the choice of these does not apply."""
    return f"max by (kind, subject, cause, scope, audience) (muster_incident_{value})"


def _risen(counter: str, by: str) -> str:
    """How much a counter rose within the hour before each point."""
    return f"sum by ({by}) (increase({counter}[{HOUR}])) > 0"


NOW = (
    Stat(
        (1, 4, "Stuck experiments"),
        "Experiments whose condition Stuck is true: each needs a person. The table names them.",
        _count("muster_namespace_experiments_stuck", CHOSEN),
        steps=BAD_FROM_ONE,
        links=("MusterExperimentStuck",),
    ),
    Stat(
        (2, 4, "Ranks missing"),
        "Ranks that are expected and have not arrived, over all experiments. Above zero while gangs assemble; the "
        "panel below gives the causes.",
        f"sum(muster_experiment_ranks_missing{{{CHOSEN}}})",
        steps=ODD_FROM_ONE,
        links=("MusterRankMissing",),
    ),
    Stat(
        (3, 4, "Running"),
        "Experiments with a complete roll: every rank has arrived.",
        _count("muster_namespace_experiments", f'{CHOSEN},phase="Running"'),
    ),
    Stat(
        (4, 4, "Goodput, last hour"),
        "Productive time (all ranks arrived and running, and the experiment not Stuck) divided by the wall time "
        "of all experiments. What is missing to 100 % was spent on scheduling, assembling and restarts, and while "
        "Stuck. Empty where none was productive within a day.",
        f"{goodput_of_all(HOUR)} and on () {any_has_run('1d')}",
        "percentunit",
        GOODPUT,
        decimals=0,
    ),
    Stat(
        (5, 4, "Gang restarts, last hour"),
        "Restarts of whole gangs, disruptions by the platform included.",
        f"sum(increase(muster_experiment_gang_restarts_total{{{CHOSEN}}}[{HOUR}]))",
        steps=(*ODD_FROM_ONE, (10, ORANGE)),
        decimals=0,
        links=("MusterRestartStorm", "MusterDisruptionLoop"),
    ),
    Stat(
        (6, 4, "Stalest watch"),
        "Time since a watch of musterd last heard from the API server. Everything on this dashboard may be as "
        "old. See the dashboard of the daemon.",
        "max(muster_watch_staleness_seconds)",
        "s",
        STALENESS,
        decimals=0,
        links=("MusterWatchStale",),
    ),
    Table(
        (13, 24, "Incidents"),
        "What one subject (a node, a registry, a webhook, a quota ...) keeps, of three or more runs. "
        "Begin here: the runs of an incident need no look of their own.",
        (
            Column("since", f"time() - {_of_incident('begin_timestamp_seconds')}", "dtdurations", TIME_STUCK),
            Column("runs", _of_incident("runs")),
            Column("ranks", _of_incident("ranks")),
            Column("accelerators", _of_incident("accelerators")),
        ),
        labels=("kind", "subject", "cause", "scope"),
        empty="No incident.",
        sort="runs",
        height=5,
        links=("MusterIncident", "MusterIncidentLasts", "MusterNodeSuspect"),
    ),
    Table(
        (7, 24, "Problems now"),
        "Each stuck experiment with the reason of its condition Stuck, who can fix that, for how long it has "
        "held, how many ranks are missing, the lowest of them, and the accelerators that it holds meanwhile. "
        "Click an experiment for its dashboard or its roll call, which names the ranks.",
        (
            Column("stuck for", _of_stuck(f"time() - {_SINCE}"), "dtdurations", TIME_STUCK),
            Column("missing", _of_stuck(each("muster_experiment_ranks_missing", CHOSEN))),
            Column("first missing", _of_stuck(each("muster_experiment_first_missing_rank", CHOSEN))),
            Column("accelerators", _of_stuck(_HELD)),
        ),
        labels=(*NAMES, "reason", "audience"),
        empty="No experiment is stuck.",
        sort="stuck for",
        cell_links=TO_EXPERIMENT,
        height=6,
        links=(REASONS,),
    ),
    Table(
        (30, 24, "Whose they are"),
        "The stuck experiments with the labels of their owners: a column for each that the setting ownerLabels of "
        "musterd names and one of them has.",
        (
            Column(
                "stuck for",
                f"(time() - {_SINCE}) * on ({PAIR}) group_right () {owned(CHOSEN)}",
                "dtdurations",
                TIME_STUCK,
            ),
        ),
        labels=(*NAMES, "operator", "engine"),
        empty="No experiment is stuck.",
        sort="stuck for",
        cell_links=TO_EXPERIMENT,
        height=6,
        owners=True,
        links=(page("platform.md", "Labels of owners"),),
    ),
    alerts(9, 24, CHOSEN, 'experiment=""', labels=(*NAMES, "reason", "audience"), links=TO_EXPERIMENT),
)

CAPACITY = (
    Stat(
        (14, 4, "Accelerators held"),
        "Accelerators that the pods of all experiments hold, of all namespaces.",
        'sum(muster_accelerators{state="held"}) or vector(0)',
        decimals=0,
    ),
    Stat(
        (15, 4, "Accelerators idle now"),
        "Those that experiments hold whose condition Stuck is true: nothing is computed on them. Of all namespaces.",
        'sum(muster_accelerators{state="stuck"}) or vector(0)',
        steps=BAD_FROM_ONE,
        decimals=0,
        links=("MusterExperimentStuck", "MusterIncident"),
    ),
    Stat(
        (16, 4, "Idle hours, last day"),
        "Accelerator-hours that stuck experiments held within the last day, of all namespaces.",
        "sum(increase(muster_accelerator_stuck_seconds_total[1d])) / 3600",
        decimals=1,
        empty="none",
    ),
    Stat(
        (17, 4, "Work lost, last day"),
        "Time of runs whose work was lost within the last day: steps after the one from which the next epoch "
        "resumed, as far as programs report steps.",
        f'sum(increase({OF_ALL}{{{CHOSEN},bucket="lost"}}[1d]))',
        "dtdurations",
        empty="none",
        links=(page("goodput.md", "Goodput"),),
    ),
    Stat(
        (18, 4, "Queued"),
        "Experiments that wait for the admission of a queue.",
        _count("muster_namespace_experiments", _QUEUED),
        decimals=0,
    ),
    Stat(
        (19, 4, "Queued longest"),
        "The longest time that one of those that are queued now has spent in the queue.",
        f"max({_WAITED})",
        "dtdurations",
        empty="none is queued",
    ),
    Table(
        (28, 12, "The queue"),
        "The experiments that wait for admission, and how long each has. muster explain and the roll call show "
        "the message of the queue.",
        (Column("queued for", _WAITED, "dtdurations"),),
        labels=NAMES,
        empty="None is queued.",
        sort="queued for",
        cell_links=TO_EXPERIMENT,
        height=6,
    ),
    Table(
        (8, 12, "Clocks that run out next"),
        "The ten deadlines that are nearest. The total clock ends the experiment; the others do what their action "
        "states.",
        (
            Column(
                "runs out in",
                f"bottomk(10, {each('muster_experiment_clock_remaining_seconds', CHOSEN, 'clock')})",
                "dtdurations",
                TIME_LEFT,
            ),
        ),
        labels=(*NAMES, "clock"),
        empty="No clock runs.",
        sort="runs out in",
        descending=False,
        cell_links=TO_EXPERIMENT,
        height=6,
        links=("MusterDeadlineNear", "MusterDeadlinePassed", ABOUT_CLOCKS),
    ),
    Graph(
        (29, 24, "Accelerator-hours lost per hour, by reason"),
        "Accelerator-hours that stuck experiments held within the hour before each point, by the reason of Stuck. "
        "Of all namespaces.",
        {"{{reason}}": f"sum by (reason) (increase(muster_accelerator_stuck_seconds_total[{HOUR}])) / 3600 > 0"},
        stacked=True,
        links=(REASONS,),
    ),
)

WHY = (
    Graph(
        (10, 8, "Missing ranks by cause"),
        "Why ranks have not arrived. Many of one cause at once point at the platform (image, scheduling, refusals); "
        "one experiment with NotArrived points at its program.",
        {"{{cause}}": f"sum by (cause) (muster_experiment_ranks_missing_by_cause{{{CHOSEN}}}) > 0"},
        stacked=True,
        links=("MusterRankMissing", "MusterImageNotPulled", "MusterUnschedulable"),
    ),
    Graph(
        (11, 8, "Stuck experiments by reason"),
        "How many experiments were stuck for each reason, and when it began.",
        {"{{reason}}": f"sum by (reason) (muster_experiment_stuck_reason{{{CHOSEN}}}) > 0"},
        stacked=True,
        links=(REASONS,),
    ),
    Graph(
        (12, 8, "Goodput by namespace"),
        "Share of the time since the point before in which gangs ran assembled and not Stuck.",
        {"{{@cluster}} {{shard}} {{namespace}}": goodput_of_all(SPAN, "namespace")},
        "percentunit",
        top=1,
    ),
)

TRENDS = (
    Graph(
        (20, 8, "Experiments by phase"),
        "All experiments that exist, finished ones too until they are deleted.",
        {"{{phase}}": "sum by (phase) (muster_experiments)"},
        stacked=True,
        colors=PHASES,
        links=(ABOUT_PHASES,),
    ),
    Graph(
        (21, 8, "Outcomes per hour"),
        "Experiments that ended within the hour before each point, by outcome and reason.",
        {"{{outcome}}: {{reason}}": _risen("muster_outcomes_total", "outcome, reason")},
        stacked=True,
    ),
    Graph(
        (32, 8, "Failures per hour, by namespace"),
        "Experiments that failed within the hour before each point. musterd counts 100 namespaces, those that it meets "
        "first; _other are all others together.",
        {
            "{{@cluster}} {{shard}} {{namespace}}": _risen(
                'muster_namespace_outcomes_total{outcome="Failed"}', "namespace"
            )
        },
        stacked=True,
    ),
    Graph(
        (22, 6, "Gang restarts per hour, by cause"),
        "Restarts within the hour before each point, by the reason of their cause.",
        {"{{reason}}": _risen("muster_gang_restarts_total", "reason")},
        stacked=True,
        links=("MusterRestartStorm",),
    ),
    Graph(
        (23, 6, "Disruptions per hour, by cause"),
        "Restarts that the platform caused (preemption, eviction, node loss, deleted pods). They cost no restart "
        "budget.",
        {"{{reason}}": _risen("muster_disruptions_total", "reason")},
        stacked=True,
        links=("MusterDisruptionLoop",),
    ),
    Graph(
        (24, 6, "Refusals per hour, by reason"),
        "Requests for experiments that the API server refused: quota, admission, rights, errors.",
        {"{{reason}}": _risen("muster_refusals_total", "reason")},
        stacked=True,
        links=("MusterCreateRefused",),
    ),
    Graph(
        (31, 6, "Verdicts on restarts per hour"),
        "SameFailureAgain: a gang failed in the same way as before without an advance. Where enforced is true that "
        "ended the experiment, as its spec asks; else it was only reported. BudgetRenewed: a gang made progress, and "
        "its restarts count no more.",
        {"{{verdict}}, enforced: {{enforced}}": _risen("muster_restart_verdicts_total", "verdict, enforced")},
        stacked=True,
        links=("MusterSameFailureAgain", "MusterSameFailureEnded"),
    ),
    Graph(
        (25, 8, "Time to assembled, last hour"),
        "From the first pod that is asked for to a complete roll, per epoch, over the hour before each point.",
        quantiles("muster_time_to_assembled_seconds", HOUR),
        "s",
        exemplars=True,
        links=("MusterAssemblyOverdue",),
    ),
    Graph(
        (26, 8, "Downtime of a restart, last hour"),
        "From the failure that is seen to the complete roll of the next epoch, over the hour before each point.",
        quantiles("muster_restart_downtime_seconds", HOUR),
        "s",
        exemplars=True,
    ),
    Graph(
        (27, 8, "Where the time went, last hour"),
        "Share of the hour before each point that experiments spent in each phase, counted when they leave the "
        "phase. Running includes the time in which they were Stuck.",
        {"{{phase}}": f"sum by (phase) ({_SPENT}) / on () group_left () sum({_SPENT}) > 0"},
        "percentunit",
        stacked=True,
        colors=PHASES,
        top=1,
        links=(ABOUT_PHASES,),
    ),
)

FLEET = Board(
    name="muster-fleet",
    title="Muster / Fleet",
    description="Which experiments need a person now, why, and how well the cluster does.",
    rows={
        "Now: experiments of the namespaces chosen": NOW,
        "Accelerators, lost work, queue and clocks": CAPACITY,
        "Why: experiments of the namespaces chosen": WHY,
        "Trends: all namespaces": TRENDS,
    },
    marks=(LEADERS, VERSIONS),
)
