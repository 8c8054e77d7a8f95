"""A collection as an iterator: it never ends by itself, never calls the server in a loop, and loses no change."""

import asyncio
import json
import random
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from muster.api.errors import ApiError, Forbidden, Throttled, Unreachable
from muster.kube.listwatch.informer import MOST_QUEUED, Change, changes
from muster.kube.transport import Answer

PATH = "/apis/muster.dev/v1alpha1/experiments"


def thing(name: str, version: int, uid: str = "") -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "team", "uid": uid or name, "resourceVersion": str(version)}}


def event(kind: str, obj: dict[str, Any]) -> bytes:
    return json.dumps({"type": kind, "object": obj}).encode()


GONE = event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old resource version"})


@dataclass
class Script:
    """A server that plays lists and watches in turn: an error is raised, None ends a watch that then hangs forever."""

    lists: list[list[dict[str, Any]] | ApiError]
    watches: list[list[bytes | ApiError | None]]
    asked: list[tuple[str, Mapping[str, str], float]] = field(default_factory=list)
    now: float = 0.0

    async def sleep(self, seconds: float) -> None:
        """Let time pass; it passes only here."""
        self.now += seconds
        await asyncio.sleep(0)

    async def request(self, method: str, path: str, *, params: Mapping[str, str] | None = None, **_: Any) -> Answer:
        self._note("list", params or {})
        found = self.lists.pop(0)
        if isinstance(found, ApiError):
            raise found
        version = max((int(obj["metadata"]["resourceVersion"]) for obj in found), default=1)
        return Answer(200, json.dumps({"metadata": {"resourceVersion": str(version)}, "items": found}).encode())

    @asynccontextmanager
    async def lines(
        self, path: str, *, params: Mapping[str, str], silence: float
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        self._note("watch", params)
        script = self.watches.pop(0) if self.watches else [None]

        async def play() -> AsyncIterator[bytes]:
            for step in script:
                if isinstance(step, ApiError):
                    raise step
                if step is None:
                    await asyncio.Event().wait()
                else:
                    yield step

        yield play()

    def _note(self, verb: str, params: Mapping[str, str]) -> None:
        self.asked.append((verb, params, self.now))

    def versions(self) -> list[str]:
        """Return the versions that watches began from."""
        return [params["resourceVersion"] for verb, params, _ in self.asked if verb == "watch"]


async def steps(script: Script, number: int, **options: Any) -> list[str]:
    """Return the first changes as ``KIND name@version``."""
    found: list[str] = []
    stream = changes(script, PATH, random=random.Random(1), clock=lambda: script.now, sleep=script.sleep, **options)
    async with asyncio.timeout(5), aclosing(stream):
        while len(found) < number:
            found.append(line_of(await anext(stream)))
    return found


def line_of(change: Change) -> str:
    meta = change.object["metadata"]
    return f"{change.kind} {meta['name']}@{meta['resourceVersion']}"


async def test_what_exists_comes_first_then_every_change() -> None:
    script = Script(
        [[thing("a", 5)]],
        [[event("MODIFIED", thing("a", 6)), event("ADDED", thing("b", 7)), event("DELETED", thing("a", 8)), None]],
    )
    assert await steps(script, 4) == ["ADDED a@5", "MODIFIED a@6", "ADDED b@7", "DELETED a@8"]
    assert script.versions() == ["5"]


async def test_an_ended_watch_resumes_from_the_last_version_or_bookmark() -> None:
    bookmark = event("BOOKMARK", {"metadata": {"resourceVersion": "40"}})
    script = Script([[thing("a", 5)]], [[bookmark], [event("MODIFIED", thing("a", 41)), None]])
    assert await steps(script, 2) == ["ADDED a@5", "MODIFIED a@41"]
    assert script.versions() == ["5", "40"]


async def test_after_410_the_differences_to_the_new_list_are_reported() -> None:
    script = Script(
        [[thing("a", 5), thing("b", 6), thing("c", 7)], [thing("b", 6), thing("c", 70), thing("a", 71, uid="new")]],
        [[GONE], [None]],
    )
    assert await steps(script, 6) == [
        "ADDED a@5",
        "ADDED b@6",
        "ADDED c@7",
        "DELETED a@5",
        "MODIFIED c@70",
        "ADDED a@71",
    ]


async def test_broken_connections_damaged_lines_and_busy_servers_are_survived_and_reported() -> None:
    heard: list[tuple[str, float]] = []
    script = Script(
        [Unreachable("refused"), Throttled("busy", status=429, retry_after=20), [thing("a", 5)]],
        [
            [event("MODIFIED", thing("a", 6)), b'{"type": "MODI', Unreachable("reset")],
            [ApiError("odd", status=500)],
            [event("MODIFIED", thing("a", 7)), None],
        ],
    )
    found = await steps(script, 3, retrying=lambda error, seconds: heard.append((type(error).__name__, seconds)))
    assert found == ["ADDED a@5", "MODIFIED a@6", "MODIFIED a@7"]
    assert script.versions() == ["5", "6", "6"]
    assert [name for name, _ in heard] == ["Unreachable", "Throttled", "Unreachable", "ApiError"]
    assert heard[1][1] == 20, "the server said how long"


async def test_an_error_that_only_a_person_can_remove_is_raised() -> None:
    with pytest.raises(Forbidden):
        await steps(Script([Forbidden("no", status=403)], []), 1)
    refused = event("ERROR", {"code": 403, "reason": "Forbidden", "message": "no more"})
    with pytest.raises(Forbidden, match="no more"):
        await steps(Script([[thing("a", 5)]], [[refused]]), 2)


async def test_a_deleted_object_is_reported_with_its_last_state() -> None:
    script = Script([[thing("a", 5)]], [[event("DELETED", thing("a", 9) | {"status": {"phase": "Failed"}}), None]])
    stream = changes(script, PATH, clock=lambda: script.now, sleep=script.sleep)
    async with asyncio.timeout(5), aclosing(stream):
        await anext(stream)
        gone = await anext(stream)
    assert (gone.kind, gone.object["status"]) == ("DELETED", {"phase": "Failed"})


async def test_closing_the_iterator_ends_its_watch() -> None:
    script = Script([[thing("a", 5)]], [[None]])
    stream = changes(script, PATH, clock=lambda: script.now, sleep=script.sleep)
    await anext(stream)
    await stream.aclose()
    assert [task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("watch")] == []


async def test_a_consumer_that_does_not_come_for_more_makes_the_watch_wait_and_loses_nothing() -> None:
    number = 5 * MOST_QUEUED
    played: list[int] = []

    class Counting(Script):
        @asynccontextmanager
        async def lines(self, path: str, **options: Any) -> AsyncIterator[AsyncIterator[bytes]]:
            async def counted(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
                async for line in lines:
                    played.append(1)
                    yield line

            async with super().lines(path, **options) as lines:
                yield counted(lines)

    script = Counting([[thing("a", 1)]], [[event("MODIFIED", thing("a", 2 + each)) for each in range(number)] + [None]])
    stream = changes(script, PATH, random=random.Random(1), clock=lambda: script.now, sleep=script.sleep)
    async with asyncio.timeout(30), aclosing(stream):
        assert line_of(await anext(stream)) == "ADDED a@1"
        for _ in range(100):
            await asyncio.sleep(0)
        assert len(played) <= MOST_QUEUED + 1
        found = [line_of(await anext(stream)) for _ in range(number)]
    assert found == [f"MODIFIED a@{2 + each}" for each in range(number)]
