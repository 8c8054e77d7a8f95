"""``muster incidents``, and what stands above ``muster top``: from musterd, and from the Events of runs."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from muster.api.errors import error_of
from muster.api.names import ANNOTATION_ABOUT, API_VERSION, KIND
from muster.cli.exits import INCIDENT
from muster.cli.musterd_page import LARGEST
from muster.kube.resources import ResourceClient
from tests.cli.conftest import Answering, Call, serving, stderr_of
from tests.client.localserver import MANIFEST, LocalServer

SINCE, LATER = "2026-01-01T00:00:00Z", "2026-01-01T00:00:12Z"
STUCK = {"type": "Stuck", "status": "True", "reason": "NodeNotReady", "lastTransitionTime": SINCE}
HELD = [{"resource": "nvidia.com/gpu", "count": 8}]


def stuck(
    call: Call,
    server: LocalServer,
    name: str,
    *words: str,
    about: str = "node=n7",
    at: str = LATER,
    reason: str = "Incident",
) -> None:
    """A run that is Stuck, and an Event about it."""
    assert call("submit", "-", "--name", name, *words, input=MANIFEST).exit_code == 0
    server.status(name, phase="Running", conditions=[STUCK], devices=HELD, size=1)
    run = {"kind": KIND, "apiVersion": API_VERSION, "name": name, "namespace": "default", "uid": server.uid(name)}
    metadata = {"name": f"{name}.1", "annotations": {ANNOTATION_ABOUT: about}}
    event = {"metadata": metadata, "involvedObject": run, "type": "Warning", "reason": reason, "message": "words"}
    server.put("v1", "events", "default", {**event, "firstTimestamp": at, "lastTimestamp": at})


def test_runs_whose_events_name_one_subject_are_one_line(call: Call, server: LocalServer) -> None:
    for name in "abc":
        stuck(call, server, name)
    result = call("incidents")
    heading, line = result.stdout.splitlines()
    assert heading.split()[:5] == ["SUBJECT", "CAUSE", "RUNS", "ACCELERATORS", "SINCE"]
    assert line.split()[:5] == ["node", "n7", "NodeNotReady", "3", "24"]
    assert line.endswith("kubectl describe node n7")
    assert "read from the Events" in result.stderr
    (found,) = json.loads(call("incidents", "-A", "-o", "json").stdout)["incidents"]
    assert found["runs"] == ["default/a", "default/b", "default/c"]
    assert (found["since"], found["ranks"]) == ("2026-01-01T00:00:00.000Z", None)
    first = call("top").stdout.splitlines()[0]
    assert first.startswith("incident: node n7: NodeNotReady blocks 3 runs of namespace default, since ")
    assert first.endswith("; holds 24 accelerators")


def test_the_exit_status_says_it_to_scripts(call: Call, server: LocalServer) -> None:
    assert call("incidents", "--exit-code").exit_code == 0
    stuck(call, server, "a")
    assert call("incidents").exit_code == 0
    assert call("incidents", "--exit-code").exit_code == INCIDENT


@pytest.mark.parametrize(
    "event", [{"at": "2025-12-31T23:59:59Z"}, {"reason": "Stuck"}, {"about": "the weather"}, {"about": "moon=x"}]
)
def test_what_is_reported_of_another_time_or_of_something_else_is_no_incident(
    call: Call, server: LocalServer, event: dict[str, Any]
) -> None:
    stuck(call, server, "a", **event)
    assert "no incidents in this namespace" in stderr_of(call, 0, "incidents")


def test_a_run_that_goes_on_is_in_none(call: Call, server: LocalServer) -> None:
    stuck(call, server, "a")
    server.status("a", phase="Running", conditions=[{**STUCK, "status": "False"}])
    assert call("incidents").stdout == ""
    assert call("top").stdout.startswith("1 experiment")


def test_without_rights_on_events_no_incident_is_not_the_answer(
    call: Call, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    list_all = ResourceClient.list

    async def refuses(self: ResourceClient, path: str, *rest: Any) -> Any:
        if path.endswith("/events"):
            raise error_of(403, "Forbidden", 'User "ann" cannot list resource "events"')
        return await list_all(self, path, *rest)

    monkeypatch.setattr(ResourceClient, "list", refuses)
    assert 'cannot list resource "events"' in stderr_of(call, 1, "incidents")
    assert call("top").exit_code == 0


class Musterd(Answering):
    """Answers one text, to one token."""

    reply: ClassVar[str] = ""
    status: ClassVar[int] = 200
    sent: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.sent.append(f"{self.path} {self.headers.get('Authorization')}")
        self.answer(self.status, self.reply)


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr(Musterd, "sent", [])
    with serving(Musterd) as url:
        yield url


def listing(**more: object) -> str:
    one: dict[str, object] = {"kind": "registry", "subject": "r.example", "cause": "ImagePull", "since": SINCE}
    one |= {"sentence": "registry r.example: ImagePull blocks 2 runs", "remedy": "look\x1b[2J", "runs": ["a/x", "b/y"]}
    one |= {"namespace": "", "ranks": 4, "devices": {}}
    return json.dumps({"incidents": [one], "hidden": 2, "looked": True, **more})


def test_the_page_is_asked_with_the_token_of_the_file(
    call: Call, page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(Musterd, "reply", listing())
    (tmp_path / "token").write_text("secret\n")
    result = call("incidents", "--page", page, "--token-file", tmp_path / "token")
    assert Musterd.sent == ["/incidents.json Bearer secret"]
    assert result.stdout.splitlines()[1].split()[:4] == ["registry", "r.example", "ImagePull", "2"]
    assert "\x1b" not in result.stdout
    assert "2 more are not shown" in result.stderr
    assert call("incidents", "--page", page, "-n", "b").stdout != ""
    assert call("incidents", "--page", page, "-n", "c").stdout == ""


@pytest.mark.parametrize(
    ("status", "reply", "text"),
    [
        (200, listing(looked=False, incidents=[]), "does not lead"),
        (200, "<html>", "no musterd of this version"),
        (200, "x" * (LARGEST + 1), "no musterd of this version"),
        (302, "", "status 302"),
        (401, "A token of the cluster is needed\x1b[2J", "status 401: A token of the cluster is needed"),
    ],
)
def test_an_answer_that_holds_no_incidents_is_not_called_none(
    call: Call, page: str, monkeypatch: pytest.MonkeyPatch, status: int, reply: str, text: str
) -> None:
    monkeypatch.setattr(Musterd, "reply", reply)
    monkeypatch.setattr(Musterd, "status", status)
    error = stderr_of(call, 1, "incidents", "--page", page)
    assert text in error
    assert "\x1b" not in error


def test_a_token_does_not_travel_without_encryption(call: Call, tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret")
    words = ("incidents", "--token-file", tmp_path / "token", "--page")
    assert "without encryption" in stderr_of(call, 1, *words, "http://musterd.example")
    (tmp_path / "token").write_text("two words")
    assert "holds no token" in stderr_of(call, 1, *words, "https://musterd.example")
    assert "is no address" in call("incidents", "--page", "musterd:8080").stderr
    assert call("incidents", "--token-file", tmp_path / "token").exit_code == 2
