"""Coordinators of a framework: which of them do not answer, and which runs wait for members."""

from collections.abc import Sequence
from dataclasses import dataclass

from deploy.grafana.links import NAMES, REASONS, TO_EXPERIMENT
from deploy.grafana.palette import BAD_FROM_ONE, COORDINATOR_STATES, GREEN, ORANGE, YELLOW
from deploy.grafana.promql import CHOSEN, PAIR, SPAN, each, quantiles
from deploy.grafana.row import Board, Column, Graph, Panel, Stat, Table
from deploy.grafana.shared import HOUR, by_cause, restarts, waiting

_NOT_SERVING = f'{CHOSEN},state!="serving"'
_NOT_SERVING_RUNBOOKS = ("MusterCoordinatorStuck", "MusterCoordinatorNotServing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """A framework whose coordinator can be asked."""

    name: str
    operator: str
    probe: str
    """The kind of its probe, a label of the metrics of probes."""
    coordinator: str
    """What the coordinator is, in words."""

    @property
    def only(self) -> str:
        """What restricts an expression to its experiments."""
        return f'and on ({PAIR}) muster_experiment_info{{operator="{self.operator}"}}'

    def series(self, metric: str, *more: str) -> str:
        """A metric of its experiments."""
        return f"{each(metric, CHOSEN, *more)} {self.only}"


def _now(of: Framework) -> Sequence[Panel]:
    """What is the matter now."""
    up, missing = of.series("muster_experiment_coordinator_up"), of.series("muster_experiment_ranks_missing")
    latency = "muster_experiment_coordinator_probe_latency_seconds"
    not_serving = f"{each('muster_experiment_coordinator_state', _NOT_SERVING, 'state')} == 1 {of.only}"
    incomplete = f"{each('muster_experiment_ranks_missing', CHOSEN)} > 0 {of.only}"
    arrived, expected = (
        f"{each(f'muster_experiment_ranks_{kind}', CHOSEN)} and on ({PAIR}) ({incomplete})"
        for kind in ("arrived", "expected")
    )
    return (
        Stat(
            (1, 6, "Coordinators that do not serve"),
            f"Coordinators whose last probe found no {of.coordinator} behind the port. A gang that starts is among "
            "them until rank 0 opens its port.",
            f"sum(1 - ({up}))",
            steps=BAD_FROM_ONE,
            links=_NOT_SERVING_RUNBOOKS,
        ),
        waiting(2, "Gangs that wait for ranks", f"{of.name} experiments with ranks that have not arrived.", missing),
        Stat((3, 6, "Coordinators that serve"), "Coordinators that answered.", f"sum({up})"),
        Stat(
            (4, 6, "Slowest answer"),
            "The longest of the last probes. A probe gives up after some seconds; close to that, the coordinator is "
            "overloaded or its network is.",
            f"max({of.series(latency)})",
            "s",
            ((None, GREEN), (0.5, YELLOW), (2, ORANGE)),
            links=("MusterCoordinatorStuck",),
        ),
        Table(
            (10, 12, "Coordinators that do not serve"),
            "refused: nothing listens on the port. timeout: no answer in time. silent: the port accepts and sends "
            "nothing, as a frozen process does. tls, other-protocol: something else answers.",
            (
                Column(
                    "last probe took",
                    f"{each(latency, CHOSEN)} * on ({PAIR}) group_right () ({not_serving})",
                    "s",
                ),
            ),
            labels=(*NAMES, "state"),
            empty="Every coordinator serves.",
            sort="experiment",
            descending=False,
            cell_links=TO_EXPERIMENT,
            links=(*_NOT_SERVING_RUNBOOKS, REASONS),
        ),
        Table(
            (11, 12, "Rolls that are not complete"),
            "Experiments with missing ranks. The roll call names the ranks, their pods, and why.",
            (
                Column("missing", incomplete, steps=((None, ORANGE),)),
                Column("first rank missing", of.series("muster_experiment_first_missing_rank")),
                Column("arrived", arrived),
                Column("expected", expected),
            ),
            labels=NAMES,
            empty="Every roll is complete.",
            sort="missing",
            cell_links=TO_EXPERIMENT,
            links=("MusterRankMissing", "MusterAssemblyOverdue"),
        ),
    )


def _history(of: Framework) -> Sequence[Panel]:
    """What went on."""
    operator, kind = f'operator="{of.operator}"', f'kind="{of.probe}"'
    by_state = of.series("muster_experiment_coordinator_state", "state")
    return (
        Graph(
            (20, 8, "Coordinators by state"),
            "How many coordinators the probes found in each state.",
            {"{{state}}": f"sum by (state) ({by_state}) > 0"},
            stacked=True,
            stepped=True,
            colors=COORDINATOR_STATES,
            links=("MusterCoordinatorStuck",),
        ),
        by_cause(
            21,
            "Missing ranks by cause",
            f"Why ranks of {of.name} experiments have not arrived.",
            of.series("muster_experiment_ranks_missing_by_cause", "cause"),
        ),
        Graph(
            (22, 8, "Time to assembled, last hour"),
            "From the first pod of an epoch that is asked for to its complete roll, over the hour before each point, "
            "in all namespaces.",
            quantiles("muster_time_to_assembled_seconds", HOUR, operator),
            "s",
            links=("MusterAssemblyOverdue",),
        ),
        Graph(
            (23, 8, "Probes per second by what they saw"),
            f"Probes of all coordinators of {of.name}. More refused ones than gangs that start: coordinators die.",
            {"{{state}}": f"sum by (state) (rate(muster_probe_requests_total{{{kind}}}[{SPAN}])) > 0"},
            "reqps",
            stacked=True,
            colors=COORDINATOR_STATES,
        ),
        Graph(
            (24, 8, "Duration of probes"),
            f"Median and 95th percentile of all probes of coordinators of {of.name}.",
            quantiles("muster_probe_duration_seconds", SPAN, kind),
            "s",
        ),
        restarts(
            25,
            "Gang restarts per hour, by cause",
            f"Restarts of {of.name} gangs within the hour before each point, by the reason of their cause, in all "
            "namespaces.",
            "muster_gang_restarts_total",
            of.operator,
        ),
    )


def _board(of: Framework, *more: Panel) -> Board:
    """The dashboard of a framework; ``more`` are panels over time that only it has."""
    return Board(
        name=f"muster-{of.name.lower()}",
        title=f"Muster / {of.name} coordinators",
        description=f"Which {of.name} coordinators do not answer, and which gangs wait for ranks.",
        rows={"Now": _now(of), "Over time": (*_history(of), *more)},
    )


JAX = _board(Framework(name="JAX", operator="jax", probe="jax", coordinator="JAX coordinator"))
RAY = _board(
    Framework(name="Ray", operator="kuberay", probe="ray", coordinator="Ray head whose GCS is well"),
    restarts(
        26,
        "Members run again per hour, by cause",
        "Ray workers and submitters that were run again alone within the hour before each point, in all namespaces. "
        "The gang continued.",
        "muster_member_restarts_total",
        "kuberay",
    ),
)
