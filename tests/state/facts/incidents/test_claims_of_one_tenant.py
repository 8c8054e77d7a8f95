"""Nodes are a subject only where runs of two namespaces say so, or Kubernetes says it of the node."""

import pytest

from muster.state.facts.causes.table import Causes
from muster.state.facts.incidents.belief import OF_NODE
from muster.state.facts.incidents.grouping import Key, Places, groups
from muster.state.facts.incidents.signs import Run, Sign
from tests.state.facts.incidents.fleet import Looks, gangs

CLAIMED = (Causes.COORDINATOR_FROZEN, Causes.COORDINATOR_UNREACHABLE, Causes.HEARTBEAT_LOST)


def signs(cause: str, *namespaces: str, kind: str = "node") -> list[Sign]:
    runs = [Run(namespace, f"run-{number}") for number, namespace in enumerate(namespaces)]
    return [Sign(run, cause, kind, "n7", 1, 0.0, node=kind == "node") for run in runs]


@pytest.mark.parametrize("cause", [each.value for each in CLAIMED])
def test_runs_of_one_tenant_do_not_make_a_node_a_subject_and_those_of_two_do(cause: str) -> None:
    assert groups(signs(cause, "a", "a", "a"), Places()) == {}
    assert len(groups(signs(cause, "a", "a", "b"), Places())[Key("node", "n7")]) == 3


@pytest.mark.parametrize("cause", sorted(OF_NODE))
def test_the_condition_of_the_node_is_enough(cause: str) -> None:
    assert Key("node", "n7") in groups(signs(cause, "a", "a", "a"), Places())


def test_what_is_no_node_is_a_subject_of_one_tenant_too() -> None:
    cause = Causes.IMAGE_PULL.value
    assert Key("image", "n7") in groups(signs(cause, "a", "a", "a", kind="image"), Places())


def test_an_incident_of_coordinators_that_are_silent_keeps_back_no_run() -> None:
    """A tenant can make its own coordinator silent."""
    (found,) = Looks().at(gangs([7], cause="CoordinatorUnreachable"), 20)
    assert len(found.runs) == 3
    assert not found.explains
