"""A value that the chart takes is one with which musterd starts: many values of each setting are tried with both."""

import json
from collections import defaultdict
from typing import Any

import pytest
import yaml
from pydantic import ValidationError
from pydantic.alias_generators import to_camel

from deploy.helm.manifests import RenderFailed, render
from deploy.helm.values import NOT_IN_THE_CHART
from muster.daemon.settings import Settings, from_command_line
from tests.deploy.chart.conftest import arguments

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

NUMBERS = (-1, 0, 0.5, 1, 7, 4000, 70000, 10**9)
TEXTS = ("a", "a-b", "A", "a b", "a.b", "-a", "a,b", "a,,b", ",", "a=b", "ä", "a\nb", "b" * 64, "c" * 300, "0", "true")
OWN: dict[str, tuple[Any, ...]] = {
    "retention": (
        *("30d", "30days", "30", "1w 2d", "2d 1w", "1d,1d", "1d,a=1h,a=2h", "a=keep", "A=1d", "a=", "=1d", "keep"),
        *("59s", "60s", "0d 59s", "1m", "11y", "600w", "1d;ci=1h", " 30d , ci = 12h ", "1d,", f"{'1' * 10}s"),
        ",".join(f"n{number}=1d" for number in range(1025)),
    ),
    "http_authentication": ("auto", "never"),
    "lease_duration": (11, 60, 10.0, "15"),
    "log_format": ("json", "yaml"),
    "log_level": ("debug", "trace"),
    "accelerators": ("nvidia.com/gpu", "*", "**", "*gpu*", "a*b", "nvidia.com/gpu,", "x" * 2001),
    "owner_labels": ("team", "team=a|b", "team=|", "team,team", "a.b,a-b", "a/b/c", "x" * 2001, "a,b,c,d,e,f,g,h,i"),
    "run_kinds": ("jobsets", "jobsets,jaxjobs", "none", "jobset", "jobsets,none", "pods"),
    "otlp_endpoint": ("http://a", "https://a:1", "ftp://a", "http://", "http://a b"),
}
MORE = defaultdict(str, progress_port="progress.secretName=p,")
"""Values without which the one that is tried has no effect."""
CHOSEN = [
    name for name in Settings.model_fields if name not in NOT_IN_THE_CHART and name not in ("http_names", "lease_name")
]


RUNBOOKS = ("https://a", "http://a/b?c#d", "/runbooks", "https://a b", "https://a<b", 'https://a"b', "https://a'b")
PAGES = ("https://a", "http://a.b:1/", "https://a/b", "https://", "https://a,b", "https://[::1]", "https://a:x", "")
VALUES = {
    "runbook_url": ("prometheusRule.runbookUrl", (*RUNBOOKS, "ftp://a", "")),
    "http_names": ("externalUrl", PAGES),
    "watch_kinds": ("watch.kinds", ("all", "jobs,pods", "jobs,,pods", "job", "pods,all", "jobsets", "")),
    "progress_port": ("progress.port", (8443, 1, 65535)),
    "lease_name": ("fullnameOverride", ("a.b", "a" * 50, "a" * 51, "musterd")),
}
"""Settings that other values set, with what is tried of each."""


@pytest.mark.parametrize("name", [*CHOSEN, *VALUES])
def test_a_value_of_the_chart_is_one_that_musterd_takes(name: str, helm: Any) -> None:
    value, own = VALUES.get(name) or (f"settings.{to_camel(name)}", OWN.get(name, ()))
    taken = 0
    for each in (*TEXTS, *NUMBERS, True, False, *own):
        try:
            text = render(helm, "--set-json", f"{value}={json.dumps(each)}", "--set", f"{MORE[name]}replicas=1")
        except RenderFailed:
            continue
        taken += 1
        given = arguments([each for each in yaml.load_all(text, Loader=yaml.CSafeLoader) if each])
        try:
            from_command_line(given)
        except (SystemExit, ValidationError):
            pytest.fail(f"the chart takes {value}={each!r}, and musterd does not start")
    assert taken, "no value was tried that is right"
