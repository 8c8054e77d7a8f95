"""What must be true of every played plan: the oracles of ``tests.simulation``, for real processes.

Each plan is compared with the end of its scenario and with its clean run. Where a fault may rightly change something,
a comment gives the reason.
"""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.faults.plans import CRASHES, RETRY_AFTER, STREAM_KINDS, Plan
from tests.faults.play import QUIET, SILENCE, Run
from tests.faults.proxy import ForwardedRequest
from tests.faults.recorder import place_of
from tests.scenarios.catalogue import scenarios
from tests.scenarios.scenario import charged_in

ONCE = ("Started", "GangRestart", "Restarted", "Assembling", "Running", "AllMembersSucceeded")
"""Reasons that the story may contain once per epoch."""
MEND = 5.0
"""Seconds within which a broken watch is reopened, after the silence limit that detects a stalled one."""


def judge(run: Run, clean: Run | None) -> tuple[str, ...]:
    """All violations."""
    return tuple(_judge(run, clean))


def _judge(run: Run, clean: Run | None) -> Iterator[str]:
    yield from run.unexpected
    if run.ended is None:
        status = run.history.status
        yield f"it does not end: {status.get('phase')} ({status.get('message')})"
    else:
        yield from _end(run)
    yield from _pods(run, clean)
    yield from _statuses(run)
    yield from _stories(run)
    yield from _pace(run)
    yield from _log(run)


def _end(run: Run) -> Iterator[str]:
    scenario, status = scenarios()[run.plan.scenario], run.history.status
    wanted, got = scenario.end.charged(run.plan.size), charged_in(status)
    if got != wanted:
        yield f"it ends as {got}; it should be {wanted}"
    cause = status.get("cause") or {}
    if (cause.get("exitCode"), cause.get("epoch", 0)) != (1, scenario.end.epoch - 1):
        yield f"the cause is {cause}"


def _pods(run: Run, clean: Run | None) -> Iterator[str]:
    history, size = run.history, run.plan.size
    yield from (f"two epochs run at once: {overlap}" for overlap in history.overlaps)
    for place, times in sorted(history.created.items()):
        if times > 1:
            yield f"{times} pods are created for rank {place[1]} of epoch {place[0]}"
    if run.ended is not None:
        wanted = {
            (epoch, rank) for epoch in range(scenarios()[run.plan.scenario].end.epoch + 1) for rank in range(size)
        }
        if history.created.keys() != wanted:
            yield f"pods are created for {sorted(history.created)}"
    passed = Counter(each.creates for each in run.proxy.forwarded if each.creates and each.status == 201)
    for place, times in passed.items():
        if times > history.created[place]:
            yield f"{times} creates of rank {place[1]} of epoch {place[0]} succeed, {history.created[place]} are seen"
    if clean is not None and run.ended is not None:
        for what, mine, its in (("left", _left(run), _left(clean)), ("deleted", _deleted(run), _deleted(clean))):
            if mine != its:
                yield f"pods {what}: {mine}; in the clean run {its}"


def _left(run: Run) -> list[tuple[int, int, str]]:
    return sorted((*place_of(pod), pod["status"]["phase"]) for pod in run.history.pods.values())


def _deleted(run: Run) -> list[tuple[int, int]]:
    return sorted(run.history.deleted.elements())


def _statuses(run: Run) -> Iterator[str]:
    """Each status follows from the one before, and each status write changes something."""
    previous: dict[str, Any] | None = None
    for status in run.history.statuses:
        if previous is not None:
            if status["epoch"] not in (previous["epoch"], previous["epoch"] + 1):
                yield f"epoch {status['epoch']} follows epoch {previous['epoch']}"
            if status["restarts"] - previous["restarts"] > status["epoch"] - previous["epoch"]:
                yield "a restart is counted without a new epoch"
            if previous["phase"] in ("Succeeded", "Failed") and status["phase"] != previous["phase"]:
                yield f"{previous['phase']} is final, but {status['phase']} follows"
            if {**status, "updateTime": ""} == {**previous, "updateTime": ""}:
                yield "a status write changes nothing"
        previous = status


def _stories(run: Run) -> Iterator[str]:
    """The persisted story has each line once, and each has its Event once, unless the write of an Event failed."""
    if run.ended is None:
        return
    story = Counter((line.get("epoch", 0), line["reason"]) for line in run.history.status.get("story", ()))
    events = Counter(event["reason"] for event in run.history.events)
    counts = {reason: sum(times for (_, each), times in story.items() if each == reason) for reason in ONCE}
    for reason in ("Started", "GangRestart", "AllMembersSucceeded"):
        if counts[reason] != 1:
            yield f"the story has {counts[reason]} lines {reason}"
        # A daemon that is killed before it wrote its Events does not write them later (the status has them), and one
        # failed Event may prevent the rest of its story: muster.reconcilers.status.
        excused = run.plan.has(*CRASHES) or any(fault.resource == "events" for fault in _of_requests(run.plan))
        if events[reason] > 1 or (events[reason] < 1 and not excused):
            yield f"there are {events[reason]} Events {reason}"
    twice = [turn for turn, times in story.items() if times > 1 and turn[1] in ONCE]
    if twice:
        yield f"the story has these lines twice: {twice}"


def _of_requests(plan: Plan) -> Iterator[Any]:
    return (fault for fault in plan.faults if fault.kind not in STREAM_KINDS)


def _pace(run: Run) -> Iterator[str]:
    """Nothing is written after the end, Retry-After is obeyed, and broken watches are reopened in time."""
    forwarded, proxy = run.proxy.forwarded, run.proxy
    if run.ended is not None:
        late = [each.name for each in forwarded if each.writes and each.at > run.settled]
        if late:
            yield f"writes within {QUIET:g} s after the end: {late}"
    for number, sent in enumerate(forwarded):
        if sent.refused == "429" and _is_retry(sent):
            for later in forwarded[number + 1 :]:
                same = later.verb == sent.verb and later.path == sent.path
                if same and later.at < sent.at + RETRY_AFTER - 0.05:
                    yield f"{later.name} comes {later.at - sent.at:.2f} s after a 429 that asked for {RETRY_AFTER} s"
                    break
    for fault, at in proxy.injected.items():
        if fault.kind not in ("expire", "cut", "sever", "stall"):
            continue
        stream = fault.at.split("-")[0]
        limit = MEND + (SILENCE if fault.kind == "stall" else 0.0)
        opened = [each.at for each in forwarded if each.name.startswith(f"WATCH-{stream}-") and each.at > at]
        if not opened and run.settled + QUIET > at + limit:
            yield f"the watch of {stream} is not reopened"
        elif opened and opened[0] > at + limit:
            yield f"the watch of {stream} is reopened after {opened[0] - at:.1f} s"


def _is_retry(sent: ForwardedRequest) -> bool:
    """Whether the next request to that path is a retry: pods and Events are created concurrently."""
    return sent.path.rsplit("/", 1)[-1] not in ("pods", "events") or sent.verb != "POST"


def _log(run: Run) -> Iterator[str]:
    """musterd logs no errors, and nothing but its log lines."""
    for line in run.log.read_text(errors="replace").splitlines():
        if not line.startswith("{"):
            yield f"musterd prints: {line}"
            return
        said = json.loads(line)
        if said["level"] in ("error", "critical"):
            yield f"musterd logs: {said['event']}: {str(said.get('exception', ''))[-300:]}"
            return
