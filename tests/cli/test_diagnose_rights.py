"""`muster diagnose` where a right is missing: it names the right and what that costs, and prints what it knows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from aiohttp import web
from click.testing import Result

from muster.local.apiserver.errors import ApiError
from muster.local.apiserver.http.bodies import Query, RequestInfo
from muster.local.apiserver.http.request_handler import RequestHandler
from tests.cli.conftest import Call, stderr_of
from tests.cli.diagnosed import beside, jobset
from tests.client.localserver import LocalServer
from tests.e2e.kueue import KINDS, crd
from tests.fakes.tcpstore import FakeStore

pytestmark = pytest.mark.usefixtures("diagnosable")

FINDING: Final = "rank 2: the image none cannot be pulled  (ImagePull)"
ROLL: Final = "roll call: 2/3 arrived; missing 2"
PODS: Final = "ranks, nodes and causes are not known"
RUN: Final = "what is to run is not known"
ARRIVED: Final = "who has arrived is not known; pods and causes are"
LATER: Final = "changes after this moment are not seen"
SAID: Final = "the last Event of musterd is not known"
DOES: Final = "what each rank does is not known"
CREDENTIALS: Final = "the API server does not accept the credentials"


@dataclass
class Rights:
    """The service account may do what is asked, but for ``denied``: a verb and a resource, with its subresource."""

    denied: set[tuple[str, str]] = field(default_factory=set)
    elsewhere: str = ""
    """The one namespace in which it has its rights; empty: everywhere."""
    requests: list[tuple[str, str]] = field(default_factory=list)
    expires_after: int = 1_000
    """Requests after which its token is expired."""

    def check(self, request: web.BaseRequest, info: RequestInfo, query: Query) -> None:
        """Refuse as an API server does. Raises ``ApiError``."""
        resource = "/".join(filter(None, (info.resource.plural, info.subresource)))
        verb = "watch" if query.flag("watch") else "get" if info.name else "list"
        if request.method not in ("GET", "HEAD"):
            verb = {"POST": "create", "DELETE": "delete"}.get(request.method, "update")
        if "Impersonate-User" in request.headers:
            verb, resource = "impersonate", "users"
        self.requests.append((verb, resource))
        if len(self.requests) > self.expires_after:
            raise ApiError(401, "Unauthorized", "Unauthorized")
        if (verb, resource) in self.denied or self.elsewhere not in ("", info.namespace):
            where = f'in API group "{info.resource.group}" in the namespace "{info.namespace}"'
            said = f'User "system:serviceaccount:team:reader" cannot {verb} resource "{resource}" {where}'
            raise ApiError(403, "Forbidden", f'{resource} "{info.name}" is forbidden: {said}')


@pytest.fixture
def rights(monkeypatch: pytest.MonkeyPatch) -> Rights:
    """What the caller may do."""
    held, answered = Rights(), RequestHandler._verb  # noqa: SLF001 - where verb and resource are known

    def asked(handler: RequestHandler, request: web.BaseRequest, info: RequestInfo, query: Query) -> Any:
        held.check(request, info, query)
        return answered(handler, request, info, query)

    monkeypatch.setattr(RequestHandler, "_verb", asked)
    return held


@pytest.fixture
def found(call: Call, server: LocalServer) -> Iterator[Callable[..., Result]]:
    """Diagnose a JobSet of three: ranks 0 and 1 have arrived, and rank 2 waits for its image."""
    with beside(server, FakeStore()) as store:
        store.join(0, 1)
        name = jobset(server, store.address, waits=(2,), operator="pytorch")
        yield lambda *words: call("diagnose", name, *words)


@dataclass(frozen=True)
class Row:
    """``status`` and what is printed where the right is missing. ``knows`` is on standard output all the same."""

    right: str
    costs: tuple[str, ...] = ()
    knows: tuple[str, ...] = (FINDING, ROLL)
    status: int = 6

    @property
    def verb(self) -> tuple[str, str]:
        verb, _, resource = self.right.partition(" ")
        return verb, resource


ROWS: Final = (
    Row("none"),
    Row("get jobsets", (f"without get of jobsets: {RUN}",), (), 1),
    Row("list pods", (f"without list of pods: {PODS}",), ("default/jobset/train  3 ranks are wanted",), 1),
    Row("watch pods", (f"without watch of pods: {LATER}",)),
    Row("get pods/portforward", (f"without get and create of pods/portforward: {ARRIVED}",), (FINDING,)),
    Row("get pods/exec", (f"without get and create of pods/exec: {DOES}",)),
    Row("list events", (f"without list of events: {SAID}",)),
    Row("get pods"),
    Row("list leases"),
    Row("list nodes"),
)


@pytest.mark.parametrize("row", ROWS, ids=[row.right.replace(" ", "-") for row in ROWS])
def test_a_missing_right_is_named_with_its_cost_and_the_rest_is_printed(
    rights: Rights, found: Callable[..., Result], row: Row
) -> None:
    rights.denied = {row.verb}
    shown = found("--stacks")
    assert shown.exit_code == row.status, shown.output
    for said in row.costs:
        assert said in shown.output
    assert shown.stdout.count("not known: ") == (len(row.costs) if row.status == 6 else 0)
    for known in row.knows:
        assert known in shown.stdout
    assert (ROLL in shown.output, FINDING in shown.output) == (ROLL in row.knows, FINDING in row.knows)
    assert {verb for verb, _ in rights.requests} <= {"get", "list", "watch"}
    assert ("get", "pods/exec") in rights.requests or row.status == 1


@pytest.mark.parametrize("right", [row.right for row in ROWS if row.costs and row.status != 1])
def test_data_has_what_is_not_known_and_what_it_costs(rights: Rights, found: Callable[..., Result], right: str) -> None:
    (row,) = [row for row in ROWS if row.right == right]
    rights.denied = {row.verb}
    shown = json.loads(found("--stacks", "-o", "json").stdout)
    assert tuple(shown["unknown"].values()) == row.costs
    assert (shown["trouble"], shown["findings"][0]["ranks"]) == (True, [2])
    assert "stacks" in shown
    assert shown["arrived"] == (None if right == "get pods/portforward" else 2)


def test_whether_a_queue_admits_a_run_is_not_known_without_its_workload(
    rights: Rights, found: Callable[..., Result], server: LocalServer
) -> None:
    server.put("apiextensions.k8s.io/v1", "customresourcedefinitions", "", crd(*KINDS[0]))
    queued = {"metadata": {"name": "train", "labels": {"kueue.x-k8s.io/queue-name": "q"}}}
    server.put("jobset.x-k8s.io/v1alpha2", "jobsets", "default", queued)
    rights.denied = {("list", "workloads")}
    shown = found()
    assert "not known: without list of workloads: whether its queue admits it is not known" in shown.stdout
    assert FINDING in shown.stdout


def test_rights_in_another_namespace_alone_are_none_here(rights: Rights, found: Callable[..., Result]) -> None:
    rights.elsewhere = "other"
    assert f"without get of jobsets: {RUN}" in stderr_of(found, 1)


def test_the_right_to_impersonate_is_named_and_not_that_of_the_request(
    rights: Rights, found: Callable[..., Result]
) -> None:
    rights.denied = {("impersonate", "users")}
    error = stderr_of(found, 1, "--as", "ann")
    assert f"without impersonate of that user: {RUN}" in error
    assert "without get" not in error


@pytest.mark.parametrize(
    ("requests", "status", "costs"),
    [(0, 1, (RUN,)), (1, 1, (PODS,)), (2, 6, (LATER, ARRIVED, SAID)), (3, 6, (ARRIVED, SAID)), (4, 6, (SAID,))],
)
def test_a_token_that_expires_in_the_middle_is_no_missing_right(
    rights: Rights, found: Callable[..., Result], requests: int, status: int, costs: tuple[str, ...]
) -> None:
    rights.expires_after = requests
    shown = found()
    assert shown.exit_code == status, shown.output
    for cost in costs:
        assert f"{CREDENTIALS}: {cost}" in shown.output
    assert "without" not in shown.output
    assert (FINDING in shown.stdout) == (status == 6)
    assert (ROLL in shown.stdout) == (status == 6 and ARRIVED not in costs)
