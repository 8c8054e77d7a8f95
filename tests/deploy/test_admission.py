"""The sample admission policies, without a server: their shapes, their settings, and the syntax of their expressions.

What they refuse is tried on a real API server: tests/real/situations/test_admission.py.
"""

import re
from collections.abc import Iterator
from typing import Any

import celpy
import pytest
import yaml

from deploy.helm.copies import ROOT
from tests.deploy.chart.shapes import checked

FOLDER = ROOT / "deploy/admission"
FILES = sorted(FOLDER.glob("*.yaml"))
OBJECTS: list[dict[str, Any]] = [
    obj
    for file in FILES
    if file.stem != "kustomization"
    for obj in yaml.safe_load_all(file.read_text(encoding="utf-8"))
]
POLICIES = {each["metadata"]["name"]: each for each in OBJECTS if each["kind"] == "ValidatingAdmissionPolicy"}
BINDINGS = {each["metadata"]["name"]: each for each in OBJECTS if each["kind"] == "ValidatingAdmissionPolicyBinding"}
(SETTINGS,) = (each for each in OBJECTS if each["kind"] == "ConfigMap")


def expressions(policy: dict[str, Any]) -> Iterator[str]:
    for each in (*policy["spec"].get("variables", ()), *policy["spec"]["validations"]):
        yield from (each[field] for field in ("expression", "messageExpression") if field in each)


def test_every_object_has_only_fields_of_its_kind() -> None:
    found = {each["metadata"]["name"]: checked(each, f"V1{each['kind']}") for each in OBJECTS}
    assert {name: problem for name, problem in found.items() if problem} == {}


def test_the_kustomization_names_every_file() -> None:
    (listed,) = yaml.safe_load_all((FOLDER / "kustomization.yaml").read_text(encoding="utf-8"))
    assert {file.name for file in FILES} - {"kustomization.yaml"} == set(listed["resources"])


def test_every_policy_is_bound_closed_and_reads_the_one_config_map() -> None:
    assert POLICIES.keys() == BINDINGS.keys()
    reference = {key: SETTINGS["metadata"][key] for key in ("name", "namespace")}
    for name, binding in BINDINGS.items():
        assert binding["spec"]["policyName"] == name
        assert binding["spec"]["validationActions"] == ["Deny"]
        assert binding["spec"]["paramRef"] == {**reference, "parameterNotFoundAction": "Deny"}
        assert POLICIES[name]["spec"]["failurePolicy"] == "Fail"


def test_each_setting_is_read_and_each_that_is_read_is_there() -> None:
    text = "".join(expression for policy in POLICIES.values() for expression in expressions(policy))
    assert set(re.findall(r"params\.data\.(\w+)", text)) == set(SETTINGS["data"])


@pytest.mark.parametrize("name", POLICIES)
def test_the_expressions_can_be_parsed_and_fit_into_messages(name: str) -> None:
    environment = celpy.Environment()
    for expression in expressions(POLICIES[name]):
        environment.compile(expression)
    for each in POLICIES[name]["spec"]["validations"]:
        assert ("message" in each) is not ("messageExpression" in each)
