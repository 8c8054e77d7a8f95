"""The reflector against an API server that expires versions, stalls, closes, floods and sends nonsense.

Each test is a script of answers; when the reflector asks for more than the script has, it has applied everything
before. Sleeping moves the clock, and nothing waits for real time.
"""

import asyncio
import gc
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import pytest

from muster.api.errors import ApiError, Forbidden
from muster.api.names import SELECTOR
from muster.kube.connection import Connection
from muster.kube.listwatch.decoder import ObjectList
from muster.kube.listwatch.reflector import Reflector, ReflectorSettings
from muster.kube.listwatch.store import Store
from muster.state.vocabulary.pod import Pod
from muster.watchers.pods import decode as pods
from tests.fakes.apiserver import (
    ApiServer,
    Reply,
    Request,
    Step,
    answer,
    api_server,
    bookmark,
    error_event,
    event,
    listing,
    refusal,
    slam,
    stream,
)
from tests.fakes.objects import pod

REJECTED = refusal(
    422, "Invalid", "sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled"
)


@dataclass
class Run:
    """One reflector and all its effects."""

    server: ApiServer
    reflector: Reflector[Pod] = field(init=False)
    store: Store[Pod] = field(init=False)
    changes: list[tuple[str, int, int]] = field(default_factory=list)
    """The uid, the old and the new resourceVersion (0: none)."""
    versions: list[int] = field(default_factory=list)
    reports: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    now: float = 100.0

    @property
    def uids(self) -> set[str]:
        return set(self.store.objects)


@asynccontextmanager
async def scripted(
    directory: Path,
    *script: Step,
    paged: bool = False,
    ticks: float = 2.0,
    failed: Callable[[ApiError, float], None] = lambda error, seconds: None,
    **settings: Any,
) -> AsyncIterator[Run]:
    """Run the script to its end; each request takes ``ticks`` seconds of the clock."""
    over = asyncio.Event()

    async def finish(_request: Request, _reply: Reply) -> None:
        over.set()
        await asyncio.Event().wait()

    def timed(step: Step) -> Step:
        async def play(request: Request, reply: Reply) -> None:
            run.now += ticks
            await step(request, reply)

        return play

    async with api_server(*map(timed, script), otherwise=finish) as server:
        run = Run(server)
        connection = await Connection.from_settings(server.kubeconfig(directory))

        async def sleep(seconds: float) -> None:
            run.slept.append(seconds)
            run.now += seconds
            await asyncio.sleep(0)

        def changed(old: Pod | None, new: Pod | None) -> None:
            one = new or old
            assert one is not None
            run.changes.append((one.uid, old.resource_version if old else 0, new.resource_version if new else 0))

        def report(message: str, **fields: Any) -> None:
            run.reports.append((message, fields))

        run.store = Store(changed, run.versions.append)
        run.reflector = Reflector(
            connection,
            pods.PATH,
            {"labelSelector": SELECTOR},
            pods.DECODER,
            run.store,
            clock=lambda: run.now,
            random=Random(7),
            sleep=sleep,
            report=report,
            failed=failed,
            settings=ReflectorSettings(**{"silence": 5.0, "streamed_list": not paged} | settings),
        )
        task = asyncio.create_task(run.reflector.run(), name="reflector")
        finished = asyncio.create_task(over.wait(), name="end of the script")
        await asyncio.wait({task, finished}, return_when=asyncio.FIRST_COMPLETED)
        try:
            if task.done():
                task.result()
            yield run
        finally:
            for each in (task, finished):
                each.cancel()
            await asyncio.gather(task, finished, return_exceptions=True)
            await connection.aclose()


async def test_a_streamed_list_becomes_the_watch(tmp_path: Path) -> None:
    opening = stream(
        event("ADDED", pod("a", 3)),
        event("ADDED", pod("b", 5)),
        event("MODIFIED", pod("b", 6)),
        event("ADDED", pod("c", 7)),
        event("DELETED", pod("c", 8)),
        bookmark(6),  # not the end
        bookmark(10, complete=True),
        event("MODIFIED", pod("a", 11)),
        bookmark(20),
        event("DELETED", pod("b", 21)),
    )
    async with scripted(tmp_path, opening) as run:
        assert run.uids == {"a"}
        assert run.changes == [("a", 0, 3), ("b", 0, 6), ("a", 3, 11), ("b", 6, 21), ("b", 21, 0)]
        assert run.versions == [10, 11, 20, 21]
        assert run.reflector.feed.synced
        assert run.reflector.feed.version == 21
        assert run.reflector.feed.relists == 0
        assert run.reflector.events == {"ADDED": 3, "MODIFIED": 2, "DELETED": 2, "BOOKMARK": 3}
        first, second = run.server.requests
        assert first.path == "/api/v1/pods"
        length = int(first.params.pop("timeoutSeconds"))
        assert 300 <= length <= 600
        assert first.params == {
            "labelSelector": "muster.dev/experiment-uid",
            "watch": "true",
            "allowWatchBookmarks": "true",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
        }
        assert second.params["resourceVersion"] == "21"
        assert "sendInitialEvents" not in second.params
        assert run.slept == []
        assert run.reflector.reconnects == {"ended": 1}


@pytest.mark.parametrize(
    "half", [stream(event("ADDED", pod("a", 3)), then="reset"), stream(event("ADDED", pod("a", 3)))]
)
async def test_a_streamed_list_without_its_last_bookmark_is_not_delivered(tmp_path: Path, half: Step) -> None:
    async with scripted(tmp_path, half, answer(200, listing([pod("b", 5)], 6))) as run:
        assert run.changes == [("b", 0, 5)]
        assert run.slept != []
        listed, watched = run.server.requests[1:]
        assert listed.params == {"labelSelector": SELECTOR, "limit": "500"}, "and no resourceVersion=0"
        assert watched.params["resourceVersion"] == "6"


async def test_a_server_that_does_not_stream_lists_is_read_in_pages_from_then_on(tmp_path: Path) -> None:
    pages = (
        answer(200, listing([pod("a", 1), pod("b", 2)], 9, "next-1")),
        answer(200, listing([pod("c", 3)], 9, "next-2")),
        answer(200, listing([], 9)),
    )
    gone = stream(error_event(410, "Expired"))
    async with scripted(tmp_path, REJECTED, *pages, gone, answer(200, listing([], 12)), page_size=2) as run:
        tokens = [request.params.get("continue") for request in run.server.requests]
        assert tokens == [None, None, "next-1", "next-2", None, None, None]
        assert [request.watches for request in run.server.requests] == [True, False, False, False, True, False, True]
        assert all(request.params.get("limit") == "2" for request in run.server.requests if not request.watches)
        assert run.changes == [("a", 0, 1), ("b", 0, 2), ("c", 0, 3), ("a", 1, 0), ("b", 2, 0), ("c", 3, 0)]
        assert run.slept[0] < 1.0  # only the 410 cost a wait
        assert len(run.slept) == 1


async def test_a_new_list_reports_what_changed_meanwhile(tmp_path: Path) -> None:
    script = (
        answer(200, listing([pod("a", 1), pod("b", 2), pod("c", 3)], 5)),
        refusal(410, "Expired"),
        answer(200, listing([pod("a", 1), pod("c", 8), pod("d", 9)], 10)),
    )
    async with scripted(tmp_path, *script, paged=True) as run:
        assert run.changes[3:] == [("b", 2, 0), ("c", 3, 8), ("d", 0, 9)]  # and of an empty answer: it is the same
        assert run.reflector.feed.relists == 1
        assert run.reflector.reconnects == {"expired": 1}
        assert run.server.requests[-1].params["resourceVersion"] == "10"


TOO_LARGE = {
    "kind": "Status",
    "code": 504,
    "reason": "Timeout",
    "message": "Too large resource version: 50, current: 4",
    "details": {"causes": [{"reason": "ResourceVersionTooLarge"}], "retryAfterSeconds": 1},
}


@pytest.mark.parametrize(
    ("refused", "seconds"),
    [(answer(504, TOO_LARGE, Retry_After="1"), 1.0), (refusal(400, "BadRequest", "invalid resource version"), 0.0)],
    ids=["ahead of the server", "invalid"],
)
async def test_a_version_that_the_server_does_not_know_causes_a_new_list(
    tmp_path: Path, refused: Step, seconds: float
) -> None:
    script = (answer(200, listing([pod("a", 50)], 50)), refused, answer(200, listing([pod("a", 4)], 4)))
    async with scripted(tmp_path, *script, paged=True) as run:
        assert run.changes == [("a", 0, 50), ("a", 50, 4)]
        assert run.reflector.feed.version == 4
        assert run.slept[0] >= seconds


@pytest.mark.parametrize("forgotten", [1, 2])
async def test_a_list_whose_continue_token_expires_starts_again(tmp_path: Path, forgotten: int) -> None:
    first = answer(200, listing([pod("old", 1)], 5, "token"))
    script = [first, refusal(410, "Expired")] * forgotten
    async with scripted(tmp_path, *script, answer(200, listing([pod("new", 7)], 8)), paged=True) as run:
        assert run.changes == [("new", 0, 7)]
        assert run.slept == []
        assert run.server.requests[-2].params.get("limit") == ("500" if forgotten == 1 else None)


async def test_a_list_that_keeps_expiring_is_retried_after_a_delay(tmp_path: Path) -> None:
    first = answer(200, listing([pod("old", 1)], 5, "token"))
    gone = refusal(410, "Expired")
    async with scripted(tmp_path, first, gone, first, gone, gone, answer(200, listing([], 8)), paged=True) as run:
        assert run.reflector.reconnects == {"expired": 1}
        assert run.versions == [8]


async def test_a_list_with_too_many_pages_is_abandoned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.kube.listwatch.sink_feed.MOST_PAGES", 3)
    more = answer(200, listing([], 5, "token"))
    async with scripted(tmp_path, more, more, more, answer(200, listing([], 8)), paged=True) as run:
        assert "has no end" in run.reports[0][1]["problem"]
        assert run.versions == [8]


async def test_a_broken_watch_resumes_from_its_last_version(tmp_path: Path) -> None:
    script = (
        answer(200, listing([pod("a", 1)], 5)),
        stream(event("MODIFIED", pod("a", 6)), bookmark(7), then="stall"),
        stream(event("MODIFIED", pod("a", 8)), then="reset"),
    )
    async with scripted(tmp_path, *script, paged=True, silence=0.3) as run:
        assert [request.params.get("resourceVersion") for request in run.server.requests] == [None, "5", "7", "8"]
        assert run.reflector.feed.relists == 0
        assert set(run.reflector.reconnects) == {"silent", "unreachable"}
        assert run.reflector.reconnects["silent"] == 1


async def test_a_server_that_closes_at_once_meets_a_growing_delay(tmp_path: Path) -> None:
    closing = [stream()] * 40
    async with scripted(tmp_path, answer(200, listing([], 5)), *closing, paged=True, ticks=0.01) as run:
        assert run.reflector.reconnects == {"early": 40}
        assert run.slept[0] >= 0.4
        assert run.slept[1] > 0.8
        assert all(15 <= wait <= 30 for wait in run.slept[6:])
        assert sum(run.slept) > 700  # 41 requests in twelve minutes


async def test_the_delay_is_forgotten_after_two_quiet_minutes(tmp_path: Path) -> None:
    broken = refusal(500, "InternalError")
    script = (answer(200, listing([], 5)), *[broken] * 5, stream(bookmark(6)), broken)

    async with scripted(tmp_path, *script, paged=True, ticks=70.0) as run:
        # 70 s pass between two failures; 140 s and a watch that lasted between the last two.
        assert len(run.slept) == 6
        assert run.slept[4] > 6
        assert run.slept[5] <= 0.8


async def test_an_answer_ends_the_delay_of_unanswered_attempts(tmp_path: Path) -> None:
    """An API server that restarts and answers 410 is listed at once, however long it was away."""
    away = [slam] * 20  # aiohttp sends a GET once more by itself when a kept connection is reset
    back = (refusal(410, "Expired"), answer(200, listing([pod("b", 50)], 60)))
    async with scripted(tmp_path, answer(200, listing([], 5)), *away, *back, paged=True, ticks=0.01) as run:
        assert 2.5 <= run.slept[-2] <= 5, "a server that is away is tried every few seconds"
        assert run.slept[-1] <= 0.8, "the wait after the 410"
        assert run.uids == {"b"}


async def test_a_server_that_answers_every_watch_with_410_is_not_called_in_a_loop(tmp_path: Path) -> None:
    script = [answer(200, listing([], 5)), refusal(410, "Expired")] * 20
    async with scripted(tmp_path, *script, paged=True, ticks=0.01) as run:
        assert run.reflector.feed.relists == 19
        assert run.reflector.reconnects == {"expired": 20}
        assert all(15 <= wait <= 30 for wait in run.slept[6:])


async def test_the_callback_gets_each_failure_and_may_end_the_reflector(tmp_path: Path) -> None:
    heard: list[tuple[str, float]] = []

    def failed(error: ApiError, seconds: float) -> None:
        heard.append((type(error).__name__, seconds))
        if isinstance(error, Forbidden):
            raise error

    script = (refusal(429, "TooManyRequests", Retry_After="70"), refusal(403, "Forbidden", "cannot list pods"))
    with pytest.raises(Forbidden, match="cannot list pods"):
        async with scripted(tmp_path, *script, paged=True, failed=failed):
            pass
    assert [name for name, _ in heard] == ["Throttled", "Forbidden"]
    assert heard[0][1] == 70.0


async def test_a_throttled_watch_waits_for_retry_after(tmp_path: Path) -> None:
    script = (answer(200, listing([], 5)), refusal(429, "TooManyRequests", Retry_After="42"), stream(bookmark(6)))
    async with scripted(tmp_path, *script, paged=True) as run:
        assert run.slept == [42.0]
        assert run.reflector.reconnects == {"throttled": 1, "ended": 1}


async def test_an_error_event_other_than_410_keeps_the_version(tmp_path: Path) -> None:
    script = (answer(200, listing([], 5)), stream(bookmark(7), error_event(500, "InternalError")))
    async with scripted(tmp_path, *script, paged=True) as run:
        assert run.server.requests[-1].params["resourceVersion"] == "7"
        assert run.reflector.reconnects == {"apierror": 1}
        assert run.reports[-1][1]["problem"].startswith("500 InternalError")


@pytest.mark.parametrize("code", [410, 500])
async def test_the_error_of_a_watch_is_not_kept_in_memory(tmp_path: Path, code: int) -> None:
    script = (answer(200, listing([], 5)), stream(error_event(code, "ToBeForgotten")), answer(200, listing([], 6)))
    async with scripted(tmp_path, *script, paged=True) as run:
        assert "ToBeForgotten" in run.reports[0][1]["problem"]
        gc.collect()
        errors = [left for left in gc.get_objects() if issubclass(type(left), ApiError)]
        assert not [error for error in errors if error.reason == "ToBeForgotten"]


async def test_unreadable_objects_are_skipped_and_reported_once(tmp_path: Path) -> None:
    wrong = pod("bad", 8)
    wrong["status"]["containerStatuses"] = 5
    script = (
        answer(200, listing([pod("a", 1), wrong, {"metadata": 3}], 5)),
        stream(
            event("ADDED", wrong),
            b"garbage",
            b'{"type":"ADDED","object":',
            b'{"type":"SOMETHING","object":{}}',
            b"\xff\xfe",
            b"[" * 5000,
            event("ADDED", pod("b", 9)),
        ),
    )
    async with scripted(tmp_path, *script, paged=True) as run:
        assert run.uids == {"a", "b"}
        assert run.reflector.decode_errors == 8
        messages = [message for message, _ in run.reports]
        assert messages.count("an object cannot be read and is skipped") == 1
        assert all(each["problem"].startswith("team/mnist-worker-0-bad: ") for _, each in run.reports)
        assert run.versions == [5, 8, 9]  # the known part of the unreadable one is used: the position of the stream
        assert run.reflector.reconnects == {"ended": 1}


async def test_an_unreadable_deletion_causes_a_new_list(tmp_path: Path) -> None:
    wrong = pod("a", 8)
    wrong["spec"] = "what"
    script = (answer(200, listing([pod("a", 1)], 5)), stream(event("DELETED", wrong)), answer(200, listing([], 9)))
    async with scripted(tmp_path, *script, paged=True) as run:
        assert run.changes == [("a", 0, 1), ("a", 1, 0)]


async def test_events_older_than_a_deletion_are_dropped(tmp_path: Path) -> None:
    script = (
        answer(200, listing([pod("a", 1), pod("b", 2)], 5)),
        stream(
            event("DELETED", pod("a", 10)),
            event("MODIFIED", pod("a", 9)),
            event("ADDED", pod("a", 9)),
            event("MODIFIED", pod("b", 7)),
        ),
    )
    async with scripted(tmp_path, *script, paged=True) as run:
        assert run.uids == {"b"}
        assert run.changes[2:] == [("a", 1, 10), ("a", 10, 0), ("b", 2, 7)]


async def test_a_pod_that_leaves_the_selector_and_returns_is_kept(tmp_path: Path) -> None:
    script = (
        answer(200, listing([pod("a", 1)], 5)),
        stream(event("DELETED", pod("a", 10)), event("ADDED", pod("a", 12)), event("DELETED", pod("a", 11))),
    )
    async with scripted(tmp_path, *script, paged=True) as run:
        assert run.uids == {"a"}
        assert run.changes[1:] == [("a", 1, 10), ("a", 10, 0), ("a", 0, 12)]


async def test_events_from_before_the_list_are_dropped(tmp_path: Path) -> None:
    """As a lagging cache of an API server may send them after a newer one answered the list."""
    script = (
        answer(200, listing([pod("a", 4)], 9)),
        stream(event("ADDED", pod("ghost", 6)), event("MODIFIED", pod("a", 3)), event("MODIFIED", pod("a", 10))),
    )
    async with scripted(tmp_path, *script, paged=True) as run:
        assert run.uids == {"a"}
        assert run.changes == [("a", 0, 4), ("a", 4, 10)]


def seen(version: int, *objects: dict[str, Any], problems: tuple[str, ...] = ()) -> ObjectList[Pod]:
    """Return a list that was read beside the watch."""
    page = pods.DECODER.page(json.dumps(listing(list(objects), version)).encode())
    return ObjectList(page.objects, page.version, list(problems))


async def test_a_list_read_beside_the_watch_adds_newer_states(tmp_path: Path) -> None:
    script = (
        answer(200, listing([pod("a", 1), pod("b", 2), pod("c", 3)], 5)),
        stream(event("MODIFIED", pod("b", 12)), event("DELETED", pod("c", 13))),
    )
    async with scripted(tmp_path, *script, paged=True) as run:
        run.changes.clear()
        earlier = seen(10, pod("a", 8), pod("b", 9), pod("c", 3), pod("d", 10))
        run.reflector.feed.learn(earlier, list(run.store))
        assert run.changes == [("a", 1, 8), ("d", 0, 10)]
        assert run.reflector.feed.version == 13, "events up to there may still be missing"


async def test_an_object_missing_from_such_a_list_is_deleted_unless_it_is_newer(tmp_path: Path) -> None:
    script = answer(200, listing([pod("a", 1), pod("b", 2)], 5)), stream(event("ADDED", pod("c", 12)))
    async with scripted(tmp_path, *script, paged=True) as run:
        run.changes.clear()
        run.reflector.feed.learn(seen(10, pod("b", 2)), list(run.store))
        assert run.changes == [("a", 1, 0)]
        run.reflector.feed.learn(seen(9, pod("a", 8), pod("b", 2)), list(run.store))
        assert run.uids == {"b", "c"}


async def test_an_object_that_is_awaited_is_left_to_the_watch(tmp_path: Path) -> None:
    script = answer(200, listing([pod("a", 1), pod("b", 2)], 5)), stream()
    async with scripted(tmp_path, *script, paged=True) as run:
        run.changes.clear()
        assert not run.reflector.feed.learn(seen(10, pod("b", 7)), list(run.store), lambda each: each.uid == "a")
        assert run.changes == [("b", 2, 7)]
        assert run.reflector.feed.learn(seen(10, pod("b", 7)), list(run.store))
        assert run.uids == {"b"}


async def test_an_unreadable_object_in_such_a_list_is_not_deleted(tmp_path: Path) -> None:
    async with scripted(tmp_path, answer(200, listing([pod("a", 1)], 5)), stream(), paged=True) as run:
        run.reflector.feed.learn(seen(10, problems=("a pod without uid or name",)), list(run.store))
        assert run.uids == {"a"}


async def test_staleness_grows_while_the_server_sends_nothing(tmp_path: Path) -> None:
    async with scripted(tmp_path, answer(200, listing([], 5)), *[slam] * 4, paged=True, ticks=10.0) as run:
        waited = sum(run.slept) + 40.0
        assert run.reflector.staleness(run.now) == pytest.approx(waited)
        assert run.reflector.staleness(run.now - 10_000) == 0.0


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[]", b'{"metadata":{},"items":[]}', b'{"metadata":{"resourceVersion":"x"},"items":[]}']
)
async def test_an_answer_that_is_no_list_is_asked_for_again(tmp_path: Path, body: bytes) -> None:
    async with scripted(tmp_path, answer(200, body), answer(200, listing([pod("a", 1)], 5)), paged=True) as run:
        assert run.changes == [("a", 0, 1)]
        assert len(run.slept) == 1


async def test_a_forbidden_kind_is_retried_slowly(tmp_path: Path) -> None:
    async with scripted(tmp_path, *[refusal(403, "Forbidden", "cannot list pods")] * 10) as run:
        assert run.reflector.reconnects == {"forbidden": 10}
        assert not run.reflector.feed.synced
        assert run.slept[-1] >= 15
        assert "cannot list pods" in run.reports[0][1]["problem"]
