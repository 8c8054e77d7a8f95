"""From a pod on the wire to the flat record that decisions read; no content of a pod raises."""

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.values.timestamps import seconds_of
from muster.kube.listwatch.decoder import EventType
from muster.state.vocabulary.pod import Pod, PodPhase
from muster.watchers.pods import decode as pods
from tests import builders
from tests.builders import sure
from tests.fakes.apiserver import bookmark, event
from tests.fakes.objects import container, pod, terminated


def seen(obj: dict[str, Any]) -> Pod:
    got = pods.DECODER.event(event("ADDED", obj))
    assert got.obj is not None, got.problem
    page = pods.DECODER.page(json.dumps({"metadata": {"resourceVersion": "1"}, "items": [obj]}).encode())
    (listed,) = page.objects.values()
    assert listed == got.obj
    return got.obj


def pending(**status: Any) -> dict[str, Any]:
    return pod(phase="Pending", **({"conditions": [], "containerStatuses": None} | status))


def test_a_running_member() -> None:
    got = seen(pod("u1", 41))
    assert got == builders.pod(
        3, uid="u1", name="mnist-worker-0-u1", resource_version=41, owner="exp-1", index=2, epoch=1, node="node-7",
        ip="10.0.0.7", started_at=seconds_of("2026-11-20T10:00:05Z"),
    )  # fmt: skip
    assert got.node is seen(pod("u2", 42)).node  # shared, not copied


def test_an_unschedulable_pod_has_the_reason_of_its_condition() -> None:
    condition = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": "0/8 nodes:\n no gpu\x07",
    }
    unplaced = pending(conditions=[condition])
    del unplaced["spec"]["nodeName"]
    got = seen(unplaced)
    assert (got.scheduled, got.started, got.waiting_reason) == (False, False, "Unschedulable")
    assert got.waiting_message == "0/8 nodes:  no gpu\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("init", "regular", "reason"),
    [
        ([], [container(state={"waiting": {"reason": "ContainerCreating"}})], "ContainerCreating"),
        (
            [container("fetch", {"waiting": {"reason": "ErrImagePull", "message": "m"}})],
            [container(state={"waiting": {"reason": "PodInitializing"}})],
            "ImagePullBackOff",
        ),
        (
            [container("fetch", {"running": {}})],
            [container(state={"waiting": {"reason": "PodInitializing"}})],
            "PodInitializing",
        ),
        (
            [],
            [
                container("log", {"waiting": {"reason": "ContainerCreating"}}),
                container(state={"waiting": {"reason": "CreateContainerConfigError", "message": "no secret"}}),
            ],
            "CreateContainerConfigError",
        ),
        ([], [container(state={"waiting": {}})], ""),
        ([], [], ""),
    ],
)
def test_the_reason_is_that_of_the_container_the_others_wait_for(
    init: list[Any], regular: list[Any], reason: str
) -> None:
    assert seen(pending(initContainerStatuses=init, containerStatuses=regular)).waiting_reason == reason


RUNS: dict[str, Any] = {"running": {}}
WELL = terminated(0, "2026-11-20T11:00:02Z", "Completed")


@pytest.mark.parametrize(
    ("phase", "containers", "end", "outcome"),
    [
        pytest.param(
            "Running",
            [container("log", terminated(137, "2026-11-20T11:00:01Z")), container(state=terminated(1)), container("c")],
            ("main", 1),
            "failed",
            id="the end of main is the member's, whatever the phase",
        ),
        pytest.param(
            "Running",
            [container("proxy", terminated(1)), container(state=RUNS)],
            None,
            "",
            id="a sidecar that fails beside main has not failed the member",
        ),
        pytest.param(
            "Failed",
            [
                container("log", terminated(2, "2026-11-20T11:00:09Z")),
                container("proxy", terminated(137, "2026-11-20T11:00:01Z")),
                container("quiet", terminated(0, "2026-11-20T10:00:01Z")),
                container(state={"waiting": {"reason": "ContainerCreating"}}),
            ],
            ("proxy", 137),
            "failed",
            id="a sidecar is the cause where the pod failed before main ended",
        ),
        pytest.param(
            "Running",
            [container("b", terminated(2, "2026-11-20T11:00:09Z")), container("a", terminated(1))],
            ("a", 1),
            "failed",
            id="without main the first container to fail is the cause",
        ),
        pytest.param(
            "Running",
            [container("a", terminated(0)), container("b", RUNS)],
            None,
            "",
            id="without main one container that ended well is no success",
        ),
        pytest.param(
            "Running",
            [container(state=RUNS, last=terminated(139, reason="OOMKilled"))],
            ("main", 139),
            "failed",
            id="a container that was restarted in place has failed once",
        ),
        pytest.param(
            "Succeeded",
            [container(state=terminated(0), last=terminated(1))],
            ("main", 0),
            "succeeded",
            id="its failure before is forgiven by success",
        ),
        pytest.param(
            "Succeeded",
            [container("a", WELL), container("b", terminated(0, "2026-11-20T10:59:00Z"))],
            ("a", 0),
            "succeeded",
            id="success without main names the last container",
        ),
    ],
)
def test_the_end_of_a_member_is_that_of_the_container_that_decides(
    phase: str, containers: list[Any], end: tuple[str, int] | None, outcome: str
) -> None:
    got = seen(pod(phase=phase, containerStatuses=containers))
    assert (got.exit and (got.exit.container, got.exit.code)) == end
    assert (got.failed, got.succeeded) == (outcome == "failed", outcome == "succeeded")


def test_an_end_has_the_time_and_the_last_words_of_its_container() -> None:
    got = seen(pod(containerStatuses=[container(state=terminated(1, "2026-11-20T11:00:02Z", "Error", "loss is NaN"))]))
    assert got.exit is not None
    assert (got.exit.message, got.exit.finished_at) == ("loss is NaN", 1795172402.0)
    evicted = seen(pod(phase="Failed", reason="Evicted", containerStatuses=[container("a", terminated(0))]))
    assert (evicted.succeeded, evicted.failed) == (False, True)


@pytest.mark.parametrize(
    ("phase", "beside"),
    [
        ("Running", {"running": {}}),
        ("Running", {"waiting": {"reason": "ImagePullBackOff"}}),
        ("Running", terminated(137)),
        ("Failed", terminated(143)),
        ("Failed", terminated(1, "2026-11-20T10:00:00Z")),
        ("Unknown", {"running": {}}),
    ],
)
def test_a_member_has_succeeded_when_main_has_whatever_its_sidecars_do(phase: str, beside: dict[str, Any]) -> None:
    both = [container("proxy", beside), container(state=terminated(0, "2026-11-20T11:00:02Z", "Completed"))]
    got = seen(pod(phase=phase, containerStatuses=both))
    assert (got.succeeded, got.failed) == (True, False)
    assert got.live == (phase != "Failed")  # it may still run, and must be deleted when the experiment is over
    assert got.exit is not None
    assert (got.exit.container, got.exit.code) == ("main", 0)


def test_init_containers_fail_a_pod_only_if_they_are_not_retried() -> None:
    init = [container("fetch", terminated(5))]
    once = pending(initContainerStatuses=init)
    assert seen(once).failed
    retried = copy.deepcopy(once)
    retried["spec"]["restartPolicy"] = "OnFailure"
    assert not seen(retried).failed
    by_itself = copy.deepcopy(once)
    by_itself["spec"]["initContainers"] = [{"name": "fetch", "restartPolicy": "OnFailure"}]
    assert not seen(by_itself).failed


def test_a_sidecar_killed_at_the_end_has_not_failed_the_pod() -> None:
    ended = pod(
        phase="Succeeded",
        containerStatuses=[container(state=terminated(0, reason="Completed"))],
        initContainerStatuses=[container("proxy", terminated(143))],
    )
    ended["spec"]["initContainers"] = [{"name": "proxy", "restartPolicy": "Always"}]
    assert not seen(ended).failed
    ended["status"]["phase"] = "Running"
    assert not seen(ended).failed


def test_a_pod_without_main_counts_its_other_containers() -> None:
    assert seen(pod(containerStatuses=[container("worker", {"running": {}})])).started
    waiting = container(state={"waiting": {"reason": "ContainerCreating"}})
    assert not seen(pod(containerStatuses=[container("log", {"running": {}}), waiting])).started


UNSEEN = "The container could not be located when the pod was terminated"
UNKNOWN = "the container runtime does not know how the container ended, as after a loss of power"


def true(kind: str, reason: str | None, message: str = "") -> list[dict[str, Any]]:
    return [{"type": kind, "status": "True", "reason": reason, "message": message}]


def main_ended(code: int, reason: str, message: str = "") -> list[dict[str, Any]]:
    return [container("main", terminated(code, reason=reason, message=message))]


@pytest.mark.parametrize(
    ("status", "disruption", "message"),
    [
        ({"conditions": true("DisruptionTarget", "PreemptionByScheduler", "for x")}, "PreemptionByScheduler", "for x"),
        ({"conditions": true("DisruptionTarget", None)}, "DisruptionTarget", ""),
        (
            {"conditions": true("TerminationTarget", "WorkloadEvictedDueToPreempted", "for kueue")},
            "WorkloadEvictedDueToPreempted",
            "for kueue",
        ),
        # exit code 137 proves nothing about a program whose end nobody saw, as after a reboot of the node
        (
            {"phase": "Running", "containerStatuses": main_ended(137, "ContainerStatusUnknown", UNSEEN)},
            "ContainerStatusUnknown",
            UNSEEN,
        ),
        (
            {"phase": "Failed", "containerStatuses": main_ended(137, "ContainerStatusUnknown", UNSEEN)},
            "ContainerStatusUnknown",
            UNSEEN,
        ),
        # exit code 255 proves nothing after a loss of power, unless the program gave it
        ({"phase": "Failed", "containerStatuses": main_ended(255, "Unknown")}, "ContainerStatusUnknown", UNKNOWN),
        ({"phase": "Failed", "containerStatuses": main_ended(255, "Error")}, "", ""),
        ({"phase": "Failed", "reason": "DeadlineExceeded", "message": "too long"}, "", "too long"),
    ],
)
def test_an_end_that_is_not_the_programs_own_is_a_disruption(
    status: dict[str, Any], disruption: str, message: str
) -> None:
    got = seen(pod(**status))
    assert (got.disruption, got.waiting_message) == (disruption, message)
    assert got.failed is (status.get("phase") == "Failed" or "containerStatuses" in status)


def test_a_disruption_target_that_is_not_true_is_none() -> None:
    target = true("DisruptionTarget", "PreemptionByScheduler")[0]
    assert seen(pod(conditions=[target | {"status": "False"}])).disruption == ""


@pytest.mark.parametrize(
    "reason", ["Evicted", "NodeLost", "NodeShutdown", "Terminated", "Preempting", "OutOfcpu", "OutOfnvidia.com/gpu"]
)
def test_a_failure_caused_by_the_node_is_a_disruption(reason: str) -> None:
    got = seen(pod(phase="Failed", reason=reason, message="low on memory", containerStatuses=None))
    assert (got.disruption, got.waiting_reason, got.waiting_message) == (reason, reason, "low on memory")
    assert got.failed


@pytest.mark.parametrize("reason", ["ContainerStatusUnknown", "Error"])
@pytest.mark.parametrize(
    "message",
    [
        'Container main exceeded its local ephemeral storage limit "1Gi". ',
        "Pod ephemeral local storage usage exceeds the total limit of containers 2Gi. ",
        'Usage of EmptyDir volume "shm" exceeds the limit "64Mi". ',
    ],
)
def test_an_eviction_for_the_pods_own_excess_is_no_disruption(message: str, reason: str) -> None:
    evicted = pod(phase="Failed", reason="Evicted", message=message, containerStatuses=main_ended(137, reason))
    got = seen(evicted)
    assert (got.disruption, got.failed, got.waiting_reason) == ("", True, "Evicted")
    evicted["status"]["conditions"] = true("DisruptionTarget", "TerminationByKubelet")
    assert seen(evicted).disruption == "TerminationByKubelet"


def test_when_a_pod_was_asked_to_end_is_the_earliest_request() -> None:
    target = {
        "type": "DisruptionTarget",
        "status": "True",
        "reason": "EvictionByEvictionAPI",
        "lastTransitionTime": "2026-11-20T11:00:02Z",
    }
    evicted = pod(conditions=[target])
    assert seen(evicted).stopped_at == 1795172402.0
    evicted["metadata"] |= {"deletionTimestamp": "2026-11-20T11:00:30Z", "deletionGracePeriodSeconds": 30}
    assert seen(evicted).stopped_at == 1795172400.0
    evicted["metadata"]["deletionGracePeriodSeconds"] = 20
    assert seen(evicted).stopped_at == 1795172402.0
    assert seen(pod(conditions=[target | {"status": "False"}])).stopped_at == 0.0
    unknown = pod()
    unknown["metadata"]["deletionTimestamp"] = "2026-11-20T11:00:30Z"
    for grace in (None, -5, 10**12):
        unknown["metadata"]["deletionGracePeriodSeconds"] = grace
        assert (seen(unknown).stopped_at, seen(unknown).terminating) == (0.0, True)


def test_a_terminating_pod_has_the_end_of_its_grace_period() -> None:
    leaving = pod()
    leaving["metadata"] |= {"deletionTimestamp": "2026-11-20T11:00:30Z", "deletionGracePeriodSeconds": 30}
    got = seen(leaving)
    assert got.terminating
    assert got.delete_by == 1795172430.0  # the API server includes the grace period
    leaving["metadata"]["deletionTimestamp"] = "tomorrow"
    assert (seen(leaving).terminating, seen(leaving).delete_by) == (True, 0.0)


def test_a_pod_without_our_controller_has_no_owner() -> None:
    stranger = pod()
    for references in (
        None,
        [],
        [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "uid": "exp-1", "controller": True}],
        [{"apiVersion": "muster.dev/v1alpha1", "kind": "Experiment", "uid": "exp-1"}],
        [{"apiVersion": "evil.dev/v1", "kind": "Experiment", "uid": "exp-1", "controller": True}],
    ):
        stranger["metadata"]["ownerReferences"] = references
        assert seen(stranger).owner == ""
    stranger["metadata"]["ownerReferences"] = [
        {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet", "uid": "js-1", "controller": True}
    ]
    assert seen(stranger).owner == "js-1"


def test_a_pod_without_a_status_is_pending() -> None:
    bare = {"metadata": {"name": "n", "namespace": "x", "uid": "u", "resourceVersion": "1", "labels": None}}
    got = seen(bare)
    assert (got.phase, got.rank, got.scheduled, got.exit) == (PodPhase.PENDING, -1, False, None)
    assert seen(bare | {"status": {"phase": "Dancing"}}).phase is PodPhase.UNKNOWN


def test_messages_are_capped_and_printable() -> None:
    nasty = "\u202e\x1b[2J" + "long " * 10_000
    got = seen(pending(containerStatuses=[container(state={"waiting": {"reason": "R\x00" * 999, "message": nasty}})]))
    assert len(got.waiting_message) <= 512
    assert len(got.waiting_reason) <= 253
    assert (got.waiting_message + got.waiting_reason).isprintable()


def test_exit_codes_and_signals_are_bounded() -> None:
    end = terminated(0)
    end["terminated"] |= {"exitCode": 10**30, "signal": -(10**30)}
    exit_ = sure(seen(pod(containerStatuses=[container(state=end)])).exit)
    assert (exit_.code, exit_.signal) == (2**31 - 1, -(2**31 - 1))


def test_spacing_and_key_order_of_an_event_do_not_matter() -> None:
    for text in (
        json.dumps({"type": "MODIFIED", "object": pod("a", 7)}),
        json.dumps({"object": pod("a", 7), "type": "MODIFIED"}),
        json.dumps({"type": "MODIFIED", "object": pod("a", 7)}, indent=1),
    ):
        got = pods.DECODER.event(text.encode())
        assert (got.type, got.version) == (EventType.MODIFIED, 7)
    assert pods.DECODER.event(bookmark(8, complete=True)).complete
    assert not pods.DECODER.event(bookmark(8)).complete
    assert pods.DECODER.event(json.dumps({"type": "BOOKMARK", "object": {}}).encode()).problem


def _places(obj: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path]
    items = obj.items() if isinstance(obj, dict) else enumerate(obj) if isinstance(obj, list) else ()
    for key, value in items:
        found += _places(value, (*path, key))
    return found


def _replaced(obj: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    changed = copy.copy(obj)
    changed[path[0]] = _replaced(obj[path[0]], path[1:], value)
    return changed


RICH = pod(
    containerStatuses=[
        container(state=terminated(1), last=terminated(2)),
        container("b", {"waiting": {"reason": "x"}}),
    ],
    initContainerStatuses=[container("i", terminated(3))],
    reason="Evicted",
    message="m",
)
RICH["metadata"]["deletionTimestamp"] = "2026-11-20T11:00:30Z"
RICH["spec"]["initContainers"] = [{"name": "i", "restartPolicy": "Always"}]
PLACES = _places(RICH)


@pytest.mark.parametrize("value", [None, 1, -1.5, True, "", "x", "\x00", [], [None], {}, {"x": 1}, [[[]]], 10**25])
def test_a_value_of_the_wrong_type_anywhere_never_raises(value: Any) -> None:
    for path in PLACES:
        line = event("MODIFIED", _replaced(RICH, path, value))
        got = pods.DECODER.event(line)
        assert (got.obj is None) == bool(got.problem), path
        page = pods.DECODER.page(b'{"metadata":{"resourceVersion":"9"},"items":[' + line[28:-1] + b"]}")
        assert len(page.objects) + len(page.problems) == 1


@given(st.binary(max_size=200), st.integers(0, 2000))
def test_a_line_of_any_bytes_never_raises(noise: bytes, cut: int) -> None:
    line = event("ADDED", RICH)
    for candidate in (
        noise,
        line[:cut],
        line[:cut] + noise,
        line[:cut] + noise + line[cut + len(noise) :],
        line[:9] + noise,
    ):
        pods.DECODER.event(candidate)


MARKED = [{"type": "Ready", "status": "False"}, {"type": "ContainersReady", "status": "True"}]
"""The conditions of a pod whose node is NotReady, as the node lifecycle controller sets them."""


def test_a_pod_that_is_not_ready_while_its_containers_are_is_on_a_node_that_is_not_ready() -> None:
    got = seen(pod("u1", conditions=MARKED))
    assert (got.cut_off, got.ready) == (True, False)


@pytest.mark.parametrize(
    ("ready", "containers"),
    [
        ({"status": "True"}, {"status": "True"}),
        ({"status": "False", "reason": "ContainersNotReady"}, {"status": "False", "reason": "ContainersNotReady"}),
        ({"status": "False", "reason": "ReadinessGatesNotReady"}, {"status": "True"}),
        ({"status": "False"}, {}),
    ],
)
def test_what_a_kubelet_says_of_readiness_is_no_lost_node(ready: dict[str, str], containers: dict[str, str]) -> None:
    conditions = [{"type": "Ready"} | ready, {"type": "ContainersReady"} | containers]
    assert not seen(pod("u1", conditions=conditions)).cut_off


def test_a_gated_pod_has_the_names_of_its_gates() -> None:
    condition = {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "Scheduling is"}
    obj = pending(conditions=[condition])
    obj["spec"] = {"schedulingGates": [{"name": "kueue.x-k8s.io/admission"}, {"name": "example.test/other"}]}
    got = seen(obj)
    assert (got.waiting_reason, got.scheduled) == ("SchedulingGated", False)
    assert got.waiting_message == "kueue.x-k8s.io/admission, example.test/other"


def said_with(spec: dict[str, Any], message: str) -> str:
    """Return the kept part of the last words of a pod of that spec."""
    obj = pod(containerStatuses=[container(state=terminated(1, "2026-11-20T11:00:02Z", "Error", message))])
    obj["spec"] |= spec
    got = sure(seen(obj).exit)
    return f"{got.message} {got.last_line}"


@pytest.mark.parametrize("field", ["containers", "initContainers"])
def test_last_words_hold_no_secret_of_the_environment_of_the_pod(field: str) -> None:
    spec = {field: [{"name": "main", "env": [{"name": "X"}, {"name": "API_TOKEN", "value": "k9#mQ2/vL+7x"}]}]}
    assert "k9#m" not in said_with(spec, "ValueError: bad k9#mQ2/vL+7x")
    assert "k9#m" not in said_with(spec, "refused: k9#mQ2\n/vL+7x")
    assert "k9#mQ2/vL+7x" in said_with({}, "ValueError: bad k9#mQ2/vL+7x")


@pytest.mark.parametrize("field", ["containers", "initContainers"])
def test_last_words_hold_no_value_that_comes_from_a_secret_by_reference(field: str) -> None:
    source = {"secretKeyRef": {"name": "s", "key": "k"}}
    env, sources = [{"name": "RUN_OWNER", "valueFrom": source}], [{"prefix": "S3_", "secretRef": {"name": "s"}}]
    spec = {field: [{"name": "main", "env": env, "envFrom": sources}]}
    said = "KeyError: environ({'RUN_OWNER': 'my-own', 'S3_USER': 'my-own', 'HOME': '/root'})"
    assert "my-own" not in said_with(spec, said)
    assert "my-own" in said_with({}, said)


@pytest.mark.parametrize("env", [3, "x", [3], [{"name": 3, "value": "abcd1234!"}], None])
def test_an_environment_of_another_form_has_no_secrets(env: Any) -> None:
    assert "loss is NaN" in said_with({"containers": [{"name": "main", "env": env}, 3, None]}, "loss is NaN")
    assert "loss is NaN" in said_with({"containers": env}, "loss is NaN")
