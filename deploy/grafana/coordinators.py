"""Coordinators of a framework: which of them do not answer, and which runs wait for members."""

from deploy.grafana.palette import BAD_FROM_ONE, COORDINATOR_STATES, ODD_FROM_ONE, Steps
from deploy.grafana.promql import PAIR, SPAN, each, quantiles, restarts
from deploy.grafana.row import Board, Column, Graph, Panel, Rows, Stack, Stat, Table

_LATENCY = each("muster_experiment_coordinator_probe_latency_seconds")
_MISSING = each("muster_experiment_ranks_missing")
_BY_CAUSE = each("muster_experiment_ranks_missing_by_cause", "cause")
_STATES = each("muster_experiment_coordinator_state", "state")
_NOT_SERVING = each('muster_experiment_coordinator_state{@chosen,state!="serving"}', "state")
_SLOW: Steps = ((None, "green"), (0.5, "yellow"), (2, "orange"))


def _board(name: str, operator: str, coordinator: str, *more: Panel) -> Board:
    """Return the dashboard of a framework; ``more`` are panels over time that only it has."""
    only = f'and on ({PAIR}) muster_experiment_info{{operator="{operator}"}}'
    up = f"{each('muster_experiment_coordinator_up')} {only}"
    took = f"{_LATENCY} * on ({PAIR}) group_right () ({_NOT_SERVING} == 1 {only})"
    incomplete = f"{_MISSING} > 0 {only}"
    probe = f'kind="{name.lower()}"'
    rows: Rows = (
        "Now",
        Stat(1, 6, "Coordinators that do not serve", f"sum(1 - ({up}))", steps=BAD_FROM_ONE,
            links="MusterCoordinatorStuck MusterCoordinatorNotServing",
            about=f"Coordinators whose last probe found no {coordinator} behind the port. A gang that starts is "
            "among them until rank 0 opens its port."),
        Stat(2, 6, "Gangs that wait for ranks", f"sum(({_MISSING} {only}) > bool 0)", steps=ODD_FROM_ONE,
            links="MusterRankMissing", about=f"{name} experiments with ranks that have not arrived."),
        Stat(3, 6, "Coordinators that serve", f"sum({up})", about="Coordinators that answered."),
        Stat(4, 6, "Slowest answer", f"max({_LATENCY} {only})", "s", _SLOW, links="MusterCoordinatorStuck",
            about="The longest of the last probes. A probe gives up after some seconds; close to that, the "
            "coordinator is overloaded or its network is."),
        Table(10, 12, "Coordinators that do not serve", "namespace experiment state",
            (Column("last probe took", took, "s"),), empty="Every coordinator serves.", sort="experiment",
            descending=False, links="MusterCoordinatorStuck MusterCoordinatorNotServing reasons",
            about="refused: nothing listens on the port. timeout: no answer in time. silent: the port accepts and "
            "sends nothing, as a frozen process does. tls, other-protocol: something else answers."),
        Table(11, 12, "Rolls that are not complete", "namespace experiment",
            (Column("missing", incomplete, steps=((None, "orange"),)),
             Column("first rank missing", f"{each('muster_experiment_first_missing_rank')} {only}"),
             Column("arrived", f"{each('muster_experiment_ranks_arrived')} and on ({PAIR}) ({incomplete})"),
             Column("expected", f"{each('muster_experiment_ranks_expected')} and on ({PAIR}) ({incomplete})")),
            empty="Every roll is complete.", links="MusterRankMissing MusterAssemblyOverdue",
            about="Experiments with missing ranks. The roll call names the ranks, their pods, and why."),
        "Over time",
        Stack(20, 8, "Coordinators by state", {"{{state}}": f"sum by (state) ({_STATES} {only}) > 0"}, stepped=True,
            colors=COORDINATOR_STATES, links="MusterCoordinatorStuck",
            about="How many coordinators the probes found in each state."),
        Stack(21, 8, "Missing ranks by cause", {"{{cause}}": f"sum by (cause) ({_BY_CAUSE} {only}) > 0"},
            stepped=True, links="MusterRankMissing", about=f"Why ranks of {name} experiments have not arrived."),
        Graph(22, 8, "Time to assembled, last hour",
            quantiles("muster_time_to_assembled_seconds", "1h", f'operator="{operator}"'), "s",
            links="MusterAssemblyOverdue",
            about="From the first pod of an epoch that is asked for to its complete roll, over the hour before each "
            "point, in all namespaces."),
        Stack(23, 8, "Probes per second by what they saw",
            {"{{state}}": f"sum by (state) (rate(muster_probe_requests_total{{{probe}}}[{SPAN}])) > 0"}, "reqps",
            colors=COORDINATOR_STATES,
            about=f"Probes of all coordinators of {name}. More refused ones than gangs that start: coordinators "
            "die."),
        Graph(24, 8, "Duration of probes", quantiles("muster_probe_duration_seconds", SPAN, probe), "s",
            about=f"Median and 95th percentile of all probes of coordinators of {name}."),
        Stack(25, 8, "Gang restarts per hour, by cause", restarts("gang", operator), links="MusterRestartStorm reasons",
            about=f"Restarts of {name} gangs within the hour before each point, by the reason of their cause, in "
            "all namespaces."),
        *more,
    )  # fmt: skip
    return Board(
        f"muster-{name.lower()}",
        f"Muster / {name} coordinators",
        f"Which {name} coordinators do not answer, and which gangs wait for ranks.",
        rows,
    )


JAX = _board("JAX", "jax", "JAX coordinator")
RAY = _board("Ray", "kuberay", "Ray head whose GCS is well",
    Stack(26, 8, "Members run again per hour, by cause", restarts("member", "kuberay"),
        links="MusterRestartStorm reasons",
        about="Ray workers and submitters that were run again alone within the hour before each point, in all "
        "namespaces. The gang continued."),
)  # fmt: skip
