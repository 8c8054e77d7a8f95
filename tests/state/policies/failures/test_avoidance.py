"""Avoided nodes: later pods are kept off a node that the experiment failed on again and again."""

from typing import Any

from muster.state.policies.failures import avoidance
from muster.state.vocabulary.actions import CreatePods
from muster.state.vocabulary.coordinator import ProbeKind
from muster.state.vocabulary.record import Cause, NodeFailures
from muster.state.vocabulary.rules import Backoff
from tests.builders import plan, record
from tests.state.story import Story


def failing(node: str, **changes: Any) -> Cause:
    return Cause(0, **{"reason": "Error", "node": node, **changes})


def test_a_node_is_left_out_after_as_many_failures_as_the_spec_says() -> None:
    wanted, kept = plan(avoid_nodes_after=2), record()
    kept = avoidance.failed_on(wanted, kept, failing("a"))
    assert avoidance.avoided(kept) == ()
    kept = avoidance.failed_on(wanted, kept, failing("b"))
    kept = avoidance.failed_on(wanted, kept, failing("a"))
    assert kept.node_failures == (NodeFailures("b", 1), NodeFailures("a", 2, avoided=True))


def test_no_node_is_counted_where_the_spec_does_not_ask_for_it() -> None:
    assert avoidance.failed_on(plan(), record(), failing("a")) == record()


def test_what_is_no_fault_of_the_node_is_not_counted() -> None:
    wanted = plan(avoid_nodes_after=1)
    for reason in ("PreemptionByScheduler", "EvictionByEvictionAPI", "PodDeleted"):
        assert avoidance.failed_on(wanted, record(), failing("a", reason=reason, disruption=True)) == record()
    for reason in ("NodeLost", "OutOfnvidia.com/gpu", "DeletionByTaintManager"):
        kept = avoidance.failed_on(wanted, record(), failing("a", reason=reason, disruption=True))
        assert avoidance.avoided(kept) == ("a",)


def test_the_nodes_that_failed_last_are_left_out_where_there_are_too_many() -> None:
    wanted, kept = plan(avoid_nodes_after=1, most_avoided=2), record()
    for node in ("a", "b", "c"):
        kept = avoidance.failed_on(wanted, kept, failing(node))
    assert avoidance.avoided(kept) == ("b", "c")


def test_the_pods_of_the_next_epoch_are_kept_off_the_node_and_it_is_named() -> None:
    story = Story(plan(probe=ProbeKind.NONE, avoid_nodes_after=2, backoff=Backoff(0)))
    story.launch()
    for _ in range(2):
        story.start()
        story.look(1)
        story.end(2, 1)
        for _ in range(6):
            for action in story.look():
                if isinstance(action, CreatePods):
                    last = action
                story.do(action)
    assert last.avoid == ("node-2",)
    assert "NodeAvoided" in story.told
    assert "2 restarts began with a failure on it" in story.kept.story[-1].message + story.kept.story[-2].message


def test_a_pod_that_finds_no_node_names_the_nodes_that_are_left_out() -> None:
    story = Story(plan(probe=ProbeKind.NONE, avoid_nodes_after=1))
    story.launch()
    story.record = record(node_failures=(NodeFailures("node-2", 1, avoided=True),), epoch_at=story.now, size=4)
    story.set(0, waiting_reason="Unschedulable", waiting_message="0/4 nodes are available")
    story.look()
    assert "left out because the experiment failed on it: node-2" in story.kept.message
