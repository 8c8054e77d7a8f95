"""The pod subresource exec: what the client of `muster stacks` gets from it."""

from collections.abc import Sequence

import pytest

from muster.api.errors import ApiError, NotFound
from muster.kube.authentication.credentials import ClusterAccess
from muster.kube.connection import Connection
from muster.kube.execution import Executed, execute
from muster.local.apiserver import ApiServer
from muster.local.apiserver.http.pod_subresources import Write
from tests.local.apiserver.harness import PODS, Api, pod


class Echo:
    """Prints container and command, and exits with the code that the command ends in."""

    async def execute(
        self, namespace: str, pod: str, container: str, command: Sequence[str], write: Write
    ) -> int | None:
        await write(f"{namespace}/{pod}/{container}".encode())
        await write(f" {list(command)}".encode())
        return None if command[-1] == "gone" else int(command[-1])


async def run(api: Api, *command: str) -> Executed:
    connection = await Connection.open(ClusterAccess(api.base))
    try:
        return await execute(connection, "default", "p", "main", command)
    finally:
        await connection.aclose()


async def test_the_node_agent_runs_the_command_and_its_exit_code_comes_back(server: ApiServer, api: Api) -> None:
    await api.create(PODS, pod("p"))
    server.pods.commands = Echo()
    assert await run(api, "a b", "0") == Executed(0, b"default/p/main ['a b', '0']", b"")
    assert (await run(api, "7")).code == 7


async def test_what_cannot_run_is_an_error_in_words(server: ApiServer, api: Api) -> None:
    with pytest.raises(ApiError):
        await run(api, "0")
    await api.create(PODS, pod("p"))
    with pytest.raises(ApiError):
        await run(api, "0")  # before a node agent
    server.pods.commands = Echo()
    with pytest.raises(NotFound, match="it does not run"):
        await run(api, "gone")


async def test_a_request_that_is_no_websocket_is_refused(server: ApiServer, api: Api) -> None:
    await api.create(PODS, pod("p"))
    server.pods.commands = Echo()
    status, body = await api.call("GET", f"{PODS}/p/exec?command=true")
    assert (status, "WebSocket" in body["message"]) == (400, True)
    assert (await api.call("GET", f"{PODS}/p/exec"))[0] == 400
    assert (await api.call("GET", f"{PODS}/p/exec?command=sh&tty=true"))[0] == 400


@pytest.mark.parametrize(
    ("query", "says"),
    [("command=sh&stdin=true", "without stdin"), ("command=true", "WebSocket"), ("command=a&container=no", "no")],
)
async def test_the_second_try_of_kubectl_by_post_gets_the_reason(
    server: ApiServer, api: Api, query: str, says: str
) -> None:
    await api.create(PODS, pod("p"))
    server.pods.commands = Echo()
    status, body = await api.call("POST", f"{PODS}/p/exec?{query}")
    assert (status, body["reason"]) == (400, "BadRequest")
    assert says in body["message"]
