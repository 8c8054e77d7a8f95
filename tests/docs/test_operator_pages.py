"""docs/operators: the variables and examples of each page are those of the code, and refusals name their reason."""

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
COMPLETIONS = "unknown field, it is only for operator jobset"
TAKEN = "in every member, choose another name"


def ray(**params: str) -> Spec:
    return {"types": {"Head": {"resources": SMALL, "rayStartParams": params}, "Workers": []}}


ONE_TYPE: list[tuple[Spec, str]] = [
    ({"types": {"worker": {"completions": 2, "resources": SMALL}}}, COMPLETIONS),
    ({"debug": {"jupyter": {"enabled": True}}}, "jupyter is only for operator kuberay"),
    ({"types": {"worker": {"resources": SMALL}, "other": {"resources": SMALL}}}, "unknown field, known here"),
]
REFUSED: dict[str, list[tuple[Spec, str]]] = {
    **dict.fromkeys(("jax", "pytorch", "xgboost"), ONE_TYPE),
    "jobset": [
        ({"types": {"Trainer": {"resources": SMALL}}}, "is not lower-case letters, digits and '-'"),
        ({"types": {}}, "it is empty, write at least 1 entry"),
        ({"debug": {"jupyter": {"enabled": True}}}, "jupyter is only for operator kuberay"),
    ],
    "kuberay": [
        ({"types": {"Workers": []}}, "a required field is missing, write Head"),
        ({"types": {"Head": {"resources": SMALL, "count": 2}, "Workers": []}}, "unknown field, known here"),
        (
            {"types": {"Head": {"resources": SMALL}, "Workers": [{"name": "head", "resources": SMALL}]}},
            "is the name of Muster's own group",
        ),
        (ray(head="true"), "rayStartParams cannot set head"),
        (ray(address="10.0.0.1:6379"), "rayStartParams cannot set address"),
        (ray(block="false"), 'block must be "true"'),
        (ray(**{"include-dashboard": "false"}), 'include-dashboard must be "true"'),
        (ray(port="gcs"), "is not a port, write a number from 1 to 65535"),
        ({"debug": {"vscode": {"enabled": True}}}, "vscode is for every operator but kuberay"),
    ],
}
"""Specs that an operator refuses, and with which words."""


def page(operator: str) -> str:
    return (DOCS / "operators" / f"{operator}.md").read_text(encoding="utf-8")


def section(operator: str, title: str) -> str:
    return page(operator).split(f"## {title}\n")[1].split("\n## ")[0]


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in text.splitlines() if line[:1] == "|"]


@pytest.mark.parametrize("operator", PAGES)
def test_the_variables_of_a_page_are_those_that_are_set(operator: str) -> None:
    named = {name for row in rows(section(operator, "Environment")) for name in re.findall(r"`([A-Z_]+)`", row[0])}
    assert named - OTHER_NAMES == injected_env(operator)


@pytest.mark.parametrize("operator", PAGES)
def test_a_page_leads_to_the_example_that_is_run(operator: str) -> None:
    folder = BY_NAME[EXAMPLE_OF.get(operator, operator)].path.parent.name
    assert f"[examples/{folder}](../../examples/{folder}" in section(operator, "Example")


def refusal(operator: str, changed: Spec) -> str:
    """Return the words in which a manifest of an operator is refused."""
    types: Spec = {"worker": {"resources": SMALL}}
    if operator == "kuberay":
        types = {"Head": {"resources": SMALL}, "Workers": []}
    spec: Spec = {"operator": operator, "image": "a", "command": "b", "types": types} | changed
    document = {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "Experiment",
        "metadata": {"name": "run"},
        "spec": spec,
    }
    with pytest.raises(MusterError) as refused:
        load_manifest(json.dumps(document), filename="run.json")
    return str(refused.value)


@pytest.mark.parametrize("operator", PAGES)
def test_what_an_operator_cannot_run_is_refused_with_the_reason(operator: str) -> None:
    for changed, words in REFUSED[operator]:
        assert words in refusal(operator, changed)


@pytest.mark.parametrize("operator", PAGES)
def test_a_template_sets_no_variable_of_the_operator(operator: str) -> None:
    for variable in sorted(injected_env(operator)):
        template = {"spec": {"containers": [{"name": "main", "env": [{"name": variable, "value": "1"}]}]}}
        assert TAKEN in refusal(operator, {"template": template})
