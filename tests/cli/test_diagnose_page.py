"""`muster diagnose --page`: what a musterd knows of a run is taken from its page."""

import json
from pathlib import Path

import msgspec
import pytest

from muster.api.gang import RollCall
from muster.rollcall.make import detail
from muster.state.facts.context import Context
from muster.state.vocabulary.record import Phase
from tests.builders import NOW, plan, pod, record, view
from tests.cli.conftest import Call
from tests.cli.diagnosed import beside, jobset
from tests.cli.test_diagnose import asked
from tests.cli.test_incidents import Musterd, page
from tests.client.localserver import LocalServer
from tests.fakes.tcpstore import FakeStore

__all__ = ["asked", "page"]  # fixtures
pytestmark = pytest.mark.usefixtures("diagnosable")


def reply(*, restarts: int = 3) -> str:
    """The document of a run of four, with two that have not arrived."""
    seen = view(*(pod(rank) for rank in range(4)))
    known = record(phase=Phase.ASSEMBLING, restarts=restarts, roll=RollCall(4, 2, (1, 3)))
    return msgspec.json.encode(detail(Context.at(plan(), known, seen, NOW))).decode()


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Musterd, "reply", reply())


@pytest.fixture
def name(server: LocalServer) -> str:
    """A JobSet of three, whose coordinator has no port that is open."""
    with beside(server, FakeStore()) as store:
        address = store.address
    return jobset(server, address, operator="pytorch")


@pytest.mark.usefixtures("answered")
def test_what_musterd_knows_of_a_watched_run_is_printed_in_place_of_one_look(
    call: Call, page: str, name: str, tmp_path: Path
) -> None:
    (tmp_path / "token").write_text("secret\n")
    shown = call("diagnose", name, "--page", page, "--token-file", tmp_path / "token")
    assert Musterd.sent == ["/experiments/default/jobset/train.json Bearer secret"]
    assert "3 restarts, 4/4 ready" in shown.stdout
    assert "ranks 1, 3: " in shown.stdout
    assert "not known" not in shown.stdout
    assert "from its page" in shown.stderr
    assert shown.exit_code == 6


@pytest.mark.usefixtures("answered")
def test_an_experiment_is_asked_for_by_its_name_and_printed_as_data(call: Call, page: str, mine: str) -> None:
    found = json.loads(call("diagnose", mine, "--page", page, "-o", "json").stdout)
    assert Musterd.sent == [f"/experiments/default/{mine}.json None"]
    assert [each["ranks"] for each in found["findings"]] == [[1, 3]]
    assert (found["trouble"], found["unknown"]) == (True, {})


@pytest.mark.usefixtures("answered")
def test_stacks_are_read_in_the_namespace_that_was_named_whatever_the_page_has(
    call: Call, page: str, name: str, asked: set[tuple[str, str]]
) -> None:
    shown = call("diagnose", name, "--page", page, "--stacks")
    assert shown.stdout.startswith("team/run ")
    assert asked == {(f"train-workers-0-{rank}", "main") for rank in range(3)}
    assert "\n\n3 ranks (0-2) in all_reduce at train.py:88\n" in shown.stdout


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "A token of the cluster is needed"), (403, "anna may not get experiments.muster.dev"), (200, "<html>")],
)
def test_where_musterd_gives_nothing_the_command_looks_by_itself_and_names_what_that_costs(
    call: Call, page: str, name: str, monkeypatch: pytest.MonkeyPatch, status: int, words: str
) -> None:
    monkeypatch.setattr(Musterd, "status", status)
    monkeypatch.setattr(Musterd, "reply", f"{words}\x1b[2J")
    shown = call("diagnose", name, "--page", page)
    assert "3/3 ready" in shown.stdout
    (line,) = (each for each in shown.stdout.splitlines() if "what musterd has seen of it before is not known" in each)
    assert (f"status {status}: {words}" if status != 200 else "no musterd of this version") in line
    assert "\x1b" not in shown.stdout


@pytest.mark.parametrize(("key", "value"), [("size", 10**12), ("members", {"failed": "0-99999999999"})])
def test_a_page_that_names_ranks_without_bounds_is_refused(
    call: Call, page: str, name: str, monkeypatch: pytest.MonkeyPatch, key: str, value: object
) -> None:
    monkeypatch.setattr(Musterd, "reply", json.dumps({**json.loads(reply()), key: value}))
    shown = call("diagnose", name, "--page", page, "-o", "json")
    assert "no musterd of this version" in json.loads(shown.stdout)["unknown"]["page"]


@pytest.mark.parametrize("form", [(), ("-o", "json")])
def test_a_page_has_no_control_characters_of_a_terminal(
    call: Call, page: str, name: str, monkeypatch: pytest.MonkeyPatch, form: tuple[str, ...]
) -> None:
    """What listens there may be anything."""
    known = json.loads(reply())
    for key in ("namespace", "name", "kind", "phase", "stuck", "message", "hint"):
        known[key] += "\x1b[2J"
    known["findings"][0]["cause"] += "\x1b[2J"
    monkeypatch.setattr(Musterd, "reply", json.dumps(known))
    shown = call("diagnose", name, "--page", page, *form)
    assert "Assembling" in shown.stdout
    assert "\x1b" not in shown.stdout
