"""How well the cluster does: outcomes, restarts, refusals and times."""

from deploy.grafana.board import Row
from deploy.grafana.palette import PHASES
from deploy.grafana.panels import series
from deploy.grafana.parts import Head, Query, page, runbook
from deploy.grafana.promql import quantiles

_WINDOW = "1h"

TRENDS = Row(
    "Trends: all namespaces",
    (
        series(
            Head(
                number=20,
                title="Experiments by phase",
                description="All experiments that exist, finished ones too until they are deleted.",
                width=12,
                links=(page("guide.md#5-phases", "Phases"),),
            ),
            [Query("sum by (phase) (muster_experiments)", "{{phase}}")],
            "short",
            stacked=True,
            colors=PHASES,
        ),
        series(
            Head(
                number=21,
                title="Outcomes per hour",
                description="Experiments that ended within the hour before each point, by outcome and reason.",
                width=12,
            ),
            [
                Query(
                    f"sum by (outcome, reason) (increase(muster_outcomes_total[{_WINDOW}])) > 0",
                    "{{outcome}}: {{reason}}",
                )
            ],
            "short",
            stacked=True,
        ),
        series(
            Head(
                number=22,
                title="Gang restarts per hour, by cause",
                description="Restarts within the hour before each point, by the reason of their cause.",
                width=8,
                links=(runbook("MusterRestartStorm"),),
            ),
            [Query(f"sum by (reason) (increase(muster_gang_restarts_total[{_WINDOW}])) > 0", "{{reason}}")],
            "short",
            stacked=True,
        ),
        series(
            Head(
                number=23,
                title="Disruptions per hour, by cause",
                description="Restarts that the platform caused (preemption, eviction, node loss, deleted pods). They "
                "cost no restart budget.",
                width=8,
                links=(runbook("MusterDisruptionLoop"),),
            ),
            [Query(f"sum by (reason) (increase(muster_disruptions_total[{_WINDOW}])) > 0", "{{reason}}")],
            "short",
            stacked=True,
        ),
        series(
            Head(
                number=24,
                title="Refusals per hour, by reason",
                description="Requests for experiments that the API server refused: quota, admission, rights, errors.",
                width=8,
                links=(runbook("MusterCreateRefused"),),
            ),
            [Query(f"sum by (reason) (increase(muster_refusals_total[{_WINDOW}])) > 0", "{{reason}}")],
            "short",
            stacked=True,
        ),
        series(
            Head(
                number=25,
                title="Time to assembled, last hour",
                description="From the first pod that is asked for to a complete roll, per epoch, over the hour before "
                "each point.",
                width=8,
                links=(runbook("MusterAssemblyOverdue"),),
            ),
            [Query(expr, name) for name, expr in quantiles("muster_time_to_assembled_seconds", _WINDOW).items()],
            "s",
        ),
        series(
            Head(
                number=26,
                title="Downtime of a restart, last hour",
                description="From the failure that is seen to the complete roll of the next epoch, over the hour "
                "before each point.",
                width=8,
            ),
            [Query(expr, name) for name, expr in quantiles("muster_restart_downtime_seconds", _WINDOW).items()],
            "s",
        ),
        series(
            Head(
                number=27,
                title="Where the time went, last hour",
                description="Share of the hour before each point that experiments spent in each phase, counted when "
                "they leave the phase. Running includes the time in which they were Stuck.",
                width=8,
                links=(page("guide.md#5-phases", "Phases"),),
            ),
            [
                Query(
                    f'sum by (phase) (rate(muster_phase_duration_seconds_sum{{phase!="Suspended"}}[{_WINDOW}])) / '
                    f'on () group_left () sum(rate(muster_phase_duration_seconds_sum{{phase!="Suspended"}}[{_WINDOW}]))'
                    " > 0",
                    "{{phase}}",
                )
            ],
            "percentunit",
            stacked=True,
            colors=PHASES,
            top=1,
        ),
    ),
)
