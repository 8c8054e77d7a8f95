"""The informer of whole objects: its reports, and the dictionary that it keeps."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

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


async def test_the_dictionary_of_objects_stays_the_same_over_a_new_list_and_loses_what_is_deleted() -> None:
    reported: list[tuple[Kind, str]] = []
    lists: list[Any] = [[thing("a", 5), thing("b", 6)], [thing("b", 6), thing("c", 8)]]
    script = Script(lists, [[GONE], [event("MODIFIED", thing("b", 9)), event("DELETED", thing("c", 10)), None]])
    async with informer(script, reported) as pods:
        held: Any = pods.objects
        await pods.synced.wait()
        for _ in range(100):  # nothing in the informer waits for real time
            await asyncio.sleep(0)
        assert list(held) == ["b"]
        assert reported[:4] == [("ADDED", "a"), ("ADDED", "b"), ("DELETED", "a"), ("ADDED", "c")]
        assert reported[4:] == [("MODIFIED", "b"), ("DELETED", "c")]


@pytest.mark.parametrize("metadata", [None, 3, {}, {"uid": "u"}, {"uid": "u", "resourceVersion": "x"}])
def test_an_object_needs_a_uid_and_a_version(metadata: Any) -> None:
    with pytest.raises(ValueError, match=r"uid|resourceVersion"):
        Unstructured({"metadata": metadata})
    with pytest.raises(ValueError, match="uid"):
        Unstructured({"metadata": {"resourceVersion": "5"}})
