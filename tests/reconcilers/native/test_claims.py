"""EnsureClaims creates the claims of a plan or finds them: its own, and equal retained ones that nobody else has."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from muster.api.errors import ApiError, Forbidden, Invalid, Unreachable
from muster.api.names import API_VERSION, LABEL_UID
from muster.kinds.jobset.spec import JOBSET_NAME
from muster.kube.resources import core
from muster.reconcilers.native.claims import differing
from muster.reconcilers.result import Outcome
from muster.state.vocabulary.actions import EnsureClaims
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Claim
from tests.fakes.engines import Bench
from tests.fakes.plans import gang, record
from tests.reconcilers.conftest import do, refusal_in

SPEC = {
    "accessModes": ["ReadWriteMany"],
    "resources": {"requests": {"storage": "5000000000"}},
    "storageClassName": "fast",
}
CLAIM = Claim("moe-shared-abcde", SPEC, labels={LABEL_UID: gang().uid}, exclusive=True)
PLAN = replace(gang(), claims=(CLAIM,))
PATH = core("lab", "persistentvolumeclaims", "moe-shared-abcde")
OWNED = {"apiVersion": API_VERSION, "kind": "Experiment", "name": "moe", "uid": PLAN.uid, "controller": True}


async def ensure(bench: Bench, plan: Plan = PLAN, epoch: int = 0) -> Outcome:
    return await do(bench, EnsureClaims(epoch), plan, epoch)


async def test_the_claim_is_created_as_asked_and_found_in_the_next_epoch() -> None:
    bench = Bench()
    assert await ensure(bench) == Outcome(claims=0)
    made = bench.api.objects[PATH]
    assert made["spec"] == SPEC
    (owner,) = made["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == (PLAN.uid, True), "the garbage collector removes it with its owner"
    assert await ensure(bench, epoch=1) == Outcome(claims=1)
    assert bench.api.named("persistentvolumeclaims") == ["moe-shared-abcde"]


async def test_a_lost_answer_to_the_create_is_success_the_next_time() -> None:
    bench = Bench()
    bench.api.fail("POST", Unreachable("the connection broke"), after=True)
    with pytest.raises(Unreachable):
        await ensure(bench)
    assert await ensure(bench) == Outcome(claims=0)


async def test_a_claim_that_was_deleted_is_not_made_again_before_the_record_says_so() -> None:
    bench = Bench()
    await ensure(bench)
    bench.api.remove(PATH)
    there = msgspec.structs.replace(record(1), volume_at=1.0)
    asked = EnsureClaims(1)
    assert await bench.engine.carry_out(asked, PLAN, there) == Outcome(volume_gone=True)
    assert bench.api.named("persistentvolumeclaims") == []
    said = msgspec.structs.replace(there, volume_at=None, volume_lost_at=2.0)
    assert await bench.engine.carry_out(asked, PLAN, said) == Outcome(claims=1)
    assert bench.api.named("persistentvolumeclaims") == ["moe-shared-abcde"]


async def test_a_claim_that_is_being_deleted_is_waited_for() -> None:
    bench = Bench()
    bench.api.put(PATH, {"kind": "PersistentVolumeClaim", "metadata": {
        "labels": {LABEL_UID: PLAN.uid}, "ownerReferences": [OWNED],
        "deletionTimestamp": bench.api.now(), "finalizers": ["kubernetes.io/pvc-protection"],
    }})  # fmt: skip
    refusal = refusal_in(await ensure(bench))
    assert not refusal.final


async def test_a_foreign_claim_of_that_name_is_a_final_refusal() -> None:
    bench = Bench()
    bench.api.put(PATH, {"kind": "PersistentVolumeClaim"})
    refusal = refusal_in(await ensure(bench))
    assert (refusal.reason, refusal.final) == ("NameTaken", True)


@pytest.mark.parametrize(
    ("error", "reason", "final"),
    [
        (Forbidden("exceeded quota: storage", status=403), "QuotaExceeded", False),
        (Forbidden('x is forbidden: User "musterd" cannot create resource', status=403), "RightsMissing", False),
        (Forbidden("no", status=403), "PersistentVolumeClaimsForbidden", False),
        (Invalid("spec.resources: too small", status=422), "PersistentVolumeClaimRejected", True),
    ],
)  # fmt: skip
async def test_a_refused_create_is_reported(error: ApiError, reason: str, final: bool) -> None:
    bench = Bench()
    bench.api.fail("POST", error)
    refusal = refusal_in(await ensure(bench))
    assert (refusal.reason, refusal.final) == (reason, final)
    assert "PersistentVolumeClaim lab/moe-shared-abcde" in refusal.message


TEMPLATE = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
STORED = {
    "accessModes": ["ReadWriteMany"],
    "resources": {"requests": {"storage": "1024Mi"}},
    "volumeMode": "Filesystem",
    "volumeName": "pv-1",
}
"""The claim as the API server and the volume binder complete it."""
RETAINED = Claim("data-moe", TEMPLATE, labels={JOBSET_NAME: "moe"}, owned=False)
DELETED = replace(RETAINED, owned=True)
DATA = core("lab", "persistentvolumeclaims", "data-moe")
OURS = {"apiVersion": "v1", "kind": "Experiment", "name": "moe", "uid": gang().uid, "controller": True}
LABELLED = {"labels": {JOBSET_NAME: "moe"}}


async def finds(claim: Claim, found: dict[str, Any], spec: dict[str, Any] | None = None) -> Outcome:
    bench = Bench()
    bench.api.put(DATA, {"kind": "PersistentVolumeClaim", "metadata": found, "spec": spec or STORED})
    return await do(bench, EnsureClaims(0), replace(gang(), claims=(claim,)))


@pytest.mark.parametrize(
    ("claim", "found"), [(DELETED, {"ownerReferences": [OURS]}), (RETAINED, LABELLED), (RETAINED, {})]
)
async def test_a_claim_of_ones_own_or_a_retained_one_that_is_alike_is_used(claim: Claim, found: dict[str, Any]) -> None:
    assert await finds(claim, found) == Outcome(claims=0)


@pytest.mark.parametrize(
    ("claim", "found", "why"),
    [
        (DELETED, {}, "not owned by moe; whenDeleted: Delete would remove data"),
        (DELETED, LABELLED, "set whenDeleted: Retain to use it"),
        (DELETED, {"ownerReferences": [{**OURS, "uid": "x", "name": "other"}]}, "is controlled by Experiment other"),
        (RETAINED, {"ownerReferences": [{**OURS, "uid": "x", "name": "other"}]}, "is controlled by Experiment other"),
        (RETAINED, {"labels": {JOBSET_NAME: "moe-2"}}, "is that of JobSet 'moe-2' by its label"),
    ],
)
async def test_a_claim_of_anothers_is_a_final_refusal_that_names_it(
    claim: Claim, found: dict[str, Any], why: str
) -> None:
    refusal = refusal_in(await finds(claim, found))
    assert (refusal.reason, refusal.final) == ("NameTaken", True)
    assert "PersistentVolumeClaim lab/data-moe" in refusal.message
    assert why in refusal.message


async def test_a_retained_claim_of_another_spec_is_refused_by_the_field() -> None:
    refusal = refusal_in(await finds(RETAINED, LABELLED, {**STORED, "resources": {"requests": {"storage": "2Gi"}}}))
    assert (refusal.reason, refusal.final) == ("NameTaken", True)
    assert "another spec.resources.requests.storage than the template states" in refusal.message


async def test_a_retained_claim_that_is_being_deleted_is_waited_for() -> None:
    refusal = refusal_in(await finds(RETAINED, {**LABELLED, "deletionTimestamp": "2026-01-01T00:00:00Z"}))
    assert not refusal.final


@pytest.mark.parametrize(
    ("wanted", "found", "field"),
    [
        ({}, STORED, ""),
        (TEMPLATE, STORED, ""),
        ({"storageClassName": "fast"}, STORED, "storageClassName"),
        ({"accessModes": ["ReadWriteOnce"]}, STORED, "accessModes"),
        ({"resources": {"requests": {"storage": "many"}}}, STORED, "resources.requests.storage"),
        ({"resources": {"limits": {"storage": "1Gi"}}}, STORED, "resources.limits"),
    ],
)
def test_the_fields_that_are_stated_are_compared(wanted: dict[str, Any], found: dict[str, Any], field: str) -> None:
    assert differing(wanted, found) == field
