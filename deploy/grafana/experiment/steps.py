"""Steps that the program reports: how fast it goes, and who is behind."""

from deploy.grafana.board import Row
from deploy.grafana.panels import series
from deploy.grafana.parts import BLUE, ORANGE, RED, Head, Query, page, runbook
from deploy.grafana.promql import ONE

_READING = page("guide.md#8-every-reason-and-what-to-do", "Every reason, and what to do")
_EMPTY = "No steps reported in this range."
_WITHOUT = "Empty unless the program reports steps (muster.jax.report)."

STEPS = Row(
    "Steps, of programs that report them",
    (
        series(
            Head(
                number=50,
                title="Step",
                description=f"The step that half of the ranks have reached. {_WITHOUT}",
                width=6,
            ),
            [Query(f"max(muster_experiment_step{{{ONE}}})", "step")],
            "short",
            empty=_EMPTY,
            colors={"step": BLUE},
        ),
        series(
            Head(
                number=51,
                title="Steps per second",
                description=f"Of the median rank, over the last half minute. {_WITHOUT}",
                width=6,
            ),
            [Query(f"max(muster_experiment_steps_per_second{{{ONE}}})", "steps per second")],
            "ops",
            empty=_EMPTY,
        ),
        series(
            Head(
                number=52,
                title="Stragglers",
                description=f"Ranks that are behind the others. The roll call names them. {_WITHOUT}",
                width=6,
            ),
            [Query(f"max(muster_experiment_straggler_ranks{{{ONE}}})", "ranks")],
            "short",
            empty=_EMPTY,
            stepped=True,
            colors={"ranks": ORANGE},
        ),
        series(
            Head(
                number=53,
                title="Since the last report",
                description="Time since any rank reported, and the time after which the gang is called hung. "
                f"{_WITHOUT}",
                width=6,
                links=(runbook("MusterHung"), _READING),
            ),
            [
                Query(f"time() - max(muster_experiment_last_step_timestamp_seconds{{{ONE}}})", "since the last report"),
                Query(f"max(muster_experiment_hung_after_seconds{{{ONE}}})", "hung after"),
            ],
            "s",
            empty=_EMPTY,
            colors={"hung after": RED},
        ),
    ),
)
