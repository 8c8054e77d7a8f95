"""A pod's environment has secrets by value and by name, and the words of its programs lose both."""

import os

import pytest

from muster.api.values.secrets import (
    MOST_NAMES,
    MOST_PREFIXES,
    NO_SECRETS,
    REMOVED,
    Secrets,
    secrets_of,
    secrets_within,
    without_named,
    without_secrets,
)
from muster.api.values.termination_message import words
from tests.bounds.test_bounds import steps

VALUE = "Zq7 is not-known"
WORD = "Zq7-is-not-known"
TOKEN = "k9#mQ2/vL+7x"
BY_NAME = {"name": "RUN_OWNER", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}}
PRINTED = (
    f"RUN_OWNER={VALUE}",
    f"HOME=/root\nRUN_OWNER={VALUE}\nPATH=/bin",
    f"export RUN_OWNER={VALUE}",
    f"bad RUN_OWNER={WORD} given",
    f"RUN_OWNER: {WORD}",
    f"'RUN_OWNER': '{VALUE}'",
    f'"RUN_OWNER": "{VALUE}"',
    f'\\"RUN_OWNER\\": \\"{VALUE}\\"',
    f"b'RUN_OWNER': b'{VALUE}'",
    f"os.environ['RUN_OWNER'] = '{VALUE}'",
    f"('RUN_OWNER', '{VALUE}')",
    f"Settings(run_owner='{VALUE}')",
    f"config.RUN_OWNER={WORD}",
    f"map[RUN_OWNER:{WORD} HOME:/root]",
    f"?RUN_OWNER%3D{WORD}",
    f"A=1 RUN_OWNER={WORD}",
    f"RUN_OWNER='it\\'s {VALUE}'",
)


@pytest.mark.parametrize("printed", PRINTED)
@pytest.mark.parametrize("one", [{"env": [BY_NAME]}, {"envFrom": [{"prefix": "RUN_", "secretRef": {"name": "s"}}]}])
def test_the_value_of_a_variable_that_comes_from_a_secret_is_removed_by_its_name(printed: str, one: object) -> None:
    left = without_secrets(printed, secrets_of({"containers": [one]}))
    assert REMOVED in left
    assert "not-known" not in left
    assert without_secrets(printed) == printed


def test_what_is_beside_the_value_stays() -> None:
    secrets = secrets_of({"initContainers": [{"env": [BY_NAME]}]})
    environ = repr(os._Environ({}, str, str, str, str))  # noqa: SLF001
    assert environ == "environ({})"
    said = "environ({'HOME': '/root', 'RUN_OWNER': 'a b', 'N': '3'})"
    assert without_secrets(said, secrets) == f"environ({{'HOME': '/root', 'RUN_OWNER': '{REMOVED}', 'N': '3'}})"
    for said in ("KeyError: 'RUN_OWNER'", "RUN_OWNER is not set", "MY_RUN_OWNER=3", "RUN_OWNERS: 3"):
        assert without_secrets(said, secrets) == said


def test_a_variable_of_a_config_map_or_with_a_value_is_no_name() -> None:
    env = [
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
        {"name": "B", "value": "3"},
        {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ]
    sources = [{"prefix": "D_", "configMapRef": {"name": "c"}}, {"secretRef": {"name": "s"}}]
    assert secrets_of({"containers": [{"env": env, "envFrom": sources}]}) == NO_SECRETS


def test_secrets_are_found_wherever_a_spec_has_its_templates() -> None:
    template = {"spec": {"containers": [{"env": [BY_NAME, {"name": "API_TOKEN", "value": TOKEN}]}]}}
    found = secrets_within({"replicatedJobs": [{"template": {"spec": {"template": template}}}]})
    assert found.names == {"run_owner"}
    assert TOKEN in found.values


@pytest.mark.parametrize(
    "spec",
    [
        None,
        [],
        {"containers": 3},
        {"containers": [3, {"env": [3, {"name": 1}, {"name": "A", "valueFrom": 3}]}]},
        {"containers": [{"env": 3, "envFrom": [3, {"secretRef": 3}, {"secretRef": {}, "prefix": 3}]}]},
    ],
)
def test_a_pod_of_another_form_has_none(spec: object) -> None:
    assert secrets_of(spec) == secrets_within(spec) == NO_SECRETS


def test_the_number_of_names_and_of_prefixes_is_bounded() -> None:
    many = [{"prefix": f"P{number}_", "secretRef": {"name": "s"}} for number in range(10 * MOST_PREFIXES)]
    found = secrets_of({"containers": [{"env": [BY_NAME | {"name": f"N{n}"} for n in range(3000)], "envFrom": many}]})
    assert (len(found.names), len(found.prefixes)) == (MOST_NAMES, MOST_PREFIXES)


@pytest.mark.parametrize("text", ["A=", "A='", "A: A=", "\\'", "A='\\", "A", "A ", " ", "A=\n", "'A', '"])
def test_the_time_is_linear_in_the_text(text: str) -> None:
    names = Secrets(names=frozenset("a"), prefixes=("a",))
    one, two = (steps(lambda: without_named(text * n, names.names, names.prefixes)) for n in (4000, 8000))  # noqa: B023
    assert two <= 2.3 * one


def test_the_last_words_of_a_program_hold_no_secret_of_its_pod() -> None:
    secrets = secrets_of({"containers": [{"env": [BY_NAME, {"name": "API_TOKEN", "value": TOKEN}]}]})
    assert words(f"wrong key {TOKEN}", secrets=secrets).text == f"wrong key {REMOVED}"
    said = f"Traceback (most recent call last):\n  File \"a.py\", line 4, in f\nKeyError: {{'RUN_OWNER': '{VALUE}'}}"
    found = words(said, secrets=secrets)
    assert found.text == f"KeyError: {{'RUN_OWNER': '{REMOVED}'}}"
    assert "not-known" not in found.last_line
