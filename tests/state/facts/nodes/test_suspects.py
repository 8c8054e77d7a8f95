"""Which nodes are suspect, and which are not, however many failures they have."""

from typing import Any

import pytest

from muster.state.facts.nodes import suspects as module
from muster.state.facts.nodes.history import PERIOD, Failure, History
from muster.state.facts.nodes.suspects import APART, RECENT, RUNS, suspects
from muster.state.summary.hurt import advice, suspicion
from tests.state.facts.nodes.fleet_days import Fleet, false_suspects

HOUR = 3600.0
NOW = 20_000 * PERIOD + 6 * HOUR


class Nodes:
    """A fleet of 50 nodes, on which 100 lives of ten namespaces have gone well; ``gpu-017`` is one of them."""

    def __init__(self, lives: float = 0.2) -> None:
        self.history = History()
        for node in range(50):
            for namespace in range(10):
                self.history.served(f"team-{namespace}", {f"gpu-{node:03}": lives}, NOW - 6 * HOUR)

    def fail(
        self, runs: int, namespaces: int, *, node: str = "gpu-017", hours: float = 6.0, sure: bool = False
    ) -> None:
        """That many runs fail once each, evenly over the hours until now."""
        for number in range(runs):
            at = int(NOW - hours * HOUR + number * hours * HOUR / max(1, runs))
            namespace = f"team-{number % namespaces}"
            cause = "NodeNotReady" if sure else "Error"
            self.history.failed(node, Failure(at, namespace, f"r{number}", "u.0", cause, sure, at), NOW)

    def named(self, now: float = NOW) -> list[str]:
        return [each.node for each in suspects(self.history, now)]


def test_a_node_that_fails_runs_of_several_namespaces_again_and_again_is_suspect() -> None:
    nodes = Nodes()
    nodes.fail(7, 4)
    (found,) = suspects(nodes.history, NOW)
    assert (found.node, found.runs, found.namespaces, found.since) == ("gpu-017", 7, 4, NOW - 6 * HOUR)
    assert found.expected < 0.2
    said = "node gpu-017 failed 7 runs of 4 namespaces in 6h (expected: fewer than 0.1)"
    assert suspicion(found, NOW) == said


def test_programs_of_one_namespace_make_no_node_suspect_and_kubernetes_does() -> None:
    nodes = Nodes()
    nodes.fail(20, 1)
    assert nodes.named() == []
    nodes.fail(6, 1, node="gpu-018", sure=True)
    assert nodes.named() == ["gpu-018"]


@pytest.mark.parametrize(
    ("lives", "failures"),
    [
        (1000.0, [{"runs": RUNS - 1, "namespaces": 3}]),
        (0.2, [{"runs": 9, "namespaces": 4, "hours": APART / HOUR}]),
        (0.0, [{"runs": 12, "namespaces": 4}]),
        (0.2, [{"runs": 9, "namespaces": 1}, {"runs": 1, "namespaces": 1, "sure": True}]),
    ],
    ids=["few runs", "one moment", "nothing to compare with", "one namespace and a moment in which it was not ready"],
)
def test_what_is_too_little_makes_no_node_suspect(lives: float, failures: list[dict[str, Any]]) -> None:
    nodes = Nodes(lives)
    for each in failures:
        nodes.fail(**each)
    assert nodes.named() == []


def test_programs_of_one_namespace_add_no_moments_to_what_kubernetes_says() -> None:
    nodes = Nodes()
    nodes.fail(12, 6, hours=APART / HOUR, sure=True)
    for number in range(9):
        at = int(NOW - number * HOUR / 2)
        nodes.history.failed("gpu-017", Failure(at, "team-1", f"own-{number}", "u.0", "Error", False, at), NOW)
    assert nodes.named() == []


def test_a_node_that_fails_no_more_ceases_to_be_suspect() -> None:
    nodes = Nodes()
    nodes.fail(7, 4)
    last = nodes.history.failures()["gpu-017"][-1].at
    assert nodes.named(last + RECENT) == ["gpu-017"]
    assert nodes.named(last + RECENT + 1) == []


def test_a_busy_node_is_as_well_as_the_others() -> None:
    """It bears thirty times as much work as each of the others, and fails thirty times as many runs."""
    nodes = Nodes()
    for namespace in range(10):
        nodes.history.served(f"team-{namespace}", {"gpu-017": 6.0}, NOW)
    nodes.fail(12, 6)
    for node in range(25):
        nodes.fail(1, 1, node=f"gpu-{20 + node:03}")
    assert nodes.named() == []


def test_namespaces_whose_programs_fail_everywhere_make_no_node_suspect() -> None:
    nodes = Nodes()
    for number in range(40):
        nodes.fail(4, 4, node=f"gpu-{number:03}")
    for namespace in range(4):
        nodes.history.served(f"team-{namespace}", {"gpu-045": 2.0}, NOW)
    nodes.fail(8, 4, node="gpu-045")
    assert nodes.named() == []


def test_a_run_that_fails_again_and_again_is_one_run() -> None:
    nodes = Nodes()
    for number in range(30):
        at = int(NOW - 5 * HOUR + number * 500)
        for run in ("a", "b"):
            found = Failure(at, f"team-{run}", run, f"u.{number}", "Error", False, at)
            nodes.history.failed("gpu-017", found, NOW)
    assert nodes.named() == []


def test_most_suspects_are_named_the_worst_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST", 3)
    nodes = Nodes(lives=5.0)
    for number in range(5):
        nodes.fail(9 + number % 2, 4, node=f"gpu-{number:03}")
    assert nodes.named() == ["gpu-001", "gpu-003", "gpu-000"]


def test_control_plane_nodes_are_not_drained() -> None:
    assert advice("gpu-017", control_plane=False) == "drain it: kubectl drain gpu-017 --ignore-daemonsets"
    assert "kubectl drain" not in advice("master-1", control_plane=True)
    unknown = advice("n; rm", control_plane=None)
    assert unknown.startswith("unless kubectl get node 'n; rm' shows the role control-plane, drain it: ")
    assert unknown.endswith("kubectl drain 'n; rm' --ignore-daemonsets")


def test_no_node_of_a_fleet_whose_programs_fail_by_themselves_is_suspect() -> None:
    """``python -m tests.state.facts.nodes.fleet_days`` plays more of it."""
    assert false_suspects(3, seed=1) == []


def test_a_sick_node_of_such_a_fleet_is_found() -> None:
    found = {each.node for step in Fleet(5, sick=(55,)).play(6) for each in step}
    assert found == {"n55"}
