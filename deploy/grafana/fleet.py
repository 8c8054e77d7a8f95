"""Fleet: which experiments need a person now, and how well the cluster does."""

from deploy.grafana.alerts import alerts
from deploy.grafana.marks import LEADERS, VERSIONS
from deploy.grafana.palette import BAD_FROM_ONE, GOODPUT, ODD_FROM_ONE, PHASES, STALENESS, TIME_LEFT, TIME_STUCK
from deploy.grafana.promql import OF_ALL, OWNED, PAIR, SPAN, any_has_run, each, goodput, quantiles
from deploy.grafana.row import Board, Column, Graph, Rows, Stack, Stat, Table

_NAMESPACE = "{{@cluster}} {{shard}} {{namespace}}"
_SINCE = each("muster_experiment_stuck_since_timestamp_seconds")
_WAITED = (
    f"{each('muster_experiment_queued_seconds_total')} and on ({PAIR}) "
    f"""({each('muster_experiment_phase{@chosen,phase="Queued"}')} == 1)"""
)
_LEFT = f"bottomk(10, {each('muster_experiment_clock_remaining_seconds', 'clock')})"
_SPENT = 'rate(muster_phase_duration_seconds_sum{phase!="Suspended"}[1h])'


def _count(gauge: str) -> str:
    """Return how many experiments of the chosen namespaces a gauge of all of them has."""
    return f"sum(max by (namespace) ({gauge})) or vector(0)"


def _of_stuck(value: str) -> str:
    """Return a value of each stuck experiment, with the reason and who can fix it."""
    reasons = f"{each('muster_experiment_stuck_reason', 'reason', 'audience')} == 1"
    return f"({value}) * on ({PAIR}) group_right () ({reasons})"


def _of_incident(value: str) -> str:
    """Return a value of each incident. They are of several namespaces, so the choice of these does not apply."""
    return f"max by (kind, subject, cause, scope, audience) (muster_incident_{value})"


def _risen(counter: str, by: str) -> str:
    """Return how much a counter rose within the hour before each point."""
    return f"sum by ({by}) (increase({counter}[1h])) > 0"


ROWS: Rows = (
    "Now: experiments of the namespaces chosen",
    Stat(1, 4, "Stuck experiments", _count("muster_namespace_experiments_stuck{@chosen}"), steps=BAD_FROM_ONE,
        links="MusterExperimentStuck",
        about="Experiments whose condition Stuck is true: each needs a person. The table names them."),
    Stat(2, 4, "Ranks missing", "sum(muster_experiment_ranks_missing{@chosen})", steps=ODD_FROM_ONE,
        links="MusterRankMissing",
        about="Ranks that are expected and have not arrived, over all experiments. Above zero while gangs assemble; "
        "the panel below gives the causes."),
    Stat(3, 4, "Running", _count('muster_namespace_experiments{@chosen,phase="Running"}'),
        about="Experiments with a complete roll: every rank has arrived."),
    Stat(4, 4, "Goodput, last hour", f"{goodput('1h')} and on () {any_has_run('1d')}", "percentunit", GOODPUT,
        decimals=0,
        about="Productive time (all ranks arrived and running, and the experiment not Stuck) divided by the wall "
        "time of all experiments. What is missing to 100 % was spent on scheduling, assembling and restarts, and "
        "while Stuck. Empty where none was productive within a day."),
    Stat(5, 4, "Gang restarts, last hour", "sum(increase(muster_experiment_gang_restarts_total{@chosen}[1h]))",
        steps=(*ODD_FROM_ONE, (10, "orange")), decimals=0, links="MusterRestartStorm MusterDisruptionLoop",
        about="Restarts of whole gangs, disruptions by the platform included."),
    Stat(6, 4, "Stalest watch", "max(muster_watch_staleness_seconds)", "s", STALENESS, decimals=0,
        links="MusterWatchStale",
        about="Time since a watch of musterd last heard from the API server. Everything on this dashboard may be as "
        "old. See the dashboard of the daemon."),
    Table(13, 24, "Incidents", "kind subject cause scope",
        (Column("since", f"time() - {_of_incident('begin_timestamp_seconds')}", "dtdurations", TIME_STUCK),
         Column("runs", _of_incident("runs")),
         Column("ranks", _of_incident("ranks")),
         Column("accelerators", _of_incident("accelerators"))), empty="No incident.", sort="runs", height=5,
        links="MusterIncident MusterIncidentLasts MusterNodeSuspect",
        about="What one subject (a node, a registry, a webhook, a quota ...) keeps, of three or more runs. Begin "
        "here: the runs of an incident need no look of their own."),
    Table(7, 24, "Problems now", "namespace experiment reason audience",
        (Column("stuck for", _of_stuck(f"time() - {_SINCE}"), "dtdurations", TIME_STUCK),
         Column("missing", _of_stuck(each("muster_experiment_ranks_missing"))),
         Column("first missing", _of_stuck(each("muster_experiment_first_missing_rank"))),
         Column("accelerators", _of_stuck(f"sum by ({PAIR}) ({each('muster_experiment_accelerators', 'resource')})"))),
        empty="No experiment is stuck.", height=6, links="reasons",
        about="Each stuck experiment with the reason of its condition Stuck, who can fix that, for how long it has "
        "held, how many ranks are missing, the lowest of them, and the accelerators that it holds meanwhile. Click "
        "an experiment for its dashboard or its roll call, which names the ranks."),
    Table(30, 24, "Whose they are", "namespace experiment operator engine",
        (Column("stuck for", f"(time() - {_SINCE}) * on ({PAIR}) group_right () {OWNED}", "dtdurations", TIME_STUCK),),
        empty="No experiment is stuck.", height=6, owners=True, links="owners",
        about="The stuck experiments with the labels of their owners: a column for each that the setting "
        "ownerLabels of musterd names and one of them has."),
    alerts(9, "namespace experiment reason audience", "@chosen", 'experiment=""'),
    "Accelerators, lost work, queue and clocks",
    Stat(14, 4, "Accelerators held", 'sum(muster_accelerators{state="held"}) or vector(0)', decimals=0,
        about="Accelerators that the pods of all experiments hold, of all namespaces."),
    Stat(15, 4, "Accelerators idle now", 'sum(muster_accelerators{state="stuck"}) or vector(0)', steps=BAD_FROM_ONE,
        decimals=0, links="MusterExperimentStuck MusterIncident",
        about="Those that experiments hold whose condition Stuck is true: nothing is computed on them. Of all "
        "namespaces."),
    Stat(16, 4, "Idle hours, last day", "sum(increase(muster_accelerator_stuck_seconds_total[1d])) / 3600", decimals=1,
        empty="none", about="Accelerator-hours that stuck experiments held within the last day, of all namespaces."),
    Stat(17, 4, "Work lost, last day", f'sum(increase({OF_ALL}{{@chosen,bucket="lost"}}[1d]))', "dtdurations",
        empty="none", links="goodput",
        about="Time of runs whose work was lost within the last day: steps after the one from which the next epoch "
        "resumed, as far as programs report steps."),
    Stat(18, 4, "Queued", _count('muster_namespace_experiments{@chosen,phase="Queued"}'), decimals=0,
        about="Experiments that wait for the admission of a queue."),
    Stat(19, 4, "Queued longest", f"max({_WAITED})", "dtdurations", empty="none is queued",
        about="The longest time that one of those that are queued now has spent in the queue."),
    Table(28, 12, "The queue", "namespace experiment", (Column("queued for", _WAITED, "dtdurations"),),
        empty="None is queued.", height=6,
        about="The experiments that wait for admission, and how long each has. muster explain and the roll call "
        "show the message of the queue."),
    Table(8, 12, "Clocks that run out next", "namespace experiment clock",
        (Column("runs out in", _LEFT, "dtdurations", TIME_LEFT),), empty="No clock runs.", descending=False, height=6,
        links="MusterDeadlineNear MusterDeadlinePassed clocks",
        about="The ten deadlines that are nearest. The total clock ends the experiment; the others do what their "
        "action states."),
    Stack(29, 24, "Accelerator-hours lost per hour, by reason",
        {"{{reason}}": "sum by (reason) (increase(muster_accelerator_stuck_seconds_total[1h])) / 3600 > 0"},
        links="reasons",
        about="Accelerator-hours that stuck experiments held within the hour before each point, by the reason of "
        "Stuck. Of all namespaces."),
    "Why: experiments of the namespaces chosen",
    Stack(10, 8, "Missing ranks by cause",
        {"{{cause}}": "sum by (cause) (muster_experiment_ranks_missing_by_cause{@chosen}) > 0"},
        links="MusterRankMissing MusterImageNotPulled MusterUnschedulable",
        about="Why ranks have not arrived. Many of one cause at once point at the platform (image, scheduling, "
        "refusals); one experiment with NotArrived points at its program."),
    Stack(11, 8, "Stuck experiments by reason",
        {"{{reason}}": "sum by (reason) (muster_experiment_stuck_reason{@chosen}) > 0"}, links="reasons",
        about="How many experiments were stuck for each reason, and when it began."),
    Graph(12, 8, "Goodput by namespace", {_NAMESPACE: goodput(SPAN, "namespace")}, "percentunit", top=1,
        about="Share of the time since the point before in which gangs ran assembled and not Stuck."),
    "Trends: all namespaces",
    Stack(20, 8, "Experiments by phase", {"{{phase}}": "sum by (phase) (muster_experiments)"}, colors=PHASES,
        links="phases", about="All experiments that exist, finished ones too until they are deleted."),
    Stack(21, 8, "Outcomes per hour", {"{{outcome}}: {{reason}}": _risen("muster_outcomes_total", "outcome, reason")},
        about="Experiments that ended within the hour before each point, by outcome and reason."),
    Stack(32, 8, "Failures per hour, by namespace",
        {_NAMESPACE: _risen('muster_namespace_outcomes_total{outcome="Failed"}', "namespace")},
        about="Experiments that failed within the hour before each point. musterd counts 100 namespaces, those that "
        "it meets first; _other are all others together."),
    Stack(22, 6, "Gang restarts per hour, by cause", {"{{reason}}": _risen("muster_gang_restarts_total", "reason")},
        links="MusterRestartStorm", about="Restarts within the hour before each point, by the reason of their cause."),
    Stack(23, 6, "Disruptions per hour, by cause", {"{{reason}}": _risen("muster_disruptions_total", "reason")},
        links="MusterDisruptionLoop",
        about="Restarts that the platform caused (preemption, eviction, node loss, deleted pods). They cost no "
        "restart budget."),
    Stack(24, 6, "Refusals per hour, by reason", {"{{reason}}": _risen("muster_refusals_total", "reason")},
        links="MusterCreateRefused",
        about="Requests for experiments that the API server refused: quota, admission, rights, errors."),
    Stack(31, 6, "Verdicts on restarts per hour",
        {"{{verdict}}, enforced: {{enforced}}": _risen("muster_restart_verdicts_total", "verdict, enforced")},
        links="MusterSameFailureAgain MusterSameFailureEnded",
        about="SameFailureAgain: a gang failed in the same way as before without an advance. Where enforced is true "
        "that ended the experiment, as its spec asks; else it was only reported. BudgetRenewed: a gang made "
        "progress, and its restarts count no more."),
    Graph(25, 8, "Time to assembled, last hour", quantiles("muster_time_to_assembled_seconds", "1h"), "s",
        exemplars=True, links="MusterAssemblyOverdue",
        about="From the first pod that is asked for to a complete roll, per epoch, over the hour before each point."),
    Graph(26, 8, "Downtime of a restart, last hour", quantiles("muster_restart_downtime_seconds", "1h"), "s",
        exemplars=True,
        about="From the failure that is seen to the complete roll of the next epoch, over the hour before each "
        "point."),
    Stack(27, 8, "Where the time went, last hour",
        {"{{phase}}": f"sum by (phase) ({_SPENT}) / on () group_left () sum({_SPENT}) > 0"}, "percentunit",
        colors=PHASES, top=1, links="phases",
        about="Share of the hour before each point that experiments spent in each phase, counted when they leave "
        "the phase. Running includes the time in which they were Stuck."),
)  # fmt: skip

FLEET = Board(
    name="muster-fleet",
    title="Muster / Fleet",
    description="Which experiments need a person now, why, and how well the cluster does.",
    marks=(LEADERS, VERSIONS),
    rows=ROWS,
)
