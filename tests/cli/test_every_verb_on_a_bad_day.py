"""Every verb that needs a cluster: without one, without Muster on it, without rights, and with names of attackers."""

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from muster.api.errors import Unreachable, error_of
from muster.cli.options import ClusterChoice
from muster.client import Client
from tests.cli.conftest import Call, stderr_of
from tests.cli.test_foreign_text import EVIL, harmless
from tests.client.localserver import MANIFEST, LocalServer

NAMED = [
    "get NAME",
    "get NAME -w",
    "explain NAME",
    "logs NAME",
    "logs NAME -f",
    "stacks NAME",
    "wait NAME",
    "cancel NAME",
    "goodput NAME",
]
NAMED += ["delete NAME --yes", "delete NAME --dry-run"]
OTHERS = [
    "list",
    "list -A -w",
    "get",
    "goodput --all",
    "incidents -A",
    "prune --older-than 1d --yes",
    "prune --older-than 1d --dry-run -A",
]


def words(line: str, name: str = "mine") -> list[str]:
    return [name if word == "NAME" else word for word in line.split()]


@pytest.mark.parametrize("line", [*NAMED, *OTHERS])
def test_without_a_cluster_the_next_step_is_named(call: Call, line: str) -> None:
    assert "muster local up" in stderr_of(call, 1, *words(line))


@pytest.mark.parametrize("line", [*NAMED, *OTHERS])
def test_without_the_kind_the_next_step_is_named(call: Call, server: LocalServer, line: str) -> None:
    server.uninstall()
    assert "deploy/crds" in stderr_of(call, 1, *words(line))


class Denied:
    """An API server that refuses everything, in words of its own."""

    def _refuse(self, method: str, path: str) -> Exception:
        return error_of(403, "Forbidden", f'User "ann" cannot do this{EVIL}', request=f"{method} {path}")

    async def request(self, method: str, path: str, **_: Any) -> Any:
        raise self._refuse(method, path)

    def lines(self, path: str, *, params: Mapping[str, str], silence: float) -> Any:
        raise self._refuse("GET", path)


@pytest.mark.parametrize("line", [*NAMED, *OTHERS])
def test_without_rights_the_refusal_is_quoted(call: Call, monkeypatch: pytest.MonkeyPatch, line: str) -> None:
    monkeypatch.setattr(ClusterChoice, "client", lambda _: Client(transport=Denied()))
    error = stderr_of(call, 1, *words(line))
    assert 'User "ann" cannot do this' in error
    assert harmless(error), ascii(error)


class Slow:
    """An API server that thinks for a while, and is gone then."""

    async def request(self, method: str, path: str, **_: Any) -> Any:
        for _turn in range(20):
            await asyncio.sleep(0)
        raise Unreachable("gone", request=f"{method} {path}")


@pytest.mark.parametrize("line", [*NAMED, "submit - --name new", "list", "get", "prune --older-than 1d --dry-run"])
def test_a_wait_that_is_long_enough_to_be_noticed_is_named(
    call: Call, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setattr(ClusterChoice, "client", lambda _: Client(transport=Slow()))  # type: ignore[arg-type]
    monkeypatch.setattr("muster.cli.terminal.patience.QUIET", 0.0)
    error = stderr_of(call, 1, *words(line), input=MANIFEST)
    assert error.startswith(("still ", "waiting for ")), error
    assert "gone" in error


@pytest.mark.parametrize("name", ["..", "../pods", "a/b", "", f"x{EVIL}", "a?watch=1", "a%2f..%2fpods"])
@pytest.mark.parametrize("line", NAMED)
def test_a_name_of_an_attacker_reaches_no_other_object(call: Call, server: LocalServer, line: str, name: str) -> None:
    result = call(*words(line, name))
    assert (result.exit_code, result.stdout) == (1, "")
    refusals = ("cannot be the name of a Kubernetes object", "does not exist", "is not a valid name", "is not a kind")
    assert any(refusal in result.stderr for refusal in refusals)
    assert harmless(result.output), ascii(result.output)
