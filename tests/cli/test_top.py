"""``muster top``: the most urgent comes first; on a terminal it follows what happens, and ends when asked."""

import asyncio
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from fcntl import ioctl
from struct import pack
from termios import TIOCSWINSZ, tcgetattr
from typing import Any

import pytest
import yaml
from rich.console import Console

from muster.api.errors import Throttled
from muster.cli.commands.contexts import Wanted
from muster.cli.commands.several import top
from muster.cli.commands.several.listing import places
from muster.cli.commands.several.top import HEADINGS, Screen, lines, worst_first
from muster.cli.exits import INTERRUPTED
from muster.cli.options import ClusterChoice
from muster.cli.terminal.table import LEGIBLE
from muster.client import Client
from muster.client.snapshot import Snapshot, snapshot_of
from muster.state.summary.hurt import RECENT, Hurt
from tests.cli.conftest import Call
from tests.client.localserver import LocalServer, running

NOW = 1_000_000_000.0
STAMP = "2001-09-09T01:46:30Z"
"""10 s before ``NOW``."""


def seen(name: str, **status: object) -> Snapshot:
    meta = {"namespace": "team", "name": name, "uid": name, "creationTimestamp": STAMP}
    usual = {"phase": "Running", "phaseTime": STAMP, "size": 4}
    return snapshot_of({"metadata": meta, "spec": {"operator": "jax"}, "status": usual | status})


def stuck(reason: str) -> dict[str, object]:
    return {"conditions": [{"type": "Stuck", "status": "True", "reason": reason, "lastTransitionTime": STAMP}]}


ROLL = {"arrived": 3, "expected": 4, "missing": [2]}
EXAMPLES = {
    "hung": seen("hung", **stuck("Hung")),
    "stuck": seen("stuck", phase="Assembling", **stuck("RanksMissing")),
    "missing": seen("missing", phase="Assembling", roll=ROLL),
    "restarting": seen("restarting", phase="Restarting"),
    "deadline": seen("deadline", deadline="2001-09-09T01:47:00Z"),
    "failed": seen("failed", phase="Failed", finishTime=STAMP),
    "queued": seen("queued", phase="Queued"),
    "well": seen("well"),
}


def test_what_hurts_most_comes_first() -> None:
    found = worst_first(reversed(EXAMPLES.values()), NOW, over=False)
    assert [each.name for each in found] == [*Hurt, "well"]


def test_one_that_is_over_is_left_out_unless_it_failed_within_a_day() -> None:
    over = [seen("done", phase="Succeeded", finishTime=STAMP), EXAMPLES["failed"]]
    assert [each.name for each in worst_first(over, NOW, over=False)] == ["failed"]
    assert worst_first(over, NOW + RECENT, over=False) == []
    assert [each.name for each in worst_first(over, NOW + RECENT, over=True)] == ["done", "failed"]


def test_the_table_names_what_it_waits_for() -> None:
    waiting = seen("train", phase="Assembling", roll=ROLL, message="3/4 ranks arrived; missing rank 2")
    count, heading, row = lines([waiting], NOW)
    assert count == "1 experiment, 1 with a problem"
    assert heading.split()[:4] == ["NAME", "PROBLEM", "PHASE", "FOR"]
    assert "ranks missing" in row
    assert row.endswith("3/4 ranks arrived; missing rank 2")


def test_elsewhere_than_on_a_terminal_it_is_printed_once(call: Call, server: LocalServer, mine: str) -> None:
    server.status(mine, phase="Restarting", message="1 pod of an older epoch ends")
    result = call("top")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[0] == "1 experiment, 1 with a problem"
    assert result.stdout.splitlines()[2].split()[:3] == ["mine", "restarting", "Restarting"]
    assert [item["metadata"]["name"] for item in json.loads(call("top", "-o", "json").stdout)["items"]] == ["mine"]
    assert call("top", "-o", "name").stdout == "mine\n"


def test_without_experiments_it_says_so(call: Call, server: LocalServer) -> None:
    assert call("top").stdout == "no experiments in this namespace; -A looks in all\n"


def test_those_that_are_over_are_counted_where_nothing_else_is_left(call: Call, server: LocalServer, mine: str) -> None:
    server.status(mine, phase="Succeeded")
    assert call("top").stdout == "no experiment is under way; 1 over, which --all shows\n"
    assert call("top", "--all").stdout.startswith("1 experiment, none with a problem\n")


def test_objects_of_another_kind_are_not_called_experiments(call: Call, server: LocalServer) -> None:
    assert call("top", "--kind", "pods").stdout == "no runs of kind pods in this namespace; -A looks in all\n"
    assert lines([seen("pods/train")], NOW, kind="pods")[0] == "1 run of kind pods, none with a problem"


COLOUR = re.compile(r"\x1b\[[0-9;]*m")
CURSOR_SHOWN = "\x1b[?25h"
COMMAND = """
import signal
from muster.cli.main import main

signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""
"""As a shell starts it on a terminal. What runs in the background of a script inherits that SIGINT is ignored."""
Open = Callable[..., "Terminal"]


class Terminal:
    """A pseudo-terminal of 100 columns, and the command in it."""

    def __init__(self, *words: str, lines: int = 30, **environment: str) -> None:
        self._near, self._far = os.openpty()
        ioctl(self._near, TIOCSWINSZ, pack("HHHH", lines, 100, 0, 0))
        self._before = tcgetattr(self._far)
        kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
        command = [sys.executable, "-c", COMMAND, "top", *words]
        self.process = subprocess.Popen(
            command, stdin=self._far, stdout=self._far, stderr=self._far, env=kept | {"TERM": "xterm"} | environment
        )
        self.seen = ""

    def until(self, words: str) -> str:
        """What was drawn up to these words. The timeout of the test ends a wait for what never comes."""
        while words not in self.seen:
            self.seen += os.read(self._near, 65536).decode(errors="replace")
        return self.seen

    def type(self, keys: str) -> None:
        os.write(self._near, keys.encode())

    def ended(self) -> int:
        """The exit code of the command, which has left the terminal as it was."""
        self.until(CURSOR_SHOWN)
        code = self.process.wait()
        assert tcgetattr(self._far) == self._before
        assert "Traceback" not in self.seen
        return code

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._near)
        os.close(self._far)


@pytest.fixture
def terminal(server: LocalServer, mine: str) -> Iterator[Open]:
    opened: list[Terminal] = []

    def run(*words: str, **options: int | str) -> Terminal:
        opened.append(Terminal(*words, **options))  # type: ignore[arg-type]
        return opened[-1]

    server.status(mine, phase="Restarting", message="1 pod of an older epoch ends")
    yield run
    for each in opened:
        each.close()


def test_it_follows_what_happens_and_ends_with_ctrl_c(terminal: Open, server: LocalServer, mine: str) -> None:
    screen = terminal()
    drawn = screen.until("1 pod of an older epoch ends")
    assert "1 experiment, 1 with a problem" in drawn
    assert COLOUR.search(drawn)
    server.status(mine, phase="Running", message="4/4 ranks arrived")
    screen.until("4/4 ranks arrived")
    screen.process.send_signal(signal.SIGINT)
    assert screen.ended() == INTERRUPTED


def test_q_ends_it_and_no_colour_is_sent_where_none_is_wanted(terminal: Open) -> None:
    screen = terminal(NO_COLOR="1")
    assert not COLOUR.search(screen.until("1 pod of an older epoch ends"))
    screen.type("xq")
    assert screen.ended() == 0


def test_runs_that_muster_only_watches_over_are_followed_on_a_terminal(terminal: Open, server: LocalServer) -> None:
    screen = terminal("--kind", "pods")
    screen.until("no runs of kind pods")
    server.pod("alone-0", {"muster.dev/observe": "alone"}, **running())
    screen.until("pods/alone")
    screen.type("q")
    assert screen.ended() == 0


def test_clusters_are_followed_each_in_its_own_time(terminal: Open, server: LocalServer, mine: str) -> None:
    """One that does not answer is named above the table, while the experiments of the other change."""
    context = yaml.safe_load(server.kubeconfig.read_text())["current-context"]
    screen = terminal("--contexts", f"{context},unknown")
    screen.until("context unknown: ")
    screen.until("1 pod of an older epoch ends")
    server.status(mine, phase="Running", message="all of them run")
    screen.until("all of them run")
    screen.type("q")
    assert screen.ended() == 0


def test_a_screen_without_experiments_is_read_and_a_failure_to_read_it_ends_nothing(
    server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    screen, failing = Screen(Console(file=io.StringIO(), width=100, height=24), (), over=False), True
    taken, take = asyncio.Event(), screen.take

    def announced(*came: Any) -> None:
        take(*came)
        taken.set()

    async def list_stuck(*_: object, **__: object) -> list[Snapshot]:
        if failing:
            raise Throttled("etcdserver: request timed out")
        return [snapshot_of({"kind": "JobSet", "metadata": {"name": "held", "uid": "1"}})]

    async def until(words: str) -> None:
        while words not in drawn(screen):
            await taken.wait()
            taken.clear()

    async def play() -> None:
        nonlocal failing
        chosen, wanted = ClusterChoice(server.kubeconfig, None, None), Wanted(everywhere=False, stuck=True)
        watching = asyncio.create_task(top._watch(chosen, wanted, screen))  # noqa: SLF001
        assert drawn(screen) == "no answer yet\n"
        await until("API server: etcdserver: request timed out\nno answer yet")
        failing = False
        await until("jobset/held")
        assert "timed out" not in drawn(screen)
        failing = True
        await until("timed out; its last answer is shown")
        assert "jobset/held" in drawn(screen)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    monkeypatch.setattr(screen, "take", announced)
    monkeypatch.setattr(top, "READ_ANEW", 0.02)
    monkeypatch.setattr(Client, "list_stuck", list_stuck)
    asyncio.run(play())


def drawn(screen: Screen) -> str:
    console = Console(file=io.StringIO(), width=100, height=24)
    with console.capture() as captured:
        console.print(screen)
    return captured.get()


def drawn_of(width: int, statuses: Mapping[str, Mapping[str, object]], scopes: tuple[str, ...] = ()) -> list[str]:
    """The lines of a screen of that width with experiments of these statuses, by name."""
    console = Console(file=io.StringIO(), width=width, height=24)
    screen = Screen(console, scopes, over=False)
    for name, status in statuses.items():
        screen.seen[name] = seen(name, **status)
    with console.capture() as captured:
        console.print(screen)
    return captured.get().splitlines()


def test_of_a_thousand_experiments_as_many_are_drawn_as_the_screen_has_lines() -> None:
    statuses = {f"run-{number}": {"phase": "Running", "message": "x" * 500} for number in range(1000)}
    statuses["run-777"]["phase"] = "Restarting"
    drawn = drawn_of(100, statuses, places(True))
    assert len(drawn) == 23
    assert drawn[0] == "1000 experiments, 1 with a problem"
    assert "run-777" in drawn[2]
    assert drawn[-1] == "and 980 more"
    assert not COLOUR.search("".join(drawn))


SAID = {"devices": [{"resource": "nvidia.com/gpu", "count": 32}], "roll": ROLL, "restarts": 2}


@pytest.mark.parametrize(
    ("width", "message", "status", "left_out"),
    [
        (200, "3/4 ranks arrived; missing rank 2", {}, set()),
        (100, "short", {}, set()),
        (100, "1 pod of an older epoch ends", {}, {"DEADLINE"}),
        (100, "1 pod of an older epoch ends", SAID, {"DEADLINE"}),
        (100, "x" * 500, SAID, {"DEADLINE", "ROLL", "RESTARTS"}),
        (80, "3/4 ranks arrived; missing rank 2", SAID, {"DEADLINE", "ROLL", "RESTARTS", "ACCELERATORS"}),
    ],
)
def test_a_narrow_screen_leaves_columns_out_before_it_cuts_the_message(
    width: int, message: str, status: dict[str, object], left_out: set[str]
) -> None:
    begun = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    usual = {"phase": "Restarting", "phaseTime": begun, "message": message}
    _, headings, row = drawn_of(width, {"mine": usual | status})
    assert {each for each in HEADINGS if each not in headings} == left_out
    assert message[: LEGIBLE - 1] in row
