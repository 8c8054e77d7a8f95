"""docs/operators: the variables, examples and refusals of each page are those of the code."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from muster.api.errors import MusterError
from muster.api.manifest.load import load_manifest
from muster.api.manifest.operators import injected_env, operators
from tests.examples.table import BY_NAME

DOCS = Path(__file__).parents[2] / "docs"
SMALL = {"cpus": 1, "ramRatio": 1}
PAGES = tuple(operators())
EXAMPLE_OF = {"kuberay": "ray"}
OTHER_NAMES = {"MUSTER_POD_IP"}
"""Variables of every operator that a page may explain, too."""

Spec = dict[str, Any]
REFUSED: dict[str, Spec] = {
    "`types.worker.completions`": {"types": {"worker": {"completions": 2, "resources": SMALL}}},
    "`debug.jupyter`": {"debug": {"jupyter": {"enabled": True}}},
    "a type beside `worker`": {"types": {"worker": {"resources": SMALL}, "other": {"resources": SMALL}}},
    "a type named `Trainer`": {"types": {"Trainer": {"resources": SMALL}}},
    "no type": {"types": {}},
    "a template that sets a variable of the table above": {"template": True},
    "no `Head`": {"types": {"Workers": []}},
    "`types.Head.count`": {"types": {"Head": {"resources": SMALL, "count": 2}, "Workers": []}},
    "a group of workers named `head` or `submitter`": {
        "types": {"Head": {"resources": SMALL}, "Workers": [{"name": "head", "resources": SMALL}]}
    },
    "`debug.vscode`": {"debug": {"vscode": {"enabled": True}}},
}
"""What a page says is refused, and a spec that asks for it."""


def page(operator: str) -> str:
    return (DOCS / "operators" / f"{operator}.md").read_text(encoding="utf-8")


def section(operator: str, title: str) -> str:
    return page(operator).split(f"## {title}\n")[1].split("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:1] == "|"]


def ray(**params: str) -> Spec:
    return {"types": {"Head": {"resources": SMALL, "rayStartParams": params}, "Workers": []}}


REFUSED |= {
    "`rayStartParams.head`": ray(head="true"),
    "`rayStartParams.address`": ray(address="10.0.0.1:6379"),
    '`rayStartParams.block` other than `"true"`': ray(block="false"),
    '`rayStartParams.include-dashboard` other than `"true"`': ray(**{"include-dashboard": "false"}),
    "a port that is no number": ray(port="gcs"),
}


@pytest.mark.parametrize("operator", PAGES)
def test_the_variables_of_a_page_are_those_that_are_set(operator: str) -> None:
    named = {name for row in rows(section(operator, "Environment")) for name in re.findall(r"`([A-Z_]+)`", row[0])}
    assert named - OTHER_NAMES == injected_env(operator)


@pytest.mark.parametrize("operator", PAGES)
def test_a_page_leads_to_the_example_that_is_run(operator: str) -> None:
    folder = BY_NAME[EXAMPLE_OF.get(operator, operator)].path.parent.name
    assert f"[examples/{folder}](../../examples/{folder}" in section(operator, "Example")


@pytest.mark.parametrize("operator", PAGES)
def test_what_a_page_says_is_refused_is_refused_with_these_words(operator: str) -> None:
    answers = rows(section(operator, "What is refused"))[2:]
    assert answers
    for what, answer in answers:
        types: Spec = {"worker": {"resources": SMALL}}
        if operator == "kuberay":
            types = {"Head": {"resources": SMALL}, "Workers": []}
        spec: Spec = {"operator": operator, "image": "a", "command": "b", "types": types} | REFUSED[what]
        if spec.get("template"):
            variable = sorted(injected_env(operator))[0]
            container = {"name": "main", "env": [{"name": variable, "value": "1"}]}
            spec["template"] = {"spec": {"containers": [container]}}
        document = {
            "apiVersion": "muster.dev/v1alpha1",
            "kind": "Experiment",
            "metadata": {"name": "run"},
            "spec": spec,
        }
        with pytest.raises(MusterError) as refused:
            load_manifest(json.dumps(document), filename="run.json")
        assert answer.strip("`") in str(refused.value), what
