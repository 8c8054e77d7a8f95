"""The oracles find each thing that may go wrong in a run that is otherwise right."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from muster.api.names import LABEL_EPOCH, LABEL_RANK
from tests.faults.direct import Direct
from tests.faults.oracles import judge
from tests.faults.plans import Plan, parse
from tests.faults.play import Run
from tests.faults.proxy import Passage, Proxy
from tests.faults.recorder import History

REASONS = ("Started", "GangRestart", "AllMembersSucceeded")


def status(**changes: Any) -> dict[str, Any]:
    return {"phase": "Running", "epoch": 0, "restarts": 0, "disruptions": 0, "story": []} | changes


def pod(epoch: int, rank: int, phase: str) -> dict[str, Any]:
    labels = {LABEL_EPOCH: str(epoch), LABEL_RANK: str(rank)}
    name = f"run-{epoch}-{rank}"
    return {"metadata": {"name": name, "uid": name, "labels": labels}, "status": {"phase": phase}}


async def never() -> None:
    raise AssertionError("nothing is killed here")


def good(folder: Path, line: str = "member-fails:n=2") -> Run:
    """A run as it should be: one restart, then success."""
    plan = parse(line)
    history = History()
    for epoch in (0, 1):
        for rank in (0, 1):
            history.pod("ADDED", pod(epoch, rank, "Pending"))
            history.pod("MODIFIED", pod(epoch, rank, "Running"))
        if epoch == 0:
            history.pod("MODIFIED", pod(0, 1, "Failed"))
            history.pod("DELETED", pod(0, 0, "Running"))
    for rank in (0, 1):
        history.pod("MODIFIED", pod(1, rank, "Succeeded"))
    cause = {"rank": 1, "exitCode": 1, "epoch": 0}
    story = [{"epoch": int(reason != "Started"), "reason": reason} for reason in REASONS]
    history.experiment("MODIFIED", {"status": status()})
    history.experiment("MODIFIED", {"status": status(phase="Restarting", epoch=1, restarts=1, cause=cause)})
    end = status(phase="Succeeded", epoch=1, restarts=1, cause=cause, story=story)
    history.experiment("MODIFIED", {"status": end})
    history.events += [{"reason": reason} for reason in REASONS]
    run = Run(plan, Proxy(Direct("", ""), plan, never), history, began=0.0, log=folder / "musterd.log")
    run.log.write_text(json.dumps({"level": "info", "event": "musterd runs"}) + "\n")
    run.proxy.passages.append(Passage("PUT-experiments-1", "/run/status", at=5.0, status=200))
    run.ended = run.settled = 6.0
    return run


def test_a_good_run_is_good(tmp_path: Path) -> None:
    assert judge(good(tmp_path), good(tmp_path)) == ()


def two_pods(run: Run) -> None:
    again = pod(1, 0, "Pending")
    again["metadata"]["uid"] = "another"
    run.history.pod("ADDED", again)


def two_epochs(run: Run) -> None:
    run.history.pod("MODIFIED", pod(0, 1, "Running"))
    run.history.pod("MODIFIED", pod(1, 1, "Running"))


def unseen_create(run: Run) -> None:
    run.proxy.passages += [Passage(f"POST-pods-{n}", "/pods", 1.0, 201, creates=(0, 0)) for n in (1, 2)]


def left_over(run: Run) -> None:
    run.history.pods.pop("run-0-1")


def last(**changes: Any) -> Callable[[Run], None]:
    def change(run: Run) -> None:
        run.history.statuses[-1] = run.history.status | changes

    return change


def counted_twice(run: Run) -> None:
    run.history.statuses.insert(1, status(restarts=1))


def says_nothing(run: Run) -> None:
    run.history.statuses.insert(1, status(updateTime="later"))


def told_twice(run: Run) -> None:
    run.history.events.append({"reason": "GangRestart"})


def untold(run: Run) -> None:
    run.history.events.pop(0)


def restless(run: Run) -> None:
    run.proxy.passages.append(Passage("PUT-experiments-2", "/run/status", at=7.0, status=200))


def impatient(run: Run) -> None:
    run.proxy.passages.insert(0, Passage("PUT-experiments-0", "/run/status", at=4.8, refused="429"))


def complains(run: Run) -> None:
    run.log.write_text(json.dumps({"level": "error", "event": "step failed", "exception": "KeyError"}) + "\n")


def dies(run: Run) -> None:
    run.unexpected.append("musterd has ended by itself with status 1")


def endless(run: Run) -> None:
    run.ended = None


@pytest.mark.parametrize(
    ("goes_wrong", "found"),
    [
        (two_pods, "2 pods are created for rank 0 of epoch 1"),
        (two_epochs, "two epochs run at once"),
        (unseen_create, "2 creates of rank 0 of epoch 0 succeed"),
        (left_over, "pods left"),
        (last(restarts=2), "it ends as"),
        (last(phase="Failed"), "it ends as"),
        (last(cause={"rank": 0, "exitCode": 1}), "the cause is"),
        (last(story=[{"reason": "Started"}] * 2), "the story tells 2 times of Started"),
        (counted_twice, "a restart is counted without a new epoch"),
        (says_nothing, "says nothing new"),
        (told_twice, "2 Events tell of GangRestart"),
        (untold, "0 Events tell of Started"),
        (restless, "writes within 3 s"),
        (impatient, "after a 429 that asked for 1 s"),
        (complains, "step failed"),
        (dies, "ended by itself"),
        (endless, "it does not end"),
    ],
)
def test_what_goes_wrong_is_found(tmp_path: Path, goes_wrong: Callable[[Run], None], found: str) -> None:
    clean, run = good(tmp_path), good(tmp_path)
    goes_wrong(run)
    assert any(found in each for each in judge(run, clean)), judge(run, clean)


def test_a_crash_may_swallow_an_event_but_never_double_it(tmp_path: Path) -> None:
    run = good(tmp_path, "member-fails:n=2:crash-after=PUT-experiments.Pending0-1")
    untold(run)
    assert judge(run, None) == ()
    told_twice(run)
    assert judge(run, None) == ("2 Events tell of GangRestart",)


def test_a_stalled_watch_must_be_opened_again(tmp_path: Path) -> None:
    run = good(tmp_path, "member-fails:n=2:stall=pods-4")
    run.ended = run.settled = 30.0
    run.proxy.struck[run.plan.faults[0]] = 2.0
    assert judge(run, None) == ("the watch of pods is not opened again",)
    run.proxy.passages.append(Passage("WATCH-pods-2", "/pods", at=29.0))
    assert judge(run, None) == ("the watch of pods is opened again after 27.0 s",)


def test_a_fault_without_a_place_makes_a_plan_void(tmp_path: Path) -> None:
    assert good(tmp_path, "member-fails:n=2:stall=pods-40").void
    assert not good(tmp_path, str(Plan("member-fails"))).void
