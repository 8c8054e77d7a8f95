"""EnsureClaims creates the claim of the shared volume or finds it, and reports an obstacle."""

from dataclasses import replace

import msgspec
import pytest

from muster.api.errors import ApiError, Forbidden, Invalid, Unreachable
from muster.api.names import API_VERSION, LABEL_UID
from muster.kube.resources import core
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
async def test_a_refused_create_is_said(error: ApiError, reason: str, final: bool) -> None:
    bench = Bench()
    bench.api.fail("POST", error)
    refusal = refusal_in(await ensure(bench))
    assert (refusal.reason, refusal.final) == (reason, final)
    assert "PersistentVolumeClaim lab/moe-shared-abcde" in refusal.message
