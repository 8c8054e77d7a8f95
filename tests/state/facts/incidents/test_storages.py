"""Over which storage gangs hang: what the plan of a run names, and what other runs show."""

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from muster.state.facts.incidents.belief import proven, storages_of
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Claim
from tests.builders import edited, plan, worker_group

A, B = ("file server", "a"), ("storage class", "b")


def mounting(*volumes: Any) -> Plan:
    return edited(plan(), groups=(replace(worker_group(4), template={"spec": {"volumes": volumes}}),))


def test_a_run_uses_the_classes_of_its_claims_and_the_servers_of_its_volumes() -> None:
    own = mounting({"nfs": {"server": "a"}}, {"csi": {"volumeAttributes": {"server": "c"}}}, {"emptyDir": {}})
    own = edited(own, claims=(Claim("data", {"storageClassName": "b"}),))
    assert storages_of(own) == {A, B, ("file server", "c")}


@pytest.mark.parametrize(
    "volume", [None, 7, {}, {"nfs": None}, {"nfs": {"server": 5}}, {"csi": {"volumeAttributes": []}}]
)
def test_a_volume_of_any_other_form_names_no_server(volume: Any) -> None:
    assert storages_of(mounting(volume, *[{"nfs": {"server": ""}}] * 3)) == frozenset()


@pytest.mark.parametrize(
    ("hung", "well", "others", "found"),
    [
        ([{A}] * 5, 0, True, {A}),
        ([{A}] * 4, 0, True, set()),
        ([{A}] * 9, 1, True, set()),
        ([{A}] * 10, 1, True, {A}),
        ([{A}] * 10, 0, False, set()),
        ([{A}] * 5 + [set()] * 5, 0, True, {A}),
        ([{A}] * 5 + [set()] * 6, 0, True, set()),
        ([{A}] * 5 + [{B}] * 9, 0, True, {A, B}),
    ],
)
def test_a_storage_is_proven_by_the_runs_beside_it(
    hung: list[set[tuple[str, str]]], well: int, others: bool, found: set[tuple[str, str]]
) -> None:
    assert proven(hung, Counter({A: well}), others=others) == found
