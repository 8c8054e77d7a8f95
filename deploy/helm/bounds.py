"""Bounds and defaults of musterd's settings with which the chart compares its values: ``templates/_bounds.tpl``."""

import json
from typing import Any

from muster.api.values import durations, owners, retention
from muster.daemon.settings import Settings

HEAD = "{{/* Made by `python -m deploy.helm` from what musterd checks. Do not edit. */}}\n"
COMPARED = ("lease_duration", "renew_deadline", "retry_period", "shutdown_timeout")
"""Settings whose default is compared with another value where they have none."""


def bounds() -> dict[str, Any]:
    """Return each bound by its name in the templates."""
    return {
        "default": {name: Settings.model_fields[name].get_default() for name in COMPARED},
        "owners": owners.MOST,
        "retention": {
            "entries": retention.MOST,
            "least": retention.SHORTEST,
            "most": durations.MAX_SECONDS,
            "shown": f"from {durations.format_duration(retention.SHORTEST)} to "
            f"{durations.format_duration(durations.MAX_SECONDS)}",
        },
    }


def bounds_template() -> str:
    """Return the text of the file: JSON is YAML."""
    return f'{HEAD}{{{{- define "muster.bounds" -}}}}\n{json.dumps(bounds(), indent=2)}\n{{{{- end }}}}\n'
