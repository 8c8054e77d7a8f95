"""Events of pods: for what goes wrong, once for each news."""

from typing import Any

import pytest

from muster.api.errors import Forbidden
from muster.kube.resources import ResourceClient
from muster.local.node.pods.status_writer import report, warnings
from tests.local.node.harness import FakeApi, pod


def status(reason: str = "", message: str = "", **more: Any) -> dict[str, Any]:
    """A pod whose container waits for that reason."""
    return {
        "containerStatuses": [{"name": "main", "state": {"waiting": {"reason": reason, "message": message}}}],
        **more,
    }


STARTS = status("ContainerCreating")
PULL = status("ErrImagePull", "not found")


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (STARTS, PULL, [("Failed", "ErrImagePull of container main: not found")]),
        (PULL, status("ImagePullBackOff"), [("BackOff", "ImagePullBackOff of container main: ImagePullBackOff")]),
        (STARTS, {**STARTS, "reason": "DeadlineExceeded", "message": "too long"}, [("DeadlineExceeded", "too long")]),
    ],
)
def test_what_goes_wrong_is_an_event(before: Any, after: Any, expected: list[tuple[str, str]]) -> None:
    assert list(warnings(before, after)) == expected


@pytest.mark.parametrize("same", [PULL, {**STARTS, "reason": "Evicted"}])
def test_the_same_is_not_reported_twice(same: Any) -> None:
    assert list(warnings(same, same)) == []


def test_the_normal_course_of_a_pod_has_no_events() -> None:
    runs = {"containerStatuses": [{"name": "main", "state": {"running": {}}}]}
    ended = {"containerStatuses": [{"name": "main", "state": {"terminated": {"exitCode": 1}}}]}
    for before, after in (({}, STARTS), (STARTS, runs), (runs, ended)):
        assert list(warnings(before, after)) == []


async def test_an_event_names_its_pod_and_where_it_comes_from(fake_api: FakeApi) -> None:
    made = pod("p")
    made["metadata"]["uid"] = "u"
    await report(ResourceClient(fake_api), made, "kubelet", lambda: 0, ("Failed", "x" * 2000))
    ((verb, path, body),) = fake_api.asked
    assert (verb, path) == ("POST", "/api/v1/namespaces/default/events")
    assert body["involvedObject"] == {
        "kind": "Pod", "apiVersion": "v1", "name": "p", "uid": "u", "namespace": "default",
    }  # fmt: skip
    assert (body["type"], body["reason"], len(body["message"])) == ("Warning", "Failed", 1024)
    assert body["source"]["component"] == "kubelet"


async def test_an_event_that_is_refused_stops_nothing(fake_api: FakeApi) -> None:
    fake_api.refuse = [Forbidden("no", status=403)]
    await report(ResourceClient(fake_api), pod("p"), "kubelet", lambda: 0, ("Failed", "a"), ("BackOff", "b"))
    assert [body["reason"] for _, _, body in fake_api.asked if body] == ["Failed", "BackOff"]
