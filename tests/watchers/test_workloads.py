"""Workloads of Kueue as records."""

from typing import Any

import pytest

from muster.api.values.timestamps import seconds_of
from muster.watchers.workloads import DECODER
from tests.builders import sure
from tests.fakes.apiserver import event


def workload(**changes: Any) -> dict[str, Any]:
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "Workload",
        "metadata": {
            "uid": "w1", "name": "own", "namespace": "kq", "resourceVersion": "7", "generation": 2,
            "creationTimestamp": "2026-11-22T00:55:18Z", "finalizers": ["muster.dev/quota"],
            "labels": {"muster.dev/experiment-uid": "e1"},
            "ownerReferences": [{"uid": "p1"}, {"uid": "e1", "controller": True}],
        },
        "spec": {"queueName": "q", "active": True},
    } | changes  # fmt: skip


def test_a_workload_is_flat_and_holds_its_conditions_as_kueue_wrote_them() -> None:
    long = "x" * 2000
    condition = {
        "type": "QuotaReserved", "status": "False", "reason": "WaitingForQuota", "message": long,
        "lastTransitionTime": "2026-11-22T00:55:18Z", "observedGeneration": 2,
    }  # fmt: skip
    got = sure(DECODER.event(event("ADDED", workload(status={"conditions": [condition]}))).obj)
    assert (got.uid, got.name, got.owner, got.queue, got.active, got.held, got.deleting) == (
        "w1", "own", "e1", "q", True, True, False
    )  # fmt: skip
    assert got.conditions[0].message == long, "a patch sends it back as it was"
    assert not got.reserved
    assert got.created > 0


@pytest.mark.parametrize("bare", [{"spec": None}, {"spec": {}}, {"spec": {"active": None}, "status": None}])
def test_what_is_absent_is_as_kueue_reads_it(bare: dict[str, Any]) -> None:
    got = sure(DECODER.event(event("ADDED", workload(**bare))).obj)
    assert got.active
    assert not got.admitted


def test_an_inactive_workload_is_not_admitted_whatever_its_conditions_say() -> None:
    true = [{"type": kind, "status": "True"} for kind in ("QuotaReserved", "Admitted")]
    for spec, admitted in (({"active": True}, True), ({"active": False}, False)):
        got = sure(DECODER.event(event("ADDED", workload(spec=spec, status={"conditions": true}))).obj)
        assert got.admitted is admitted


@pytest.mark.parametrize("wrong", [{"uid": ""}, {"name": ""}, {"resourceVersion": "x"}])
def test_a_workload_without_metadata_is_a_problem_and_not_an_error(wrong: dict[str, Any]) -> None:
    obj = workload()
    assert DECODER.event(event("ADDED", {**obj, "metadata": {**obj["metadata"], **wrong}})).problem


def test_the_last_write_of_kueue_is_read_from_the_managed_fields() -> None:
    fields = [
        {"manager": "kueue-admission", "operation": "Apply", "subresource": "status", "time": "2026-11-22T01:00:00Z"},
        {"manager": "kueue", "operation": "Update", "subresource": "status", "time": "2026-11-22T00:59:00Z"},
        {"manager": "kueue", "operation": "Update", "time": "2026-11-22T02:00:00Z", "fieldsV1": {"f:spec": {}}},
        {"manager": "muster", "operation": "Update", "subresource": "status", "time": "2026-11-22T03:00:00Z"},
    ]
    got = sure(DECODER.event(event("ADDED", workload(metadata=workload()["metadata"] | {"managedFields": fields}))).obj)
    assert got.kueue_wrote == seconds_of("2026-11-22T01:00:00Z")


def test_of_a_workload_that_kueue_made_its_words_are_kept_and_bounded() -> None:
    metadata = workload()["metadata"] | {"labels": {"kueue.x-k8s.io/job-uid": "e1"}}
    condition = {"type": "QuotaReserved", "status": "False", "message": "x" * 100_000}
    got = sure(DECODER.event(event("ADDED", workload(metadata=metadata, status={"conditions": [condition] * 100}))).obj)
    assert (got.ours, got.owner, got.queue, got.finalizers) == (False, "e1", "q", ())
    assert len(got.conditions) <= 32
    assert all(len(each.message) < 1_000 for each in got.conditions)
