"""Cases as an input of `promtool test rules`, and a run of it."""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from deploy.prometheus.groups import ALERTS, GROUPS
from deploy.prometheus.text import Plain
from muster.metrics.runbooks import PLACES, PUBLISHED
from muster.state.facts.audience import of_reason
from tests.deploy.prometheus.binaries import needed
from tests.deploy.prometheus.case import ONSET, STEP, Case

ROOT = Path(__file__).parents[3]
RULES = ROOT / "deploy" / "prometheus" / "muster.rules.yaml"
SLO_RULES = RULES.with_name("muster-slo.rules.yaml")

SELDOM_COLLECTED = {"GOGC": "400"}
"""A third of what promtool computes is the garbage collection of Go, at its standard of 100 %."""

BY_NAME = {alert.name: alert for alert in ALERTS}


QUIET_STEP = int(os.environ.get("MUSTER_QUIET_STEP", "15"))
"""Seconds between two evaluations where nothing must fire. The nightly sets 5, which takes three times as long."""


def run(cases: Sequence[Case], folder: Path) -> str:
    """What promtool says against the cases; empty if all hold."""
    quiet = [case for case in cases if case.fires_after is None]
    firing = [case for case in cases if case.fires_after is not None]
    return "".join(_run(each, step, folder) for each, step in ((firing, STEP), (quiet, QUIET_STEP)) if each)


def _run(cases: Sequence[Case], step: int, folder: Path) -> str:
    order = [group.name for group in GROUPS]  # promtool's own order is that of a map of Go
    tests = [_group(case) for case in cases]
    return _tested([RULES, SLO_RULES], order, f"{step}s", tests, folder / f"every-{step}-s.yaml")


def check(file: Path) -> str:
    """What `promtool check rules` says against a file; empty if it is right."""
    return _promtool("check", "rules", "--lint-fatal", str(file))


def answered(
    files: Sequence[Path],
    order: Sequence[str],
    series: Mapping[str, str],
    expected: Mapping[str, Mapping[str, float]],
    at: int,
    folder: Path,
    interval: str = f"{STEP}s",
) -> str:
    """What promtool says against these answers at that second; empty if all hold.

    ``expected`` has the value of each series of each query.
    """
    answers = [
        {
            "expr": expr,
            "eval_time": f"{at}s",
            "exp_samples": [{"labels": labels, "value": value} for labels, value in found.items()],
        }
        for expr, found in expected.items()
    ]
    inputs = [{"series": name, "values": values} for name, values in series.items()]
    tests = [{"interval": interval, "input_series": inputs, "promql_expr_test": answers}]
    return _tested(files, order, interval, tests, folder / "tested.yaml")


def _tested(files: Sequence[Path], order: Sequence[str], interval: str, tests: list[dict[str, Any]], file: Path) -> str:
    document = {
        "rule_files": [str(each) for each in files],
        "evaluation_interval": interval,
        "group_eval_order": [*order],
        "tests": tests,
    }
    file.write_text(yaml.safe_dump(document, width=10_000), encoding="utf-8")
    return _promtool("test", "rules", str(file))


def _promtool(*words: str) -> str:
    command, environment = [str(needed("promtool")), *words], os.environ | SELDOM_COLLECTED
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def _group(case: Case) -> dict[str, Any]:
    return {
        "name": f"{case.alert}: {case.situation}",
        "interval": f"{STEP}s",
        "input_series": [{"series": name, "values": values} for name, values in case.inputs().items()],
        "alert_rule_test": list(_looks(case)),
        "promql_expr_test": [_quiet(case)],
    }


def _looks(case: Case) -> Iterator[dict[str, Any]]:
    if case.fires_after is not None:
        at = ONSET + case.fires_after
        if case.at_once:
            yield _look(case.alert, at - STEP, [])
        fired = ((case.labels, case.summary), *case.more)
        yield _look(case.alert, at, [_fired(case.alert, labels, summary) for labels, summary in fired])


def _quiet(case: Case) -> dict[str, Any]:
    """No other alert fires: at the moment at which the case's does; where none must, at no evaluation."""
    firing = 'ALERTS{alertstate="firing"%s}'
    if case.fires_after is None:
        others = firing % _but(case.also)
        at, fired = case.watched, f"max_over_time({others}[{case.watched}s])"
    else:
        at, fired = ONSET + case.fires_after, firing % _but((case.alert, *case.also))
    return {"expr": f"count by (alertname) ({fired})", "eval_time": f"{at}s", "exp_samples": []}


def _but(alerts: tuple[str, ...]) -> str:
    return f',alertname!~"{"|".join(alerts)}"' if alerts else ""


def _look(alert: str, at: int, fired: list[dict[str, Any]]) -> dict[str, Any]:
    return {"eval_time": f"{at}s", "alertname": alert, "exp_alerts": fired}


def _fired(name: str, labels: Mapping[str, str], summary: str) -> dict[str, Any]:
    alert = BY_NAME[name]
    audience = alert.audience or of_reason(labels.get("reason", ""))
    return {
        "exp_labels": {"severity": alert.severity.value, "audience": audience.value, **labels},
        "exp_annotations": {
            "summary": summary,
            "description": Plain().filled(alert, alert.description),
            "runbook_url": f"{PUBLISHED}/{PLACES[alert.name]}",
        },
    }
