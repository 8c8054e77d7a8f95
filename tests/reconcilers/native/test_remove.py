"""DeleteSubject deletes the object of the decision: by uid and resourceVersion."""

import pytest

from muster.api.errors import Conflict, Forbidden, NotFound, Unreachable
from muster.reconcilers.refs import path_of
from muster.reconcilers.result import Outcome
from muster.state.vocabulary.actions import DeleteSubject
from tests.fakes.engines import Bench, finished
from tests.fakes.plans import gang, record
from tests.reconcilers.conftest import refusal_in

PLAN = gang(1)
PATH = path_of(PLAN)
DELETE = f"DELETE {PATH}"


def bench_with() -> tuple[Bench, int]:
    """Return a bench whose API server has the object, and the object's resourceVersion."""
    bench = Bench()
    made = bench.api.put(PATH, {"metadata": {"name": PLAN.name, "namespace": PLAN.namespace, "uid": PLAN.uid}})
    return bench, int(made["metadata"]["resourceVersion"])


async def delete(bench: Bench, version: int, written: int = 0) -> Outcome:
    return finished(await bench.engine.carry_out(DeleteSubject(), PLAN, record(), written, version))


async def test_the_object_is_deleted_as_it_was_decided_on() -> None:
    bench, version = bench_with()
    assert await delete(bench, version) == Outcome(removed=True)
    (request,) = bench.api.asked(DELETE)
    assert request.body["preconditions"] == {"uid": PLAN.uid, "resourceVersion": str(version)}
    assert request.body["propagationPolicy"] == "Background"
    assert PATH not in bench.api.objects


async def test_a_status_write_of_the_same_step_is_the_version_to_delete() -> None:
    bench, version = bench_with()
    await delete(bench, version - 1, written=version)
    assert PATH not in bench.api.objects


async def test_an_object_that_was_edited_meanwhile_stays_for_the_next_decision() -> None:
    bench, version = bench_with()
    with pytest.raises(Conflict):
        await delete(bench, version - 1)
    assert PATH in bench.api.objects


async def test_one_that_is_gone_is_deleted() -> None:
    bench, version = bench_with()
    bench.api.fail(DELETE, NotFound("gone", status=404))
    assert await delete(bench, version) == Outcome(removed=True)


async def test_an_answer_that_is_lost_is_asked_for_again() -> None:
    bench, version = bench_with()
    bench.api.fail(DELETE, Unreachable("reset"))
    with pytest.raises(Unreachable):
        await delete(bench, version)
    assert await delete(bench, version) == Outcome(removed=True)


async def test_a_missing_right_is_said_and_never_final() -> None:
    bench, version = bench_with()
    text = 'experiments.muster.dev "run" is forbidden: User "musterd" cannot delete resource "experiments"'
    bench.api.fail(DELETE, Forbidden(text, status=403))
    refusal = refusal_in(await delete(bench, version))
    assert (refusal.reason, refusal.final) == ("RightsMissing", False)
    assert f"refuses to delete Experiment {PLAN.namespace}/{PLAN.name}" in refusal.message
