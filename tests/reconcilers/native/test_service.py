"""EnsureService creates the headless Service or finds it."""

from muster.api.names import API_VERSION
from muster.kube.resources import core
from muster.reconcilers.result import Outcome
from muster.state.vocabulary.actions import EnsureService
from muster.state.vocabulary.plan import Plan
from tests.fakes.engines import Bench
from tests.fakes.plans import gang
from tests.reconcilers.conftest import do, refusal_in

PATH = core("lab", "services", "moe")


async def ensure(bench: Bench, plan: Plan) -> Outcome:
    return await do(bench, EnsureService(), plan)


async def test_the_service_is_created_once_and_found_afterwards() -> None:
    bench = Bench()
    assert await ensure(bench, gang()) == Outcome(service=True)
    assert await ensure(bench, gang()) == Outcome(service=True)
    assert bench.api.named("services") == ["moe"]


async def test_a_foreign_service_of_that_name_is_a_final_refusal() -> None:
    bench = Bench()
    bench.api.put(PATH, {"kind": "Service"})
    refusal = refusal_in(await ensure(bench, gang()))
    assert (refusal.reason, refusal.final) == ("NameTaken", True)
    assert refusal.message == (
        f"Service {PATH.split('/')[4]}/{PATH.split('/')[-1]} exists and has no controller; it does not belong to "
        f"Experiment {gang().name} (uid {gang().uid}). Delete that Service, or give the experiment another name, and "
        "start the experiment again."
    )


async def test_the_service_of_an_earlier_experiment_is_a_passing_refusal() -> None:
    bench = Bench()
    owner = {"apiVersion": API_VERSION, "kind": "Experiment", "name": "moe", "uid": "earlier", "controller": True}
    bench.api.put(PATH, {"kind": "Service", "metadata": {"ownerReferences": [owner]}})
    refusal = refusal_in(await ensure(bench, gang()))
    assert not refusal.final
    bench.api.remove(PATH)
    assert await ensure(bench, gang()) == Outcome(service=True)


async def test_text_that_json_cannot_hold_is_refused() -> None:
    refusal = refusal_in(await ensure(Bench(), gang(name="moe\udfff")))
    assert refusal.final
