"""The reflector against an API server that forgets, stalls, closes, floods and lies.

Each test is a script of answers; when the reflector asks for more than the script holds, everything before has been
taken in. Sleeping moves the clock, and nothing else waits.
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
from muster.kube.connection import Connection
from muster.kube.listwatch.listing import Snapshot
from muster.kube.listwatch.reflector import Reflector, ReflectorSettings
from muster.kube.listwatch.store import Store
from muster.state.pod import Pod
from muster.watchers.pods import decode as pods
from tests.fakes.apiserver import (
    ApiServer,
    Reply,
    Request,
    Step,
    answer,
    api_server,
    bookmark,
    chunks,
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
class Story:
    """One reflector with all that can be seen of it."""

    server: ApiServer
    reflector: Reflector[Pod] = field(init=False)
    store: Store[Pod] = field(init=False)
    changes: list[tuple[str, int, int]] = field(default_factory=list)
    """uid, old and new resourceVersion (0: none)."""
    versions: list[int] = field(default_factory=list)
    reports: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    slept: list[float] = field(default_factory=list)
    now: float = 100.0

    @property
    def uids(self) -> set[str]:
        return set(self.store.objects)


@asynccontextmanager
async def story(
    directory: Path,
    *script: Step,
    paged: bool = False,
    ticks: float = 2.0,
    failed: Callable[[ApiError, float], None] = lambda error, seconds: None,
    **settings: Any,
) -> AsyncIterator[Story]:
    """Run the script to its end; each request takes ``ticks`` seconds of the clock."""
    over = asyncio.Event()

    async def finish(_request: Request, _reply: Reply) -> None:
        over.set()
        await asyncio.Event().wait()

    def timed(step: Step) -> Step:
        async def play(request: Request, reply: Reply) -> None:
            told.now += ticks
            await step(request, reply)

        return play

    async with api_server(*map(timed, script), otherwise=finish) as server:
        told = Story(server)
        connection = await Connection.from_settings(server.kubeconfig(directory))

        async def sleep(seconds: float) -> None:
            told.slept.append(seconds)
            told.now += seconds
            await asyncio.sleep(0)

        def changed(old: Pod | None, new: Pod | None) -> None:
            one = new or old
            assert one is not None
            told.changes.append((one.uid, old.resource_version if old else 0, new.resource_version if new else 0))

        def report(message: str, **fields: Any) -> None:
            told.reports.append((message, fields))

        told.store = Store(changed, told.versions.append)
        told.reflector = Reflector(
            connection,
            pods.PATH,
            {"labelSelector": pods.SELECTOR},
            pods.DECODER,
            told.store,
            clock=lambda: told.now,
            random=Random(7),
            sleep=sleep,
            report=report,
            failed=failed,
            settings=ReflectorSettings(**{"silence": 5.0, "streamed_list": not paged} | settings),
        )
        task = asyncio.create_task(told.reflector.run(), name="reflector")
        finished = asyncio.create_task(over.wait(), name="end of the script")
        await asyncio.wait({task, finished}, return_when=asyncio.FIRST_COMPLETED)
        try:
            if task.done():
                task.result()
            yield told
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
    async with story(tmp_path, opening) as told:
        assert told.uids == {"a"}
        assert told.changes == [("a", 0, 3), ("b", 0, 6), ("a", 3, 11), ("b", 6, 0)]
        assert told.versions == [10, 11, 20, 21]
        assert told.reflector.synced
        assert told.reflector.version == 21
        assert told.reflector.relists == 0
        assert told.reflector.events == {"ADDED": 3, "MODIFIED": 2, "DELETED": 2, "BOOKMARK": 3}
        first, second = told.server.requests
        assert first.path == "/api/v1/pods"
        length = int(first.params.pop("timeoutSeconds"))
        assert 300 <= length <= 600
        assert first.params == {
            "labelSelector": "app.kubernetes.io/managed-by=muster",
            "watch": "true",
            "allowWatchBookmarks": "true",
            "sendInitialEvents": "true",
            "resourceVersionMatch": "NotOlderThan",
        }
        assert second.params["resourceVersion"] == "21"
        assert "sendInitialEvents" not in second.params
        assert told.slept == []
        assert told.reflector.reconnects == {"ended": 1}


async def test_nothing_is_shown_before_the_list_is_whole(tmp_path: Path) -> None:
    async with story(
        tmp_path, stream(event("ADDED", pod("a", 3)), then="reset"), answer(200, listing([pod("b", 5)], 6))
    ) as told:
        assert told.changes == [("b", 0, 5)]
        assert told.server.requests[1].params == {
            "labelSelector": pods.SELECTOR,
            "limit": "500",
        }  # and no resourceVersion=0
        assert told.server.requests[2].params["resourceVersion"] == "6"


async def test_a_server_that_cannot_stream_lists_is_paged_at_once_and_for_good(tmp_path: Path) -> None:
    pages = (
        answer(200, listing([pod("a", 1), pod("b", 2)], 9, "next-1")),
        answer(200, listing([pod("c", 3)], 9, "next-2")),
        answer(200, listing([], 9)),
    )
    gone = stream(error_event(410, "Expired"))
    async with story(tmp_path, REJECTED, *pages, gone, answer(200, listing([], 12)), page_size=2) as told:
        tokens = [request.params.get("continue") for request in told.server.requests]
        assert tokens == [None, None, "next-1", "next-2", None, None, None]
        assert [request.watches for request in told.server.requests] == [True, False, False, False, True, False, True]
        assert all(request.params.get("limit") == "2" for request in told.server.requests if not request.watches)
        assert told.changes == [("a", 0, 1), ("b", 0, 2), ("c", 0, 3), ("a", 1, 0), ("b", 2, 0), ("c", 3, 0)]
        assert told.slept[0] < 1.0  # only the 410 cost a wait
        assert len(told.slept) == 1


async def test_an_end_without_the_end_mark_is_no_list(tmp_path: Path) -> None:
    async with story(tmp_path, stream(event("ADDED", pod("a", 3)), bookmark(4)), answer(200, listing([], 5))) as told:
        assert told.changes == []
        assert told.versions == [5]
        assert told.slept != []


async def test_a_relist_tells_what_vanished_meanwhile(tmp_path: Path) -> None:
    script = (
        answer(200, listing([pod("a", 1), pod("b", 2), pod("c", 3)], 5)),
        refusal(410, "Expired"),
        answer(200, listing([pod("a", 1), pod("c", 8), pod("d", 9)], 10)),
    )
    async with story(tmp_path, *script, paged=True) as told:
        assert told.changes[3:] == [("b", 2, 0), ("c", 3, 8), ("d", 0, 9)]  # and of a nothing: it is the same
        assert told.reflector.relists == 1
        assert told.reflector.reconnects == {"expired": 1}
        assert told.server.requests[-1].params["resourceVersion"] == "10"


async def test_a_version_ahead_of_the_server_means_a_new_list(tmp_path: Path) -> None:
    status = {
        "kind": "Status",
        "code": 504,
        "reason": "Timeout",
        "message": "Too large resource version: 50, current: 4",
        "details": {"causes": [{"reason": "ResourceVersionTooLarge"}], "retryAfterSeconds": 1},
    }
    script = (
        answer(200, listing([pod("a", 50)], 50)),
        answer(504, status, Retry_After="1"),
        answer(200, listing([pod("a", 4)], 4)),
    )
    async with story(tmp_path, *script, paged=True) as told:
        assert told.changes == [("a", 0, 50), ("a", 50, 4)]
        assert told.reflector.version == 4
        assert told.slept[0] >= 1.0


@pytest.mark.parametrize("forgotten", [1, 2])
async def test_a_list_that_expires_half_way_starts_again(tmp_path: Path, forgotten: int) -> None:
    first = answer(200, listing([pod("old", 1)], 5, "token"))
    script = [first, refusal(410, "Expired")] * forgotten
    async with story(tmp_path, *script, answer(200, listing([pod("new", 7)], 8)), paged=True) as told:
        assert told.changes == [("new", 0, 7)]
        assert told.slept == []
        assert told.server.requests[-2].params.get("limit") == ("500" if forgotten == 1 else None)


async def test_a_list_that_never_ends_well_is_given_up_for_a_while(tmp_path: Path) -> None:
    first = answer(200, listing([pod("old", 1)], 5, "token"))
    gone = refusal(410, "Expired")
    async with story(tmp_path, first, gone, first, gone, gone, answer(200, listing([], 8)), paged=True) as told:
        assert told.reflector.reconnects == {"expired": 1}
        assert told.versions == [8]


async def test_a_list_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.kube.listwatch.listing.MOST_PAGES", 3)
    more = answer(200, listing([], 5, "token"))
    async with story(tmp_path, more, more, more, answer(200, listing([], 8)), paged=True) as told:
        assert "has no end" in told.reports[0][1]["problem"]
        assert told.versions == [8]


async def test_a_version_that_is_none_to_the_server_means_a_new_list(tmp_path: Path) -> None:
    script = (
        answer(200, listing([], 5)),
        refusal(400, "BadRequest", "invalid resource version"),
        answer(200, listing([], 8)),
    )
    async with story(tmp_path, *script, paged=True) as told:
        assert told.versions == [5, 8]


async def test_a_dead_watch_is_resumed_where_it_was(tmp_path: Path) -> None:
    script = (
        answer(200, listing([pod("a", 1)], 5)),
        stream(event("MODIFIED", pod("a", 6)), bookmark(7), then="stall"),
        stream(event("MODIFIED", pod("a", 8)), then="reset"),
    )
    async with story(tmp_path, *script, paged=True, silence=0.3) as told:
        assert [request.params.get("resourceVersion") for request in told.server.requests] == [None, "5", "7", "8"]
        assert told.reflector.relists == 0
        assert set(told.reflector.reconnects) == {"silent", "unreachable"}
        assert told.reflector.reconnects["silent"] == 1


async def test_half_a_line_is_not_believed(tmp_path: Path) -> None:
    line = event("MODIFIED", pod("a", 6))
    script = (answer(200, listing([pod("a", 1)], 5)), chunks(line))  # valid JSON, but the newline never came
    async with story(tmp_path, *script, paged=True) as told:
        assert told.changes == [("a", 0, 1)]
        assert told.reflector.reconnects == {"unreachable": 1}


async def test_a_server_that_closes_at_once_meets_a_growing_delay(tmp_path: Path) -> None:
    closing = [stream()] * 40
    async with story(tmp_path, answer(200, listing([], 5)), *closing, paged=True, ticks=0.01) as told:
        assert told.reflector.reconnects == {"early": 40}
        assert told.slept[0] >= 0.4
        assert told.slept[1] > 0.8
        assert all(15 <= wait <= 30 for wait in told.slept[6:])
        assert sum(told.slept) > 700  # 41 requests in twelve minutes


async def test_the_delay_is_forgotten_after_two_quiet_minutes(tmp_path: Path) -> None:
    broken = refusal(500, "InternalError")
    script = (answer(200, listing([], 5)), *[broken] * 5, stream(bookmark(6)), broken)

    async with story(tmp_path, *script, paged=True, ticks=70.0) as told:
        # Between two failures lie 70 s; between the last two 140 s and a watch that held.
        assert len(told.slept) == 6
        assert told.slept[4] > 6
        assert told.slept[5] <= 0.8


async def test_an_answer_ends_the_delay_of_unanswered_attempts(tmp_path: Path) -> None:
    """An API server that restarts and answers 410 is listed at once, however long it was away."""
    away = [slam] * 20  # aiohttp sends a GET once more by itself when a kept connection is reset
    back = (refusal(410, "Expired"), answer(200, listing([pod("b", 50)], 60)))
    async with story(tmp_path, answer(200, listing([], 5)), *away, *back, paged=True, ticks=0.01) as told:
        assert told.slept[-2] >= 15
        assert told.slept[-1] <= 0.8, "the wait after the 410"
        assert told.uids == {"b"}


async def test_a_server_that_answers_every_watch_with_410_is_not_called_in_a_loop(tmp_path: Path) -> None:
    script = [answer(200, listing([], 5)), refusal(410, "Expired")] * 20
    async with story(tmp_path, *script, paged=True, ticks=0.01) as told:
        assert told.reflector.relists == 19
        assert told.reflector.reconnects == {"expired": 20}
        assert all(15 <= wait <= 30 for wait in told.slept[6:])


async def test_watches_that_end_normally_are_opened_again_once_each(tmp_path: Path) -> None:
    script = (answer(200, listing([], 5)), *[stream(bookmark(6))] * 20)
    async with story(tmp_path, *script, paged=True, ticks=300.0) as told:
        assert told.reflector.reconnects == {"ended": 20}
        assert told.slept == []


async def test_the_owner_hears_of_each_failure_and_may_end_the_reflector(tmp_path: Path) -> None:
    heard: list[tuple[str, float]] = []

    def failed(error: ApiError, seconds: float) -> None:
        heard.append((type(error).__name__, seconds))
        if isinstance(error, Forbidden):
            raise error

    script = (refusal(429, "TooManyRequests", Retry_After="70"), refusal(403, "Forbidden", "cannot list pods"))
    with pytest.raises(Forbidden, match="cannot list pods"):
        async with story(tmp_path, *script, paged=True, failed=failed):
            pass
    assert [name for name, _ in heard] == ["Throttled", "Forbidden"]
    assert heard[0][1] == 70.0


async def test_a_throttled_watch_comes_back_when_told(tmp_path: Path) -> None:
    script = (answer(200, listing([], 5)), refusal(429, "TooManyRequests", Retry_After="42"), stream(bookmark(6)))
    async with story(tmp_path, *script, paged=True) as told:
        assert told.slept == [42.0]
        assert told.reflector.reconnects == {"throttled": 1, "ended": 1}


async def test_errors_in_the_stream_other_than_410_keep_the_place(tmp_path: Path) -> None:
    script = (answer(200, listing([], 5)), stream(bookmark(7), error_event(500, "InternalError")))
    async with story(tmp_path, *script, paged=True) as told:
        assert told.server.requests[-1].params["resourceVersion"] == "7"
        assert told.reflector.reconnects == {"apierror": 1}
        assert told.reports[-1][1]["problem"].startswith("500 InternalError")


@pytest.mark.parametrize("code", [410, 500])
async def test_a_watch_that_ended_in_an_error_is_forgotten(tmp_path: Path, code: int) -> None:
    script = (answer(200, listing([], 5)), stream(error_event(code, "ToBeForgotten")), answer(200, listing([], 6)))
    async with story(tmp_path, *script, paged=True) as told:
        assert "ToBeForgotten" in told.reports[0][1]["problem"]
        gc.collect()
        errors = [left for left in gc.get_objects() if issubclass(type(left), ApiError)]
        assert not [error for error in errors if error.reason == "ToBeForgotten"]


async def test_one_unreadable_object_stops_nobody_and_is_told_once(tmp_path: Path) -> None:
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
    async with story(tmp_path, *script, paged=True) as told:
        assert told.uids == {"a", "b"}
        assert told.reflector.decode_errors == 8
        messages = [message for message, _ in told.reports]
        assert messages.count("an object cannot be read and is passed over") == 1
        assert told.versions == [5, 8, 9]  # what could be known of the unreadable one is used: how far the stream is
        assert told.reflector.reconnects == {"ended": 1}


async def test_a_deletion_that_cannot_be_read_makes_a_new_list(tmp_path: Path) -> None:
    wrong = pod("a", 8)
    wrong["spec"] = "what"
    script = (answer(200, listing([pod("a", 1)], 5)), stream(event("DELETED", wrong)), answer(200, listing([], 9)))
    async with story(tmp_path, *script, paged=True) as told:
        assert told.changes == [("a", 0, 1), ("a", 1, 0)]


async def test_late_news_of_the_dead_is_not_believed(tmp_path: Path) -> None:
    script = (
        answer(200, listing([pod("a", 1), pod("b", 2)], 5)),
        stream(
            event("DELETED", pod("a", 10)),
            event("MODIFIED", pod("a", 9)),
            event("ADDED", pod("a", 9)),
            event("MODIFIED", pod("b", 7)),
        ),
    )
    async with story(tmp_path, *script, paged=True) as told:
        assert told.uids == {"b"}
        assert told.changes[2:] == [("a", 1, 0), ("b", 2, 7)]
        assert told.reflector.late_events == 2


async def test_a_pod_that_leaves_the_selector_and_returns_is_back(tmp_path: Path) -> None:
    script = (
        answer(200, listing([pod("a", 1)], 5)),
        stream(event("DELETED", pod("a", 10)), event("ADDED", pod("a", 12)), event("DELETED", pod("a", 11))),
    )
    async with story(tmp_path, *script, paged=True) as told:
        assert told.uids == {"a"}
        assert told.changes[1:] == [("a", 1, 0), ("a", 0, 12)]


async def test_events_from_before_the_list_are_dropped(tmp_path: Path) -> None:
    """As an API server's lagging cache may send them after a newer one answered the list."""
    script = (
        answer(200, listing([pod("a", 4)], 9)),
        stream(event("ADDED", pod("ghost", 6)), event("MODIFIED", pod("a", 3)), event("MODIFIED", pod("a", 10))),
    )
    async with story(tmp_path, *script, paged=True) as told:
        assert told.uids == {"a"}
        assert told.changes == [("a", 0, 4), ("a", 4, 10)]
        assert told.reflector.late_events == 2


def seen(version: int, *objects: dict[str, Any], problems: tuple[str, ...] = ()) -> Snapshot[Pod]:
    """A list that was read beside the watch."""
    page = pods.DECODER.page(json.dumps(listing(list(objects), version)).encode())
    return Snapshot({each.uid: each for each in page.objects}, page.version, list(problems))


async def test_a_list_read_beside_the_watch_brings_what_the_watch_has_not(tmp_path: Path) -> None:
    script = (
        answer(200, listing([pod("a", 1), pod("b", 2), pod("c", 3)], 5)),
        stream(event("MODIFIED", pod("b", 12)), event("DELETED", pod("c", 13))),
    )
    async with story(tmp_path, *script, paged=True) as told:
        told.changes.clear()
        earlier = seen(10, pod("a", 8), pod("b", 9), pod("c", 3), pod("d", 10))
        told.reflector.learn(earlier, list(told.store))
        assert told.changes == [("a", 1, 8), ("d", 0, 10)]
        assert told.reflector.version == 13, "events up to there may still be missing"


async def test_what_such_a_list_lacks_is_gone_for_good_unless_it_is_newer(tmp_path: Path) -> None:
    script = answer(200, listing([pod("a", 1), pod("b", 2)], 5)), stream(event("ADDED", pod("c", 12)))
    async with story(tmp_path, *script, paged=True) as told:
        told.changes.clear()
        told.reflector.learn(seen(10, pod("b", 2)), list(told.store))
        assert told.changes == [("a", 1, 0)]
        told.reflector.learn(seen(9, pod("a", 8), pod("b", 2)), list(told.store))
        assert told.uids == {"b", "c"}


async def test_what_such_a_list_cannot_read_is_not_gone(tmp_path: Path) -> None:
    async with story(tmp_path, answer(200, listing([pod("a", 1)], 5)), stream(), paged=True) as told:
        told.reflector.learn(seen(10, problems=("a pod without uid or name",)), list(told.store))
        assert told.uids == {"a"}


async def test_an_object_of_five_megabytes_is_one_object(tmp_path: Path) -> None:
    large = pod("a", 8)
    large["metadata"]["annotations"] = {"x": "y" * 5_000_000}
    async with story(tmp_path, answer(200, listing([], 5)), stream(event("ADDED", large)), paged=True) as told:
        assert told.changes == [("a", 0, 8)]


async def test_staleness_grows_while_the_server_says_nothing(tmp_path: Path) -> None:
    async with story(tmp_path, answer(200, listing([], 5)), *[slam] * 4, paged=True, ticks=10.0) as told:
        waited = sum(told.slept) + 40.0
        assert told.reflector.staleness(told.now) == pytest.approx(waited)
        assert told.reflector.staleness(told.now - 10_000) == 0.0


@pytest.mark.parametrize(
    "body", [b"", b"{}", b"[]", b'{"metadata":{},"items":[]}', b'{"metadata":{"resourceVersion":"x"},"items":[]}']
)
async def test_a_list_that_is_none_is_asked_for_again(tmp_path: Path, body: bytes) -> None:
    async with story(tmp_path, answer(200, body), answer(200, listing([pod("a", 1)], 5)), paged=True) as told:
        assert told.changes == [("a", 0, 1)]
        assert len(told.slept) == 1


async def test_a_forbidden_kind_keeps_asking_slowly(tmp_path: Path) -> None:
    async with story(tmp_path, *[refusal(403, "Forbidden", "cannot list pods")] * 10) as told:
        assert told.reflector.reconnects == {"forbidden": 10}
        assert not told.reflector.synced
        assert told.slept[-1] >= 15
        assert "cannot list pods" in told.reports[0][1]["problem"]
