"""What a run holds: what its pods ask for that are on a node and have not ended."""

from muster.api.gang import Attempts
from muster.state.facts.context import held
from muster.state.view.view import View
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.pod import PodPhase, PodSpec
from tests.builders import NOW, plan, pod, record, view, worker_group

GPUS = PodSpec(limits={"cpu": "4", "nvidia.com/gpu": "8"})
OF_EACH = (("nvidia.com/gpu", 8),)


def test_pods_on_nodes_hold_what_the_plan_asks_for_them() -> None:
    run = plan(groups=(worker_group(4, pod=GPUS),))
    waiting = pod(2, node="", scheduled=False, started=False, ready=False, phase=PodPhase.PENDING)
    over = pod(3, phase=PodPhase.SUCCEEDED, ready=False)
    assert held(run, view(pod(0), pod(1), waiting, over)) == (("nvidia.com/gpu", 16),)


def test_a_template_adds_to_the_container_and_brings_its_own() -> None:
    sidecar = {"name": "encoder", "resources": {"limits": {"amd.com/gpu": "1"}}}
    template = {"spec": {"containers": [{"name": "main", "resources": {"limits": {"nvidia.com/gpu": "4"}}}, sidecar]}}
    run = plan(groups=(worker_group(4, pod=GPUS, template=template),))
    assert held(run, view(pod(0))) == (("amd.com/gpu", 1), ("nvidia.com/gpu", 4))


def test_a_whole_template_says_it_alone() -> None:
    template = {"spec": {"containers": [{"name": "x", "resources": {"requests": {"google.com/tpu": "4"}}}]}}
    run = plan(groups=(worker_group(4, pod=GPUS, template=template, whole=True),))
    assert held(run, view(pod(0), pod(1))) == (("google.com/tpu", 8),)


def test_a_million_accelerators_that_no_node_has_are_held_by_nothing() -> None:
    run = plan(groups=(worker_group(4, pod=PodSpec(limits={"nvidia.com/gpu": "1000000"})),))
    assert held(run, view(pod(0, node="", scheduled=False, started=False, phase=PodPhase.PENDING))) == ()


def test_pods_of_an_observed_run_say_what_they_hold_and_every_change_is_followed() -> None:
    run, seen = plan(engine=Engine.WATCH, groups=(worker_group(4, pod=GPUS),)), View()
    first, second = pod(0, devices=OF_EACH), pod(1, devices=OF_EACH)
    seen.change(None, first)
    seen.change(None, second)
    assert held(run, seen) == (("nvidia.com/gpu", 16),)
    ended = pod(0, devices=OF_EACH, phase=PodPhase.FAILED, ready=False)
    seen.change(first, ended)
    assert held(run, seen) == OF_EACH
    seen.change(second, None)
    seen.change(ended, None)
    assert held(run, seen) == ()


def test_pods_of_an_older_epoch_that_still_run_count() -> None:
    run, seen = plan(groups=(worker_group(4, pod=GPUS),)), View()
    seen.change(None, pod(0, epoch=0))
    seen.change(None, pod(0, epoch=1))
    assert held(run, seen) == (("nvidia.com/gpu", 16),)


def test_an_earlier_attempt_of_a_rank_holds_its_own_until_it_has_ended() -> None:
    run, seen = plan(groups=(worker_group(4, pod=GPUS),)), View()
    first = pod(0, attempt=0, uid="first")
    seen.change(None, first)
    seen.remember(run, record(attempts=(Attempts("0", 1),)), NOW)
    seen.change(None, pod(0, attempt=1, uid="second"))
    assert held(run, seen) == (("nvidia.com/gpu", 16),)
    seen.change(first, pod(0, attempt=0, uid="first", phase=PodPhase.FAILED, ready=False))
    assert held(run, seen) == OF_EACH
