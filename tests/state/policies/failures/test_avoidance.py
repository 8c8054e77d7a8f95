"""Avoided nodes: later pods are kept off a node that the experiment failed on again and again."""

from typing import Any

from muster.api.gang import MAX_NODES, NodeFailures
from muster.state.policies.failures import restart_reasons
from muster.state.summary.history import turns
from muster.state.vocabulary.actions import CreatePods
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.record import Cause, Phase
from muster.state.vocabulary.rules import Backoff
from tests.builders import plan, record
from tests.state.story import Story

AT = 5.0


def failing(node: str, **changes: Any) -> Cause:
    return Cause(0, **{"reason": "Error", "node": node, "at": AT, **changes})


def test_a_node_is_left_out_after_as_many_failures_as_the_spec_says() -> None:
    wanted, kept = plan(avoid_nodes_after=2), record()
    kept = restart_reasons.failed_on(wanted, kept, failing("a"))
    assert restart_reasons.avoided(kept) == ()
    kept = restart_reasons.failed_on(wanted, kept, failing("b"))
    kept = restart_reasons.failed_on(wanted, kept, failing("a"))
    assert kept.node_failures == (
        NodeFailures("b", 1, reason="Error", at=AT),
        NodeFailures("a", 2, avoided=True, reason="Error", at=AT),
    )


def test_a_node_is_counted_and_not_left_out_where_the_spec_does_not_ask_for_it() -> None:
    kept = record()
    for at in (1.0, 2.0):
        kept = restart_reasons.failed_on(plan(), kept, failing("a", at=at))
    assert kept.node_failures == (NodeFailures("a", 2, reason="Error", at=2.0),)


def test_a_member_that_ended_with_zero_is_no_failure_of_a_node() -> None:
    assert restart_reasons.failed_on(plan(), record(), failing("a", exit_code=0)) == record()


def test_at_most_as_many_nodes_are_kept_as_a_status_holds_and_left_out_as_the_plan_allows() -> None:
    kept = record()
    for number in range(MAX_NODES + 5):
        kept = restart_reasons.failed_on(plan(avoid_nodes_after=1, most_avoided=2), kept, failing(f"n{number}"))
    names = [f"n{number}" for number in range(5, MAX_NODES + 5)]
    assert [each.name for each in kept.node_failures] == names
    assert restart_reasons.avoided(kept) == tuple(names[-2:])


def fails(story: Story, times: int) -> list[CreatePods]:
    """Rank 2 fails so often, each time on node-2; the pods that are created then."""
    made: list[CreatePods] = []
    story.launch()
    for _ in range(times):
        story.start()
        story.look(1)
        story.end(2, 1)
        for _ in range(6):
            made += [each for each in story.obey() if isinstance(each, CreatePods)]
    return made


def test_what_may_be_a_coincidence_is_reported_as_one_and_from_the_second_time_on() -> None:
    story = Story(plan(probe=ProbeKind.NONE, avoid_nodes_after=2, backoff=Backoff(0)))
    fails(story, 1)
    assert not {"NodeFault", "FailedOnNodeAgain"} & set(story.told)
    last = fails(story, 1)[-1]
    line = next(each for each in story.kept.story if each.reason == "FailedOnNodeAgain")
    said = "2 failures of this run were on node node-2 (last: Error); the program may be the cause, too"
    assert (line.message, line.warning) == (said, True)
    assert last.avoid == ("node-2",), "the pods of the next epoch are kept off it"
    avoided = next(each for each in story.kept.story if each.reason == "NodeAvoided")
    assert "2 restarts began with a failure on it" in avoided.message


def test_a_failure_that_is_reported_of_the_node_is_reported_the_first_time() -> None:
    old = record()
    new = restart_reasons.failed_on(plan(), old, failing("a", reason="DeviceDriverFailed", disruption=True))
    (line,) = (each for each in turns(plan(), old, new) if each[0] == "NodeFault")
    assert line == ("NodeFault", "a fault of node a was reported: DeviceDriverFailed", True)
    assert new.node_failures[0].of_node


def test_the_node_of_the_failure_that_ends_the_run_is_counted() -> None:
    story = Story(plan(probe=ProbeKind.NONE, limit=0))
    fails(story, 1)
    assert story.kept.phase is Phase.FAILED
    assert [(each.name, each.failures) for each in story.kept.node_failures] == [("node-2", 1)]


def test_what_is_no_fault_of_the_node_is_not_counted() -> None:
    wanted = plan(avoid_nodes_after=1)
    for reason in ("PreemptionByScheduler", "EvictionByEvictionAPI", "PodDeleted"):
        assert restart_reasons.failed_on(wanted, record(), failing("a", reason=reason, disruption=True)) == record()
    for reason in ("NodeLost", "OutOfnvidia.com/gpu", "DeletionByTaintManager"):
        kept = restart_reasons.failed_on(wanted, record(), failing("a", reason=reason, disruption=True))
        assert restart_reasons.avoided(kept) == ("a",)


def test_a_pod_that_finds_no_node_names_the_nodes_that_are_left_out() -> None:
    story = Story(plan(probe=ProbeKind.NONE, avoid_nodes_after=1)).launch()
    story.record = record(node_failures=(NodeFailures("node-2", 1, avoided=True),), epoch_at=story.now, size=4)
    story.set(0, waiting_reason="Unschedulable", waiting_message="0/4 nodes are available")
    story.look()
    assert "nodes that are avoided after failures: node-2" in story.kept.message
