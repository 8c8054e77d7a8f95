"""Pods that are judged as the Job controller judges them: by their phase, and not by a container's name."""

from typing import Any

import pytest

from muster.state.vocabulary.pod import Pod
from muster.watchers.pods import decode as pods
from tests.builders import sure
from tests.fakes.apiserver import event
from tests.fakes.objects import container, pod, terminated

RUNNING = {"running": {"startedAt": "2026-11-20T11:00:00Z"}}


def seen(kind: str = "JobSet", restart: str = "Never", **status: Any) -> Pod:
    group = "jobset.x-k8s.io/v1alpha2" if kind == "JobSet" else "muster.dev/v1alpha1"
    made = pod("u1", 1, **status)
    made["metadata"]["ownerReferences"] = [
        {"apiVersion": group, "kind": kind, "name": "run", "uid": "o1", "controller": True}
    ]
    made["spec"]["restartPolicy"] = restart
    return sure(pods.DECODER.event(event("ADDED", made)).obj)


def test_a_container_called_main_is_one_of_several() -> None:
    both = [container("main", terminated(0)), container("side", terminated(3))]
    assert seen(phase="Running", containerStatuses=[both[0], container("side", RUNNING)]).exit is None
    got = seen(phase="Failed", containerStatuses=both)
    assert got.failed
    assert got.exit is not None
    assert (got.exit.container, got.exit.code) == ("side", 3)
    assert seen("Experiment", phase="Failed", containerStatuses=both).succeeded, "there main is the member's own"


def test_a_failed_container_counts_when_the_pod_has_failed() -> None:
    states = [container("a", terminated(3)), container("b", RUNNING)]
    assert not seen(phase="Running", containerStatuses=states).failed
    assert seen(phase="Failed", containerStatuses=[states[0], container("b", terminated(0))]).failed


def test_a_pod_that_was_evicted_before_its_containers_ran_has_failed() -> None:
    got = seen(phase="Failed", reason="Evicted", containerStatuses=None)
    assert got.failed
    assert (got.exit, got.disruption) == (None, "Evicted")


@pytest.mark.parametrize(
    ("kind", "restart", "state", "failed"),
    [
        ("JobSet", "OnFailure", RUNNING, False),
        ("JobSet", "OnFailure", {"waiting": {"reason": "CrashLoopBackOff"}}, False),
        ("Experiment", "OnFailure", RUNNING, False),
        ("Experiment", "Always", RUNNING, False),
        ("Experiment", "Never", RUNNING, True),  # which no kubelet does
    ],
)
def test_a_container_that_is_restarted_in_its_pod_ends_no_member(
    kind: str, restart: str, state: dict[str, Any], failed: bool
) -> None:
    again = {**container("main", state, terminated(1)), "restartCount": 2}
    got = seen(kind, restart, phase="Running", containerStatuses=[again])
    assert (got.failed, got.exit is not None, got.restarts) == (failed, failed, 0 if failed else 2)
    assert got.waiting_reason == state.get("waiting", {}).get("reason", "")


def test_restarts_of_init_containers_count_and_those_of_an_ended_pod_do_not() -> None:
    init = [{**container("init", terminated(0), terminated(1)), "restartCount": 1}]
    main = [{**container("main", RUNNING, terminated(1)), "restartCount": 2}]
    counted = seen(restart="OnFailure", phase="Running", containerStatuses=main, initContainerStatuses=init)
    assert counted.restarts == 3
    ended = seen(restart="OnFailure", phase="Failed", containerStatuses=main, initContainerStatuses=init)
    assert ended.restarts == 0


def ended(code: int, at: str, reason: str = "Error") -> dict[str, Any]:
    times = {"startedAt": "2026-11-20T11:00:00Z", "finishedAt": f"2026-11-20T11:00:{at}Z"}
    return {"terminated": {"exitCode": code, "reason": reason, **times}}


def test_the_end_before_the_last_restart_is_read_of_any_container_that_was_started_again() -> None:
    main = {**container("main", RUNNING, ended(137, "05", "OOMKilled")), "restartCount": 2}
    side = {**container("side", RUNNING, ended(0, "09", "Completed")), "restartCount": 1}
    init = container("init", ended(0, "30", "Completed"))
    got = seen(restart="Always", phase="Running", containerStatuses=[main], initContainerStatuses=[init])
    assert got.last_exit is not None
    assert (got.last_exit.container, got.last_exit.code, got.last_exit.reason) == ("main", 137, "OOMKilled")
    assert got.last_exit.finished_at - got.last_exit.started_at == 5
    got = seen(restart="Always", phase="Running", containerStatuses=[main, side], initContainerStatuses=[init])
    assert got.last_exit is not None
    assert (got.last_exit.container, got.last_exit.code) == ("side", 0)


def test_of_a_container_that_was_never_started_again_no_such_end_is_read() -> None:
    got = seen(restart="Always", phase="Running", containerStatuses=[container("main", RUNNING, ended(1, "05"))])
    assert (got.restarts, got.last_exit) == (0, None)


def test_a_restart_count_without_an_end_is_kept() -> None:
    lost = [{**container("main", RUNNING), "restartCount": 2}, container("side", ended(1, "05"))]
    got = seen(restart="Always", phase="Running", containerStatuses=lost)
    assert (got.restarts, got.last_exit) == (2, None)


def test_the_values_of_the_pods_own_secrets_are_not_in_what_is_read_of_that_end() -> None:
    last = {"terminated": {**ended(1, "05")["terminated"], "message": "ValueError: no entry for hunter2-hunter2"}}
    main = {**container("main", RUNNING, last), "restartCount": 1}
    made = pod("u1", 1, phase="Running", containerStatuses=[main])
    made["spec"] |= {
        "restartPolicy": "OnFailure",
        "containers": [{"name": "main", "env": [{"name": "DB_PASSWORD", "value": "hunter2-hunter2"}]}],
    }
    got = sure(pods.DECODER.event(event("ADDED", made)).obj)
    assert got.last_exit is not None
    assert "ValueError" in got.last_exit.message + got.last_exit.last_line
    assert "hunter2-hunter2" not in got.last_exit.message + got.last_exit.last_line
