"""A whole list, page by page: consistent, bounded, and able to start again when the server forgets its middle."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import msgspec

from muster.api.errors import ApiError, Expired
from muster.kube.listwatch.events import Decoder
from muster.kube.listwatch.sink import Tracked
from muster.kube.transport import Transport

T = TypeVar("T", bound=Tracked)

MOST_PAGES = 20_000
"""A list of more pages has no end: 10 million objects at 500 a page."""


class Snapshot(msgspec.Struct, Generic[T]):
    """The whole truth as of ``version``. ``problems`` are the items that could not be read."""

    objects: dict[str, T]
    version: int
    problems: list[str]


async def list_all(
    transport: Transport,
    path: str,
    params: Mapping[str, str],
    decode: Decoder[T],
    *,
    page_size: int,
    timeout: float | None = None,
    heard: Callable[[], None] = lambda: None,
) -> Snapshot[T]:
    """Everything at ``path``.

    Each page may take ``timeout`` seconds (None: the transport's default); ``heard`` is called for each that came.

    No resourceVersion is ever sent: the API server then answers from a quorum and not from a cache that may lie minutes
    back (with ``resourceVersion=0`` a daemon that starts could see pods as they were before its own last writes). A
    continue token that expired half-way (410) makes the list start again, the second time in one piece.
    """
    for limit in (page_size, page_size, 0):
        try:
            return await _pages(transport, path, params, decode, limit, timeout, heard)
        except Expired:
            if limit == 0:
                raise
    raise AssertionError("the last round either returns or raises")


async def _pages(
    transport: Transport,
    path: str,
    params: Mapping[str, str],
    decode: Decoder[T],
    limit: int,
    timeout: float | None,
    heard: Callable[[], None],
) -> Snapshot[T]:
    query = dict(params)
    if limit:
        query["limit"] = str(limit)
    snapshot: Snapshot[T] = Snapshot({}, 0, [])
    for _ in range(MOST_PAGES):
        answer = await transport.request("GET", path, params=query, timeout=timeout)
        heard()
        page = decode.page(answer.body)
        for obj in page.objects:
            snapshot.objects[obj.uid] = obj
        snapshot.problems += page.problems
        snapshot.version = page.version
        if not page.proceed:
            return snapshot
        query["continue"] = page.proceed
    raise ApiError(f"the list of {decode.kind} has no end", reason="Malformed", request=f"GET {path}")
