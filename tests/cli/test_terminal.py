"""Ages, tables, trees and displays, character by character."""

from typing import Any

import click
import msgspec
import pytest

from muster.api.values.durations import age
from muster.api.values.printable import printable
from muster.cli.commands.several import listing
from muster.cli.terminal.display import MARKS, Block, Ending, Lines, choose_display, marks, rolled
from muster.cli.terminal.progress import summary
from muster.cli.terminal.table import Table
from muster.client import Explanation
from muster.client.explaining.lines import lines as explained_lines
from muster.client.explaining.style import NO_TIME, left, of_day, since
from muster.client.explaining.tree import SHOWN, tree
from muster.client.member import member_of
from muster.client.snapshot import EventSummary, snapshot_of
from muster.rollcall.document import Detail
from muster.rollcall.make import detail
from muster.state.facts.context import Context
from tests.builders import NOW, plan, record, view
from tests.client.localserver import ended, labels, running

AGES = {0: "0s", 119.9: "119s", 125: "2m5s", 600: "10m", 7200: "120m", 11_700: "3h15m", 86_400: "24h"}


@pytest.mark.parametrize(("seconds", "words"), (AGES | {200_000: "2d7h", -30: "-30s"}).items())
def test_an_age_is_short(seconds: float, words: str) -> None:
    assert age(seconds) == words


def test_ages_and_times_left() -> None:
    assert (since(None, 5), since(9, 5), left(3, 5), left(None, 5)) == ("", "0s", "0s", "")


def test_a_time_that_no_calendar_has_is_dashes() -> None:
    end_of_9999 = 253_402_300_799.0
    assert of_day(end_of_9999 + 43_200) == of_day(None) == NO_TIME
    assert of_day(0.0) != NO_TIME


def test_a_table_keeps_its_columns_over_colours_and_later_rows() -> None:
    table = Table(("NAME", "PHASE", "MESSAGE"))
    assert table.lines([("a", "\x1b[32mRunning\x1b[0m", "yes"), ("long-name", "x", "")], headings=True) == [
        "NAME        PHASE     MESSAGE",
        "a           \x1b[32mRunning\x1b[0m   yes",
        "long-name   x",
    ]
    assert table.lines([("b", "y", "z")], headings=False) == ["b           y         z"]


def test_printable_text_is_one_line() -> None:
    assert printable("a\nb\t\x1b[2J\u202ec\ud800") == "a b \ufffd[2J\ufffdc\ufffd"


def experiment(**status: Any) -> Any:
    meta = {"namespace": "team", "name": "mine", "creationTimestamp": "1970-01-01T00:00:00Z"}
    return snapshot_of({"metadata": meta, "spec": {"operator": "jax"}, "status": status})


def test_a_large_gang_is_cut_off() -> None:
    members = [
        member_of({"metadata": {"name": f"p{r}", "labels": labels("mine", r)}, "status": running()}) for r in range(70)
    ]
    lines = tree(Explanation(experiment(phase="Running"), tuple(members), ()), 10)
    assert lines[1] == "└── worker  70 of 70 pods ready"
    assert len(lines) == 2 + SHOWN + 1
    assert lines[-1] == "    └── and 6 more, 0 of them not running"


def test_a_run_that_was_cancelled_before_its_restart_began_is_shown_in_the_epoch_that_it_had() -> None:
    cause = {"epoch": 0, "reason": "NonZeroExitCode", "time": "1970-01-01T00:00:05Z"}
    announced = {"epoch": 1, "restarts": 1, "cause": cause, "steps": {"epoch": 0, "step": 7, "reporting": 4}}
    seen = experiment(phase="Failed", reason="Cancelled", **announced)
    head, steps = tree(Explanation(seen, (), ()), 10)[:2]
    assert (click.unstyle(head), steps) == ("team/mine  Failed  jax, epoch 0, 10s old", "│ last step that was read: 7")
    headings = listing.headings_of((), "wide")
    cells = dict(zip(headings, listing.row(seen, 10, headings), strict=True))
    assert (cells["RESTARTS"], cells["EPOCH"]) == ("0", "0")
    going_on = tree(Explanation(experiment(phase="Restarting", **announced), (), ()), 10)[0]
    assert click.unstyle(going_on) == "team/mine  Restarting  jax, epoch 1, 1 restart, 10s old"


def steps_shown(now: float, phase: str = "Running", **steps: Any) -> str:
    seen = experiment(phase=phase, epoch=1, steps={"time": "1970-01-01T00:00:10Z", "reporting": 4, **steps})
    return tree(Explanation(seen, (), ()), now)[1]


def test_how_far_the_programs_have_come_is_shown_with_its_age() -> None:
    assert steps_shown(52, epoch=1, step=1840, perSecond="9.81") == "│ step 1,840, 9.81 steps/s (read 42s ago)"
    assert steps_shown(52, epoch=0, step=7) == "│ step 7, in epoch 0 (read 42s ago)"
    assert steps_shown(9, epoch=1, step=0) == "│ step 0 (read 0s ago)", "the daemon's clock is ahead"


FROM_HERE = "from here: muster port-forward mine 8265 -n team"


@pytest.mark.parametrize(
    ("host", "process", "ip", "shown"),
    [
        ("mine-head.mine", 17, "10.245.0.7", "http://10.245.0.7:8265"),
        ("mine-head.mine", None, "10.245.0.7", f"http://mine-head.mine:8265 inside the cluster; {FROM_HERE}"),
        ("", None, "10.0.0.7", f"http://10.0.0.7:8265 inside the cluster; {FROM_HERE}"),
        ("", None, "fd00::7", f"http://[fd00::7]:8265 inside the cluster; {FROM_HERE}"),
        ("", None, "", FROM_HERE),
    ],
    ids=["of a local cluster", "elsewhere", "of a watched run", "of IPv6", "without an address"],
)
def test_the_dashboard_is_named_by_what_opens_from_here(host: str, process: int | None, ip: str, shown: str) -> None:
    """The controller of a watched run names its host; only the port is known."""
    status = {**running(process), "podIP": ip}
    head = member_of({"metadata": {"name": "head", "labels": labels("mine", 0)}, "status": status})
    seen = experiment(phase="Running", dashboard=f"{host}:8265")
    assert f"│ dashboard: {shown}" in tree(Explanation(seen, (head,), ()), 10)


@pytest.mark.parametrize(
    ("phase", "read", "shown"),
    [("Running", True, []), ("Running", False, [f"│ dashboard: {FROM_HERE}"]), ("Succeeded", False, [])],
)
def test_a_dashboard_that_nothing_serves_is_not_shown(phase: str, read: bool, shown: list[str]) -> None:
    without = Explanation(experiment(phase=phase, dashboard=":8265"), (), (), members_read=read)
    assert [line for line in tree(without, 10) if "dashboard" in line] == shown


def test_after_the_end_the_last_step_that_was_read_is_reported_as_such() -> None:
    shown = steps_shown(52, "Succeeded", epoch=1, step=95, perSecond="9.81")
    assert shown == "│ last step that was read: 95, 9.81 steps/s"


def test_a_member_that_is_stopped_after_the_end_has_not_failed() -> None:
    """A Ray head exits 1 when it is stopped because the program has succeeded."""
    pods = [{"metadata": {"name": f"p{r}", "labels": labels("mine", r)}, "status": ended(1)} for r in range(2)]
    for pod, second in zip(pods, (9, 11), strict=True):
        status: Any = pod["status"]
        status["containerStatuses"][0]["state"]["terminated"]["finishedAt"] = f"1970-01-01T00:00:{second:02}Z"
    seen = experiment(phase="Succeeded", finishTime="1970-01-01T00:00:10.5Z")
    lines = tree(Explanation(seen, tuple(map(member_of, pods)), ()), 20)
    assert [click.unstyle(line).split("  ")[-2:] for line in lines[-2:]] == [
        ["Error", "exit code 1"],
        ["Stopped", "after the experiment's end, exit code 1"],
    ]


@pytest.mark.parametrize(
    ("phase", "events", "shown"),
    [
        ("Pending", (), "nothing was recorded yet"),
        ("Running", (), "no Event of it can be read"),
        ("Running", (EventSummary(None, "Normal", "Running", "3/3 members are ready", 1),), "3/3 members are ready"),
        ("Running", (EventSummary(None, "Warning", "Stuck", "no image", 4),), "no image  (4 times)"),
    ],
)
def test_without_a_story_the_events_say_what_happened(phase: str, events: tuple[EventSummary, ...], shown: str) -> None:
    """The status of a JobSet or JAXJob has no story."""
    lines = list(explained_lines(Explanation(experiment(phase=phase), (), events), 10))
    assert lines[lines.index("What happened:") + 1].endswith(shown)


def test_an_experiment_without_a_status() -> None:
    head, why, members = tree(Explanation(experiment(), (), ()), 10)
    assert "not seen by musterd yet" in head
    assert "is the daemon running" in why
    assert members == "└── no member has a pod"


DOCUMENT: dict[str, Any] = {
    "size": 4,
    "arrived": 3,
    "ranks": {"connected": "0-1", "arrived": "3", "missing": "2"},
    "missingRanks": [{"rank": 2, "why": "rank 2 (mine-2, running, but it never called the coordinator)"}],
    "clocks": {"total": 90.2},
}


def roll_document(**fields: Any) -> Detail:
    """The document of a run of four, with other values in some fields."""
    known = msgspec.to_builtins(detail(Context.at(plan(), record(), view(), NOW)))
    return msgspec.convert({**known, **fields}, Detail)


def test_a_roll_call_has_a_sentence_and_a_mark_for_each_rank() -> None:
    roll = roll_document(**DOCUMENT)
    assert rolled(roll) == "3/4 arrived; missing 2"
    assert "".join(mark for mark, _, _ in marks(roll)) == "●●○●"
    large = roll_document(**{**DOCUMENT, "size": 4096, "missingRanks": [{"rank": rank} for rank in (2, *range(5, 68))]})
    assert marks(large) == []
    assert rolled(large).endswith("missing 2, 5-11 and 4085 more")
    assert rolled(roll_document(**{**DOCUMENT, "arrived": None})) == ""


def test_each_change_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with Lines() as lines:
        for message in ("0/2 ranks arrived", "0/2 ranks arrived", "1/2 ranks arrived"):
            lines.show(experiment(phase="Assembling", message=message, restarts=1))
        lines.log(0, "loss 0.5")
    printed = capsys.readouterr()
    assert [line.partition(" ")[2] for line in printed.err.splitlines()] == [
        "Assembling 1 restart: 0/2 ranks arrived",
        "Assembling 1 restart: 1/2 ranks arrived",
    ]
    assert printed.out == "rank 0 | loss 0.5\n"


def test_the_block_shows_phase_message_roll_and_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.cli.terminal.display.time.time", lambda: 30.0)
    block = Block()
    assert list(block.__rich__().renderables) == []
    block.show(experiment(phase="Assembling", message="3/4 ranks arrived; missing rank 2", restarts=2, epoch=2))
    block.show_roll(roll_document(**DOCUMENT))
    head, message, ranks, why = (str(line) for line in block.__rich__().renderables)
    assert head[2:] == "mine  Assembling  epoch 2, 2 restarts, 30s old, 90s left on the total clock"
    assert message == "  3/4 ranks arrived; missing rank 2"
    assert ranks.replace("#", "●").replace(".", "○").startswith("  ranks  ● ● ○ ●  3/4 arrived; missing 2")
    assert why.strip() == "rank 2 (mine-2, running, but it never called the coordinator)"


def test_the_block_counts_down_the_grace_period_in_place_of_the_clocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.cli.terminal.display.time.time", lambda: 30.0)
    monkeypatch.setattr("muster.cli.terminal.display.time.monotonic", lambda: 1.2)
    block = Block()
    block.show(experiment(phase="Failed", message="cancelled by spec.cancel"))
    block.show_roll(roll_document(**DOCUMENT))
    block.show_ending(Ending(2, 5.0, again=True))
    head, message, *_ = (str(line) for line in block.__rich__().renderables)
    assert head[2:] == "mine  Failed  epoch 0, 30s old"
    assert message == "  waiting for 2 ranks to end, 4 s left; Ctrl-C again stops them now"


def test_every_view_shows_stuck_with_its_reason() -> None:
    stuck = {"type": "Stuck", "status": "True", "reason": "RanksMissing", "message": "3/4 ranks arrived"}
    seen = experiment(phase="Assembling", message="3/4 ranks arrived", conditions=[stuck])
    assert click.unstyle(summary(seen)) == "Assembling stuck (RanksMissing): 3/4 ranks arrived"
    assert "stuck (RanksMissing)" in click.unstyle(tree(Explanation(seen, (), ()), 10)[0])
    block = Block()
    block.show(seen)
    assert "Assembling  stuck (RanksMissing)  epoch 0" in str(block.__rich__().renderables[0])


def test_a_program_in_its_grace_period_is_stopping_after_the_end() -> None:
    status = running() | {"phase": "Failed", "reason": "DeadlineExceeded", "message": "Pod was active"}
    member = member_of({"metadata": {"name": "p0", "labels": labels("mine", 0)}, "status": status})
    over = experiment(phase="Failed", reason="Cancelled", finishTime="1970-01-01T00:00:05Z")
    assert "Stopping" in click.unstyle(tree(Explanation(over, (member,), ()), 10)[-1])
    alive = experiment(phase="Running")
    assert "DeadlineExceeded" in click.unstyle(tree(Explanation(alive, (member,), ()), 10)[-1])


@pytest.mark.parametrize(("arrived", "mark"), [(2, "arrived"), (1, "missing")])
def test_a_rank_that_no_coordinator_names_has_the_mark_of_the_count(arrived: int, mark: str) -> None:
    assert marks(roll_document(size=2, arrived=arrived)) == [MARKS[mark]] * 2


@pytest.mark.parametrize(("rank", "lines"), [(0, ["└── rank 0: its pod mine-head-0 no longer exists"]), (1, [])])
def test_the_member_that_ended_the_run_is_in_the_tree_without_its_pod(rank: int, lines: list[str]) -> None:
    """A member whose program never began is deleted at the end."""
    cause = {"epoch": 0, "reason": "ContainerCannotStart", "time": "1970-01-01T00:00:05Z"}
    seen = experiment(phase="Failed", cause={**cause, "pod": f"mine-head-{rank}", "rank": rank})
    left = member_of({"metadata": {"name": "p1", "labels": labels("mine", 1)}, "status": ended(1)})
    shown = tree(Explanation(seen, (left,), ()), 10)
    assert shown[1][:3] == ("├──" if lines else "└──")
    assert shown[3:] == lines


def test_a_tree_says_when_the_experiment_is_deleted() -> None:
    seen = experiment(phase="Succeeded", deleteTime="1970-01-01T00:05:10Z")
    assert "deleted in 5m by the ttl of its spec" in tree(Explanation(seen, (), ()), 10)[0]
    assert "deleted" not in tree(Explanation(experiment(phase="Succeeded"), (), ()), 10)[0]
    by_default = experiment(phase="Succeeded", deleteTime="1970-01-01T00:05:10Z", retentionSeconds=300)
    assert "deleted in 5m by the retention of the installation (5m)" in tree(Explanation(by_default, (), ()), 10)[0]


def test_without_a_terminal_lines_are_printed() -> None:
    assert isinstance(choose_display(), Lines)


def test_a_member_that_has_succeeded_counts_as_ready() -> None:
    spec: Any = {"types": {"worker": {}}}
    status = {"phase": "Running", "ready": "1/1"}
    seen = snapshot_of({"metadata": {"namespace": "n", "name": "x"}, "spec": spec, "status": status})
    pod = {"metadata": {"name": "x-0", "labels": labels("x", 0)}, "status": {"phase": "Succeeded"}}
    assert "└── worker  1/1 ready" in tree(Explanation(seen, (member_of(pod),), ()), 10)
