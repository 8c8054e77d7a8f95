"""The existing claims that a JobSet uses: its own, and equal retained ones that belong to nobody else."""

from dataclasses import replace
from typing import Any

import pytest

from muster.kinds.jobset.spec import JOBSET_NAME
from muster.kube.resources import core
from muster.reconcilers.native.claims import differing
from muster.reconcilers.result import Outcome
from muster.state.vocabulary.actions import EnsureClaims
from muster.state.vocabulary.pod import Claim
from tests.fakes.engines import Bench
from tests.fakes.plans import gang
from tests.reconcilers.conftest import do, refusal_in

SPEC = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
STORED = {
    "accessModes": ["ReadWriteMany"],
    "resources": {"requests": {"storage": "1024Mi"}},
    "volumeMode": "Filesystem",
    "volumeName": "pv-1",
}
"""The claim as the API server and the volume binder complete it."""
RETAINED = Claim("data-moe", SPEC, labels={JOBSET_NAME: "moe"}, owned=False)
OWNED = replace(RETAINED, owned=True)
PATH = core("lab", "persistentvolumeclaims", "data-moe")
OURS = {"apiVersion": "v1", "kind": "Experiment", "name": "moe", "uid": gang().uid, "controller": True}
LABELLED = {"labels": {JOBSET_NAME: "moe"}}


async def ensure(claim: Claim, found: dict[str, Any], spec: dict[str, Any] | None = None) -> Outcome:
    bench = Bench()
    bench.api.put(PATH, {"kind": "PersistentVolumeClaim", "metadata": found, "spec": spec or STORED})
    return await do(bench, EnsureClaims(0), replace(gang(), claims=(claim,)))


@pytest.mark.parametrize(
    ("claim", "found"), [(OWNED, {"ownerReferences": [OURS]}), (RETAINED, LABELLED), (RETAINED, {})]
)
async def test_a_claim_of_ones_own_or_a_retained_one_that_is_alike_is_used(claim: Claim, found: dict[str, Any]) -> None:
    assert await ensure(claim, found) == Outcome(claims=0)


@pytest.mark.parametrize(
    ("claim", "found", "why"),
    [
        (OWNED, {}, "not owned by moe; whenDeleted: Delete would remove data"),
        (OWNED, LABELLED, "set whenDeleted: Retain to use it"),
        (OWNED, {"ownerReferences": [{**OURS, "uid": "x", "name": "other"}]}, "is controlled by Experiment other"),
        (RETAINED, {"ownerReferences": [{**OURS, "uid": "x", "name": "other"}]}, "is controlled by Experiment other"),
        (RETAINED, {"labels": {JOBSET_NAME: "moe-2"}}, "is that of JobSet 'moe-2' by its label"),
    ],
)
async def test_a_claim_of_anothers_is_a_final_refusal_that_says_whose(
    claim: Claim, found: dict[str, Any], why: str
) -> None:
    refusal = refusal_in(await ensure(claim, found))
    assert (refusal.reason, refusal.final) == ("NameTaken", True)
    assert "PersistentVolumeClaim lab/data-moe" in refusal.message
    assert why in refusal.message


async def test_a_retained_claim_of_another_spec_is_refused_by_the_field() -> None:
    refusal = refusal_in(await ensure(RETAINED, LABELLED, {**STORED, "resources": {"requests": {"storage": "2Gi"}}}))
    assert (refusal.reason, refusal.final) == ("NameTaken", True)
    assert "another spec.resources.requests.storage than the template states" in refusal.message


async def test_a_retained_claim_that_is_being_deleted_is_waited_for() -> None:
    refusal = refusal_in(await ensure(RETAINED, {**LABELLED, "deletionTimestamp": "2026-01-01T00:00:00Z"}))
    assert not refusal.final


@pytest.mark.parametrize(
    ("wanted", "found", "field"),
    [
        ({}, STORED, ""),
        (SPEC, STORED, ""),
        ({"storageClassName": "fast"}, STORED, "storageClassName"),
        ({"accessModes": ["ReadWriteOnce"]}, STORED, "accessModes"),
        ({"resources": {"requests": {"storage": "many"}}}, STORED, "resources.requests.storage"),
        ({"resources": {"limits": {"storage": "1Gi"}}}, STORED, "resources.limits"),
    ],
)
def test_the_fields_that_are_stated_are_compared(wanted: dict[str, Any], found: dict[str, Any], field: str) -> None:
    assert differing(wanted, found) == field
