"""Text that others wrote (statuses, pods, logs, errors of the API server) never drives the terminal."""

import json
from typing import Any

import click
import pytest
import yaml

from muster.api.errors import Forbidden
from muster.cli.main import main
from muster.cli.options import ClusterChoice, json_text, yaml_text
from muster.cli.terminal import colours
from muster.cli.terminal.display import Block, Lines
from muster.cli.terminal.progress import summary
from muster.cli.terminal.style import log_line
from muster.client import Client, Explanation
from muster.client.explaining.tree import tree
from muster.client.member import member_of
from muster.client.snapshot import snapshot_of
from tests.cli.conftest import Call
from tests.cli.test_terminal import roll_document
from tests.client.localserver import LocalServer, labels, waiting

EVIL = "\x1b[2J\x1b]0;owned\x07\x9b31m\u202e"
"""Clears the screen, sets the title, colours, and turns the direction of writing."""


def harmless(text: str) -> bool:
    return all(line.isprintable() for line in text.split("\n"))


def hostile_status() -> dict[str, Any]:
    stuck = {"type": "Stuck", "status": "True", "reason": EVIL, "message": EVIL}
    story = [{"time": "2026-01-01T00:00:00Z", "epoch": 0, "reason": EVIL, "message": EVIL}]
    cause = {"epoch": 0, "pod": EVIL, "rank": 1, "node": EVIL, "exitCode": 1, "reason": EVIL, "message": EVIL}
    words = dict.fromkeys(("reason", "message", "coordinator"), EVIL)
    return {**words, "phase": f"Pending{EVIL}", "ready": "1/2", "conditions": [stuck], "story": story, "cause": cause}


HOSTILE_POD = waiting(f"Image{EVIL}", EVIL)


@pytest.fixture
def name(server: LocalServer, call: Call) -> str:
    manifest = "spec: {operator: jax, image: i, command: c, types: {worker: {resources: {cpus: 1, ramRatio: 1}}}}"
    assert call("submit", "-", "--name", "mine", input=manifest).exit_code == 0
    server.status("mine", **hostile_status())
    server.pod("mine-worker-0-0-x", labels("mine", 0), **HOSTILE_POD)
    return "mine"


LINES = ["get", "top", "get -o json", "get -o yaml", "get mine", "explain mine", "explain mine -o json", "cancel mine"]


@pytest.mark.parametrize("line", [*LINES, "logs mine --rank 0", "wait mine --timeout 0"])
def test_every_verb_prints_printable_text(call: Call, name: str, line: str) -> None:
    result = call(*line.split())
    assert result.output
    assert harmless(result.stdout), ascii(result.stdout)
    assert harmless(result.stderr), ascii(result.stderr)


def test_an_error_of_the_api_server_is_printed_on_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: ClusterChoice) -> Client:
        raise Forbidden(f"admission webhook says\n{EVIL}", status=403, reason="Forbidden")

    monkeypatch.setattr(ClusterChoice, "client", refuse)
    with pytest.raises(SystemExit) as ended:
        main(["get"])
    printed = capsys.readouterr()
    assert (ended.value.code, printed.out) == (1, "")
    assert harmless(printed.err)
    assert len(printed.err.splitlines()) == 1
    assert "muster doctor" not in printed.err, "it is about rights, and a webhook or a quota is none"


def test_trees_lines_and_blocks_are_printable(capsys: pytest.CaptureFixture[str]) -> None:
    meta = {"namespace": "team", "name": EVIL, "creationTimestamp": "2026-01-01T00:00:00Z"}
    seen = snapshot_of({"metadata": meta, "spec": {"operator": EVIL}, "status": hostile_status()})
    about = {"name": EVIL, "labels": labels("mine", 0) | {"muster.dev/group": EVIL}}
    pod: dict[str, Any] = {"metadata": about, "spec": {"nodeName": EVIL}, "status": HOSTILE_POD}
    drawn = tree(Explanation(seen, (member_of(pod),), ()), 10)
    assert harmless(click.unstyle("\n".join([*drawn, summary(seen)])))
    with Lines() as lines:
        lines.show(seen)
    missing = {"missingRanks": [{"rank": 1, "why": EVIL}], "clocks": {f"total{EVIL}": 5}}
    roll = roll_document(size=2, arrived=1, **missing)
    block = Block()
    block.show(seen)
    block.show_roll(roll)
    drawn = [str(line) for line in block.__rich__().renderables]
    assert len(drawn) > 3
    assert harmless("\n".join(drawn))
    assert harmless(capsys.readouterr().err)


@pytest.mark.parametrize("value", [{"a": EVIL + "\U000e0001", "b": "é\n日本"}, [], "plain"])
def test_data_for_programs_stays_the_same_data(value: object) -> None:
    shown = json_text(value, indent=2), yaml_text(value)
    assert all(harmless(text) for text in shown)
    assert (json.loads(shown[0]), yaml.safe_load(shown[1])) == (value, value)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (f"loss{EVIL}", "rank 3 | loss" + "\ufffd[2J\ufffd]0;owned\ufffd\ufffd31m\ufffd"),
        ("a\tb", "rank 3 | a\tb"),
        ("10%\r50%\r100%\r", "rank 3 | 100%"),
        ("10%\r50%", "rank 3 | 50%"),
    ],
)
def test_a_log_line_is_printable_on_a_terminal_and_unchanged_elsewhere(
    monkeypatch: pytest.MonkeyPatch, line: str, shown: str
) -> None:
    assert log_line(line, "rank 3 | ") == f"rank 3 | {line}"
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert click.unstyle(log_line(line, "rank 3 | ")) == shown


def test_in_a_job_of_a_ci_service_a_log_line_keeps_its_colours_and_no_other_control_character(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CI", "true")
    line = "10%\r\x1b[1;31mloss\t3\x1b[0m\x1b[2J\x1b]0;owned\x07\x1b[0Ksection_start:1:a"
    kept = "\x1b[1;31mloss\t3\x1b[0m\ufffd[2J\ufffd]0;owned\ufffd\ufffd[0Ksection_start:1:a"
    assert log_line(line, "rank 3 | ") == f"rank 3 | {kept}"


def test_what_was_missed_is_replaced_before_it_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    colours.say(f"a\tb\x1b[31mred\x1b[0m{EVIL}\udcff")
    assert harmless(click.unstyle(capsys.readouterr().err).replace("\t", ""))
