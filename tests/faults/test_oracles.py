"""The oracles detect every kind of mistake in an otherwise correct run."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import pytest

from muster.api.names import LABEL_EPOCH, LABEL_RANK
from tests.faults.direct import Direct
from tests.faults.oracles import judge
from tests.faults.plans import Plan, parse
from tests.faults.play import Run
from tests.faults.proxy import ForwardedRequest, Proxy
from tests.faults.recorder import History

NOWHERE = cast("Direct", None)
"""No request is forwarded."""
REASONS = ("Started", "GangRestart", "AllMembersSucceeded")


def status(**changes: Any) -> dict[str, Any]:
    return {"phase": "Running", "epoch": 0, "restarts": 0, "disruptions": 0, "story": []} | changes


def pod(epoch: int, rank: int, phase: str) -> dict[str, Any]:
    labels = {LABEL_EPOCH: str(epoch), LABEL_RANK: str(rank)}
    name = f"run-{epoch}-{rank}"
    return {"metadata": {"name": name, "uid": name, "labels": labels}, "status": {"phase": phase}}


async def never() -> None:
    raise AssertionError("this plan has no crash")


def good(folder: Path, line: str = "survivors-hang:n=2") -> Run:
    """A correct run: one restart, then success."""
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
    cause = {"rank": 1, "reason": "Error", "exitCode": 1, "epoch": 0}
    story = [{"epoch": int(reason != "Started"), "reason": reason} for reason in REASONS]
    history.experiment("MODIFIED", {"status": status()})
    history.experiment("MODIFIED", {"status": status(phase="Restarting", epoch=1, restarts=1, cause=cause)})
    end = status(phase="Succeeded", reason="AllMembersSucceeded", epoch=1, restarts=1, cause=cause, story=story)
    history.experiment("MODIFIED", {"status": end})
    history.events += [{"reason": reason} for reason in REASONS]
    run = Run(plan, Proxy(NOWHERE, plan, never), history, began=0.0, log=folder / "musterd.log")
    run.log.write_text(json.dumps({"level": "info", "event": "musterd runs"}) + "\n")
    run.proxy.forwarded.append(ForwardedRequest("PUT-experiments-1", "/run/status", at=5.0, status=200))
    run.ended = run.settled = 6.0
    return run


def test_a_correct_run_has_no_violations(tmp_path: Path) -> None:
    assert judge(good(tmp_path), good(tmp_path)) == ()


def two_pods(run: Run) -> None:
    again = pod(1, 0, "Pending")
    again["metadata"]["uid"] = "another"
    run.history.pod("ADDED", again)


def two_epochs(run: Run) -> None:
    run.history.pod("MODIFIED", pod(0, 1, "Running"))
    run.history.pod("MODIFIED", pod(1, 1, "Running"))


def unseen_create(run: Run) -> None:
    run.proxy.forwarded += [ForwardedRequest(f"POST-pods-{n}", "/pods", 1.0, 201, creates=(0, 0)) for n in (1, 2)]


def left_over(run: Run) -> None:
    run.history.pods.pop("run-0-1")


def last(**changes: Any) -> Callable[[Run], None]:
    def change(run: Run) -> None:
        run.history.statuses[-1] = run.history.status | changes

    return change


def counted_twice(run: Run) -> None:
    run.history.statuses.insert(1, status(restarts=1))


def nothing_new(run: Run) -> None:
    run.history.statuses.insert(1, status(updateTime="later"))


def event_twice(run: Run) -> None:
    run.history.events.append({"reason": "GangRestart"})


def event_missing(run: Run) -> None:
    run.history.events.pop(0)


def writes_after_the_end(run: Run) -> None:
    run.proxy.forwarded.append(ForwardedRequest("PUT-experiments-2", "/run/status", at=7.0, status=200))


def retries_too_early(run: Run) -> None:
    run.proxy.forwarded.insert(0, ForwardedRequest("PUT-experiments-0", "/run/status", at=4.8, refused="429"))


def logs_an_error(run: Run) -> None:
    run.log.write_text(json.dumps({"level": "error", "event": "step failed", "exception": "KeyError"}) + "\n")


def dies(run: Run) -> None:
    run.unexpected.append("musterd has ended by itself with status 1")


def never_ends(run: Run) -> None:
    run.ended = None


@pytest.mark.parametrize(
    ("mistake", "found"),
    [
        (two_pods, "2 pods are created for rank 0 of epoch 1"),
        (two_epochs, "two epochs run at once"),
        (unseen_create, "2 creates of rank 0 of epoch 0 succeed"),
        (left_over, "pods left"),
        (last(restarts=2), "it ends as"),
        (last(phase="Failed"), "it ends as"),
        (last(cause={"rank": 0, "reason": "Error", "exitCode": 1}), "it ends as"),
        (last(cause={"rank": 1, "reason": "Error", "exitCode": 2}), "the cause is"),
        (last(story=[{"reason": "Started"}] * 2), "the story has 2 lines Started"),
        (counted_twice, "a restart is counted without a new epoch"),
        (nothing_new, "changes nothing"),
        (event_twice, "there are 2 Events GangRestart"),
        (event_missing, "there are 0 Events Started"),
        (writes_after_the_end, "writes within 3 s"),
        (retries_too_early, "after a 429 that asked for 1 s"),
        (logs_an_error, "step failed"),
        (dies, "ended by itself"),
        (never_ends, "it does not end"),
    ],
)
def test_every_mistake_is_a_violation(tmp_path: Path, mistake: Callable[[Run], None], found: str) -> None:
    clean, run = good(tmp_path), good(tmp_path)
    mistake(run)
    assert any(found in each for each in judge(run, clean)), judge(run, clean)


def test_a_crash_may_lose_an_event_but_never_double_it(tmp_path: Path) -> None:
    run = good(tmp_path, "survivors-hang:n=2:crash-after=PUT-experiments.Pending0-1")
    event_missing(run)
    assert judge(run, None) == ()
    event_twice(run)
    assert judge(run, None) == ("there are 2 Events GangRestart",)


def test_a_stalled_watch_must_be_reopened(tmp_path: Path) -> None:
    run = good(tmp_path, "survivors-hang:n=2:stall=pods-4")
    run.ended = run.settled = 30.0
    run.proxy.injected[run.plan.faults[0]] = 2.0
    assert judge(run, None) == ("the watch of pods is not reopened",)
    run.proxy.forwarded.append(ForwardedRequest("WATCH-pods-2", "/pods", at=29.0))
    assert judge(run, None) == ("the watch of pods is reopened after 27.0 s",)


def test_a_plan_whose_fault_was_not_injected_is_void(tmp_path: Path) -> None:
    assert good(tmp_path, "survivors-hang:n=2:stall=pods-40").void
    assert not good(tmp_path, str(Plan("survivors-hang"))).void
