"""The values that the chart has for the rules, below ``prometheusRule``: their defaults and their JSON schema."""

from typing import Any

from deploy.prometheus.clusters import LABEL
from deploy.prometheus.groups import ALERTS
from deploy.prometheus.row import GIVEN, Alert, Severity
from muster.metrics.runbooks import SITE
from muster.state.facts.audience import Audience

INTERVAL = "5s"
"""Interval of the evaluation of the alerts. With a scrape every 5 s and a group_wait of 5 s, a frozen coordinator is
reported within 30 s: the condition takes up to 10 s."""


_DURATION = {"type": "string", "pattern": r"^([0-9]+(ms|[smhdwy]))+$"}


def defaults() -> dict[str, Any]:
    """Return the values of the shipped rule."""
    return {
        "interval": INTERVAL,
        "runbookUrl": "",
        "job": "",
        "clusterLabel": LABEL,
        "clusters": [],
        "slo": {"enabled": False, "objective": float(GIVEN["objective"]), "weight": "time"},
        "alerts": {alert.name: values_of(alert) for alert in ALERTS},
    }


def schema() -> dict[str, Any]:
    """Return the properties of ``prometheusRule`` that the rules read. Misspelled names below ``alerts`` are errors."""
    return {
        "interval": {**_DURATION, "description": "How often the alerts are evaluated."},
        "runbookUrl": {
            "type": "string",
            "pattern": rf"^({SITE})?$",
            "description": "Where docs/runbooks is published, instead of musterd's own.",
        },
        "job": {"type": "string", "description": "The job label of musterd's scrape; empty: the name of its Service."},
        "clusterLabel": {
            "type": "string",
            "pattern": "^[a-zA-Z_][a-zA-Z0-9_]*$",
            "description": "The label that names the cluster where one Prometheus has several.",
        },
        "clusters": {
            "type": "array",
            "items": {"type": "string", "pattern": r"^[^\"\\\\{}]+$"},
            "description": "Clusters that must have a musterd, even if none was ever scraped there.",
        },
        "slo": _object(
            {
                "enabled": {"type": "boolean", "description": "Whether the group muster-slo exists."},
                "objective": {
                    "type": ["number", "string"],
                    "exclusiveMinimum": 0,
                    "exclusiveMaximum": 1,
                    "pattern": r"^(0?\.[0-9]*[1-9][0-9]*|[1-9][0-9]?(\.[0-9]+)?%)$",
                    "description": "The share of the time of runs that is not wasted (stuck, recovery, lost): "
                    "0.95 or 95%. Below 0.94 the fast alert cannot fire.",
                },
                "weight": {
                    "enum": ["time", "accelerators"],
                    "description": "What a run counts by: its time, or its time multiplied by its accelerators.",
                },
            },
            "Recordings of wasted time by namespace, and alerts at how fast it uses the objective up.",
        ),
        "alerts": _object({alert.name: _alert(alert) for alert in ALERTS}, "The alerts and their thresholds."),
    }


def values_of(alert: Alert) -> dict[str, Any]:
    """Return the values of one alert."""
    own: dict[str, Any] = {threshold.name: threshold.value for threshold in alert.thresholds}
    if alert.audience:
        own = {"audience": alert.audience.value, **own}
    return {"enabled": True, "severity": alert.severity.value, "for": alert.hold, "labels": {}, **own}


def _alert(alert: Alert) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "enabled": {"type": "boolean", "description": "Whether the rule exists."},
        "severity": {"type": "string", "minLength": 1, "description": f"One of {', '.join(Severity)}, or your own."},
        "for": {**_DURATION, "description": "How long the expression must be true."},
        "labels": {
            "type": "object",
            "additionalProperties": {"type": "string"},
            "description": "Labels that are added to the alert.",
        },
    }
    if alert.audience:
        meaning = f"Who is to see it: {' or '.join(Audience)}, or your own."
        properties["audience"] = {"type": "string", "minLength": 1, "description": meaning}
    for threshold in alert.thresholds:
        kind = _DURATION if isinstance(threshold.value, str) else {"type": "number", "exclusiveMinimum": 0}
        properties[threshold.name] = {**kind, "description": threshold.meaning}
    return _object(properties, alert.description)


def _object(properties: dict[str, Any], description: str) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "required": sorted(properties),
        "properties": properties,
        "description": description,
    }
