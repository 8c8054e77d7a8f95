"""What a case of an alert is: series as Prometheus scrapes them, and when the alert fires on them.

Series are written as in promtool: ``0x11 1x60`` is twelve zeros and sixty-one ones. One sample is 5 s. A situation
begins ``ONSET`` seconds after the start, so the seconds until an alert fires are counted from there.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from muster.metrics.rows.experiment import PHASE, ROWS
from muster.metrics.rows.row import Lean
from muster.state.facts.audience import of_reason

STEP = 5
"""Seconds between samples, and between evaluations."""

ONSET = 60

ONE = 'namespace="vision",experiment="llama"'
BEFORE = f"0x{ONSET // STEP - 1}"
"""Zero until the onset."""
AFTER = "1x1000"
BEGINS = f"{BEFORE} {AFTER}"
"""Zero until the onset, then one."""
ENDS = f"1x{ONSET // STEP - 1} 0x1000"

DAEMON = {
    'up{job="musterd",instance="a"}': "1x1000",
    'up{job="musterd",instance="b"}': "1x1000",
    'muster_build_info{job="musterd",instance="a"}': "1x1000",
    'muster_build_info{job="musterd",instance="b"}': "1x1000",
    'muster_leader{job="musterd",instance="a",identity="a"}': "1x1000",
    'muster_leader{job="musterd",instance="b",identity="b"}': "0x1000",
    'muster_leader_seen{job="musterd",instance="a"}': "0x1000",
    'muster_leader_seen{job="musterd",instance="b"}': "1x1000",
    'muster_clock_timestamp_seconds{job="musterd",instance="a"}': "0+5x1000",
    'muster_clock_timestamp_seconds{job="musterd",instance="b"}': "0+5x1000",
    'muster_watch_staleness_seconds{job="musterd",instance="a",resource="pods"}': "1 30 60 2 70 1x1000",
    'muster_rights_missing{job="musterd",instance="a",verb="create",resource="pods"}': "0x1000",
    'muster_experiments_unreported{job="musterd",instance="a",reason="cap"}': "0x1000",
    'muster_internal_errors_total{job="musterd",instance="a",place="step"}': "0x1000",
}
"""Two healthy daemons; the first one leads."""

EXPERIMENT = {
    f'muster_experiment_phase{{{ONE},phase="Running"}}': "1x1000",
    f'muster_experiment_phase{{{ONE},phase="Assembling"}}': "0x1000",
    f"muster_experiment_stuck{{{ONE}}}": "0x1000",
    f"muster_experiment_ranks_missing{{{ONE}}}": "0x1000",
    f"muster_experiment_gang_restarts_total{{{ONE}}}": "0x1000",
    f'muster_experiment_coordinator_state{{{ONE},state="refused"}}': "0x1000",
    f"muster_experiment_disruptions_total{{{ONE}}}": "0x1000",
    f'muster_experiment_clock_remaining_seconds{{{ONE},clock="total"}}': "86400-5x1000",
    f'muster_experiment_clock_action{{{ONE},clock="total",action="Fail"}}': "1x1000",
    f'muster_experiment_clock_limit_seconds{{{ONE},clock="total"}}': "90000x1000",
    f"muster_experiment_wall_seconds_total{{{ONE}}}": "0+5x1000",
    f"muster_experiment_productive_seconds_total{{{ONE}}}": "0+5x1000",
    f"muster_experiment_taken_back_seconds_total{{{ONE}}}": "0x1000",
}
"""One experiment that runs."""


@dataclass(frozen=True, slots=True)
class Case:
    """A situation. Its series replace those of the same name in ``DAEMON`` and ``EXPERIMENT``."""

    alert: str
    situation: str
    series: Mapping[str, str]
    fires_after: int | None = None
    """Seconds from the onset, exact to one evaluation. None: nothing fires within ``watched``."""
    labels: Mapping[str, str] = field(default_factory=dict)
    summary: str = ""
    more: tuple[tuple[Mapping[str, str], str], ...] = ()
    """Labels and summaries with which the same alert fires besides."""
    watched: int = 1800
    also: tuple[str, ...] = ()
    """Other alerts that may fire in the same situation."""
    at_once: bool = True
    """It does not fire one evaluation sooner. False where ``fires_after`` is only a moment at which it fires."""
    without: tuple[str, ...] = ()
    """Names of base series that are absent."""
    lean: bool = False
    """The runs have the series of a large fleet: those that the catalogue marks, with the zeros that it marks."""

    def inputs(self) -> dict[str, str]:
        base = {**DAEMON, **EXPERIMENT}
        kept = {name: values for name, values in base.items() if name.partition("{")[0] not in self.without}
        found = {with_audience(name): values for name, values in {**kept, **self.series}.items()}
        return {name: lean for name, values in found.items() if (lean := leaned(name, values))} if self.lean else found


_LEAN = {row.name: row.lean for row in ROWS}
_ZEROS = re.compile(r"(?<!\S)0(?:x(\d+))?(?!\S)")
"""Zeros of a series: one, or so many and one."""


def leaned(series: str, values: str) -> str:
    """The values of a series as a run of a large fleet has them; empty for none.

    Zeros of a phase stay: a run that has left it has them for ten minutes, and ``min_over_time`` reads them.
    """
    name = series.partition("{")[0]
    mark = _LEAN.get(name, Lean.ALWAYS)
    if mark is Lean.NEVER:
        return ""
    if mark >= Lean.IN_TROUBLE or name == PHASE.name:
        return values
    return _ZEROS.sub(lambda found: f"stale _x{found[1]}" if found[1] else "stale", values)


_REASON = re.compile(r'(muster_experiment_stuck_reason\{.*reason="(\w+)")')


def with_audience(series: str) -> str:
    """The series as musterd writes it: with who can fix that reason."""
    return _REASON.sub(lambda found: f'{found[1]},audience="{of_reason(found[2])}"', series)


def reason(name: str, values: str = BEGINS, one: str = ONE) -> dict[str, str]:
    """The series of an experiment that is stuck for that reason, as the daemon that leads exposes them."""
    return {
        f"muster_experiment_stuck{{{one}}}": values,
        f'muster_experiment_stuck_reason{{{one},reason="{name}"}}': values,
    }
