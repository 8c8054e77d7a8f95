"""EnsureService: there is one, and it is ours."""

import pytest

from muster.api.errors import ApiError, Forbidden, Invalid, NotFound, Unreachable
from muster.api.names import API_VERSION
from muster.kube.paths import core
from muster.reconcilers.result import Outcome
from muster.state.actions import EnsureService
from muster.state.plan import Plan
from tests.fakes.engines import Bench
from tests.fakes.plans import gang, record

PATH = core("lab", "services", "moe")


async def ensure(bench: Bench, plan: Plan) -> Outcome:
    return await bench.engine.carry_out(EnsureService(), plan, record())


async def test_it_is_made_once_and_found_after_that() -> None:
    bench = Bench()
    assert await ensure(bench, gang()) == Outcome(service=True)
    assert await ensure(bench, gang()) == Outcome(service=True)
    assert bench.api.named("services") == ["moe"]


async def test_an_answer_lost_after_the_service_was_made_makes_no_trouble() -> None:
    bench = Bench()
    bench.api.fail("POST", Unreachable("Gateway Timeout", status=504), after=True)
    with pytest.raises(Unreachable):
        await ensure(bench, gang())
    assert await ensure(bench, gang()) == Outcome(service=True)


async def test_a_service_of_somebody_else_is_final_and_explained() -> None:
    bench = Bench()
    bench.api.put(PATH, {"kind": "Service"})
    refusal = (await ensure(bench, gang())).refusal
    assert refusal is not None
    assert (refusal.reason, refusal.final) == ("NameTaken", True)
    assert "give the experiment another name" in refusal.message


async def test_the_service_of_an_earlier_experiment_of_that_name_is_waited_for() -> None:
    bench = Bench()
    owner = {"apiVersion": API_VERSION, "kind": "Experiment", "name": "moe", "uid": "earlier", "controller": True}
    bench.api.put(PATH, {"kind": "Service", "metadata": {"ownerReferences": [owner]}})
    refusal = (await ensure(bench, gang())).refusal
    assert refusal is not None
    assert not refusal.final
    bench.api.remove(PATH)
    assert await ensure(bench, gang()) == Outcome(service=True)


@pytest.mark.parametrize(
    ("error", "reason", "final"),
    [
        (Forbidden("quota", status=403), "ServicesForbidden", False),
        (Invalid("a DNS-1035 label must start with a letter", status=422), "ServiceRejected", True),
        (NotFound('namespaces "lab" not found', status=404), "NamespaceGone", True),
    ],
)
async def test_a_no_is_a_refusal(error: ApiError, reason: str, final: bool) -> None:
    bench = Bench()
    bench.api.fail("POST", error)
    refusal = (await ensure(bench, gang())).refusal
    assert refusal is not None
    assert (refusal.reason, refusal.final) == (reason, final)


async def test_text_that_json_cannot_carry_is_refused() -> None:
    refusal = (await ensure(Bench(), gang(name="moe\udfff"))).refusal
    assert refusal is not None
    assert refusal.final
