"""Runs of other controllers that are Stuck, where Events or their kind may not be read: the missing right is named."""

import io
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from rich.console import Console

from muster.api.errors import Forbidden
from muster.cli.commands.contexts import ClusterAnswer, Listed
from muster.cli.commands.several.top import Screen
from muster.kube.resources import ResourceClient
from tests.cli.conftest import Call
from tests.cli.test_top_screen import drawn
from tests.cli.test_watched_runs import event, job, pods, uid_of
from tests.client.localserver import LocalServer

__all__ = ("job", "pods")
LEFT_OUT = "runs of other controllers that are Stuck are not shown"


@pytest.fixture
def denied(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Refuses to list the objects of a kind."""
    allowed = ResourceClient.list

    def deny(kind: str) -> None:
        async def refusing(self: ResourceClient, path: str, params: Mapping[str, str] | None = None) -> Any:
            if path.endswith(f"/{kind}"):
                raise Forbidden(f'{kind} is forbidden: User "ann" cannot list resource "{kind}"', status=403)
            return await allowed(self, path, params)

        monkeypatch.setattr(ResourceClient, "list", refusing)

    return deny


@pytest.mark.parametrize("kind", ["events", "jobs"])
@pytest.mark.parametrize("verb", ["list", "get", "top"])
def test_a_table_without_them_names_the_right_once(
    call: Call, server: LocalServer, job: str, mine: str, denied: Callable[[str], None], verb: str, kind: str
) -> None:
    event(server, uid_of(call, job), "Job", "2099-01-01T00:00:00Z")
    allowed = call(verb)
    assert job in allowed.stdout
    assert "without list" not in allowed.stderr
    denied(kind)
    shown = call(verb)
    assert (shown.exit_code, shown.stderr) == (0, f"without list of {kind}: {LEFT_OUT}\n")
    assert "mine" in shown.stdout
    assert "without list" not in call(verb, "-o", "name").stderr, "it lists none of them"


def test_a_cluster_is_named_with_what_may_not_be_read_of_it(
    call: Call, server: LocalServer, mine: str, denied: Callable[[str], None]
) -> None:
    denied("events")
    assert f"muster-local: without list of events: {LEFT_OUT}\n" in call("list", "--contexts", "muster-local").stderr


def test_a_screen_has_the_line_above_its_table() -> None:
    screen = Screen(Console(file=io.StringIO(), width=100, height=24), (), over=False)
    screen.take("", ClusterAnswer("", Listed((), (), (f"without list of events: {LEFT_OUT}",))))
    assert drawn(screen).startswith(f"without list of events: {LEFT_OUT}\n")
