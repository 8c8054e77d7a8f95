"""The informer of whole objects: its reports, and the dictionary that it keeps."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from muster.kube.listwatch.decoder import Unstructured
from muster.kube.listwatch.informer import Informer, Kind
from muster.kube.listwatch.reflector import ReflectorSettings
from tests.kube.listwatch.test_changes import GONE, Script, event, thing


@asynccontextmanager
async def informer(script: Script, reported: list[tuple[Kind, str]]) -> AsyncIterator[Informer]:
    def changed(kind: Kind, obj: Unstructured) -> None:
        reported.append((kind, obj.uid))

    made = Informer(
        script,
        "/api/v1/pods",
        changed=changed,
        report=lambda message, **fields: None,
        settings=ReflectorSettings(streamed_list=False),
        clock=lambda: script.now,
        sleep=script.sleep,
    )
    task = asyncio.create_task(made.run(), name="informer")
    try:
        async with asyncio.timeout(5):
            yield made
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def until_silent() -> None:
    """Let the informer take in all that the script plays: nothing in it waits for real time."""
    for _ in range(100):
        await asyncio.sleep(0)


async def test_changes_are_reported_as_a_watch_reports_them() -> None:
    reported: list[tuple[Kind, str]] = []
    script = Script([[thing("a", 5)]], [[event("MODIFIED", thing("a", 6)), event("DELETED", thing("a", 7)), None]])
    async with informer(script, reported) as pods:
        await pods.synced.wait()
        await until_silent()
        assert reported == [("ADDED", "a"), ("MODIFIED", "a"), ("DELETED", "a")]
        assert not pods.objects


async def test_the_dictionary_of_objects_stays_the_same_over_a_new_list() -> None:
    reported: list[tuple[Kind, str]] = []
    script = Script([[thing("a", 5), thing("b", 6)], [thing("b", 6), thing("c", 8)]], [[GONE], [None]])
    async with informer(script, reported) as pods:
        held: Any = pods.objects
        await pods.synced.wait()
        await until_silent()
        assert sorted(held) == ["b", "c"]
        assert reported == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a"), ("ADDED", "c")]
