"""Coordinators of a framework: which of them do not answer, and which runs wait for members."""

from dataclasses import dataclass

from deploy.grafana.board import Board, Row, variable
from deploy.grafana.missing import by_cause, waiting
from deploy.grafana.palette import COORDINATOR_STATES
from deploy.grafana.panels import Panel, listing, series, single
from deploy.grafana.parts import BAD_FROM_ONE, GREEN, ORANGE, YELLOW, Column, Head, Query, page, runbook
from deploy.grafana.promql import CHOSEN, PAIR, SPAN, each, quantiles
from deploy.grafana.restarts import READING, WINDOW, restarts
from deploy.grafana.to_experiment import NAMES, TO_EXPERIMENT

_NOT_SERVING = f'{CHOSEN},state!="serving"'


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


def now(of: Framework) -> Row:
    """What is the matter now."""
    up, missing = of.series("muster_experiment_coordinator_up"), of.series("muster_experiment_ranks_missing")
    incomplete = f"{each('muster_experiment_ranks_missing', CHOSEN)} > 0 {of.only}"
    return Row(
        "Now",
        (
            single(
                Head(
                    number=1,
                    title="Coordinators that do not serve",
                    description=f"Coordinators whose last probe found no {of.coordinator} behind the port. A gang that "
                    "starts is among them until rank 0 opens its port.",
                    width=6,
                    links=(runbook("MusterCoordinatorStuck"), runbook("MusterCoordinatorNotServing")),
                ),
                [Query(f"sum(1 - ({up}))")],
                "short",
                BAD_FROM_ONE,
            ),
            waiting(
                2, "Gangs that wait for ranks", f"{of.name} experiments with ranks that have not arrived.", missing
            ),
            single(
                Head(number=3, title="Coordinators that serve", description="Coordinators that answered.", width=6),
                [Query(f"sum({up})")],
                "short",
            ),
            single(
                Head(
                    number=4,
                    title="Slowest answer",
                    description="The longest of the last probes. A probe gives up after some seconds; close to that, "
                    "the coordinator is overloaded or its network is.",
                    width=6,
                    links=(runbook("MusterCoordinatorStuck"),),
                ),
                [Query(f"max({of.series('muster_experiment_coordinator_probe_latency_seconds')})")],
                "s",
                ((None, GREEN), (0.5, YELLOW), (2, ORANGE)),
            ),
            listing(
                Head(
                    number=10,
                    title="Coordinators that do not serve",
                    description="refused: nothing listens on the port. timeout: no answer in time. silent: the port "
                    "accepts and says nothing, as a frozen process does. tls, other-protocol: something else is there.",
                    width=12,
                    links=(runbook("MusterCoordinatorStuck"), runbook("MusterCoordinatorNotServing"), READING),
                ),
                [
                    Column(
                        "last probe took",
                        f"{each('muster_experiment_coordinator_probe_latency_seconds', CHOSEN)} * on ({PAIR}) "
                        f"group_right () ({each('muster_experiment_coordinator_state', _NOT_SERVING, 'state')} "
                        f"== 1 {of.only})",
                        "s",
                    )
                ],
                labels=(*NAMES, "state"),
                empty="Every coordinator serves.",
                sort="experiment",
                descending=False,
                cell_links=TO_EXPERIMENT,
            ),
            listing(
                Head(
                    number=11,
                    title="Rolls that are not complete",
                    description="Experiments with missing ranks. The roll call names the ranks, their pods, and why.",
                    width=12,
                    links=(runbook("MusterRankMissing"), runbook("MusterAssemblyOverdue")),
                ),
                [
                    Column("missing", incomplete, "short", ((None, ORANGE),)),
                    Column("first rank missing", of.series("muster_experiment_first_missing_rank"), "short"),
                    Column(
                        "arrived",
                        f"{each('muster_experiment_ranks_arrived', CHOSEN)} and on ({PAIR}) ({incomplete})",
                        "short",
                    ),
                    Column(
                        "expected",
                        f"{each('muster_experiment_ranks_expected', CHOSEN)} and on ({PAIR}) ({incomplete})",
                        "short",
                    ),
                ],
                labels=NAMES,
                empty="Every roll is complete.",
                sort="missing",
                cell_links=TO_EXPERIMENT,
            ),
        ),
    )


def history(of: Framework, *more: Panel) -> Row:
    """What went on."""
    operator, kind = f'operator="{of.operator}"', f'kind="{of.probe}"'
    by_state = of.series("muster_experiment_coordinator_state", "state")
    return Row(
        "Over time",
        (
            series(
                Head(
                    number=20,
                    title="Coordinators by state",
                    description="How many coordinators the probes found in each state.",
                    width=8,
                    links=(runbook("MusterCoordinatorStuck"),),
                ),
                [Query(f"sum by (state) ({by_state}) > 0", "{{state}}")],
                "short",
                stacked=True,
                stepped=True,
                colors=COORDINATOR_STATES,
            ),
            by_cause(
                21,
                "Missing ranks by cause",
                f"Why ranks of {of.name} experiments have not arrived.",
                of.series("muster_experiment_ranks_missing_by_cause", "cause"),
            ),
            series(
                Head(
                    number=22,
                    title="Time to assembled, last hour",
                    description="From the first pod of an epoch that is asked for to its complete roll, over the hour "
                    "before each point, in all namespaces.",
                    width=8,
                    links=(runbook("MusterAssemblyOverdue"),),
                ),
                [
                    Query(expr, name)
                    for name, expr in quantiles("muster_time_to_assembled_seconds", WINDOW, operator).items()
                ],
                "s",
            ),
            series(
                Head(
                    number=23,
                    title="Probes per second by what they saw",
                    description=f"Probes of all coordinators of {of.name}. More refused ones than gangs that start: "
                    "coordinators die.",
                    width=8,
                ),
                [
                    Query(
                        f"sum by (state) (rate(muster_probe_requests_total{{{kind}}}[{SPAN}])) > 0",
                        "{{state}}",
                    )
                ],
                "reqps",
                stacked=True,
                colors=COORDINATOR_STATES,
            ),
            series(
                Head(
                    number=24,
                    title="Duration of probes",
                    description=f"Median and 95th percentile of all probes of coordinators of {of.name}.",
                    width=8,
                ),
                [Query(expr, name) for name, expr in quantiles("muster_probe_duration_seconds", SPAN, kind).items()],
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
            *more,
        ),
    )


def board(of: Framework, *more: Panel) -> Board:
    """The dashboard of a framework; ``more`` are panels over time that only it has."""
    return Board(
        name=f"muster-{of.name.lower()}",
        title=f"Muster / {of.name} coordinators",
        description=f"Which {of.name} coordinators do not answer, and which gangs wait for ranks.",
        variables=(variable("namespace", "Namespace", "label_values(muster_experiment_info, namespace)", many=True),),
        rows=(now(of), history(of, *more)),
        links=(page("dashboards.md", "About these dashboards"), page("runbooks", "Runbooks")),
    )


JAX = board(Framework(name="JAX", operator="jax", probe="jax", coordinator="JAX coordinator"))
RAY = board(
    Framework(name="Ray", operator="kuberay", probe="ray", coordinator="Ray head whose GCS is well"),
    restarts(
        26,
        "Members run again per hour, by cause",
        "Ray workers and submitters that were run again alone within the hour before each point, in all namespaces. "
        "The gang went on.",
        "muster_member_restarts_total",
        "kuberay",
    ),
)
