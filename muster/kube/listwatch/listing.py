"""Reads a whole list page by page: consistent, bounded, and started again when a continue token expires."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import msgspec

from muster.api.errors import ApiError, Expired, Unreachable
from muster.kube.listwatch.events import Decoder, Tracked
from muster.kube.transport import TOO_LARGE_ANSWER, Transport

T = TypeVar("T", bound=Tracked)

PAGE_BYTES = 16 * 2**20
"""Pages are made smaller while the last one was larger than this: one tenant may fill its objects to 1.5 MB each."""

SHRINK = 10
"""By how much pages are made smaller after an answer that was too large to be read."""

MOST_PAGES = 20_000
"""A list of more pages is given up: 10 million objects at 500 a page."""


class ObjectList(msgspec.Struct, Generic[T]):
    """All objects as of ``version``, by uid. ``problems`` are the items that could not be read."""

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
    on_page: Callable[[], None] = lambda: None,
) -> ObjectList[T]:
    """Return every object at ``path``.

    Each page may take ``timeout`` seconds (None: the transport's default); ``on_page`` is called after each.

    No resourceVersion is sent: the API server then answers with a quorum read and not from a cache that may be minutes
    old (with ``resourceVersion=0`` a daemon that starts could see pods as they were before its own last writes). After
    a continue token expired (410) the list starts again, the second time without pages. After an answer that was too
    large to be read it starts again with smaller pages.
    """
    limit, expired = page_size, 0
    while True:
        try:
            return await _pages(transport, path, params, decode, limit, timeout, on_page)
        except Expired:
            expired += 1
            if limit == 0:
                raise
            limit = limit if expired == 1 else 0
        except Unreachable as error:
            if error.reason != TOO_LARGE_ANSWER or limit <= 1:
                raise
            limit = max(1, limit // SHRINK)


async def _pages(
    transport: Transport,
    path: str,
    params: Mapping[str, str],
    decode: Decoder[T],
    limit: int,
    timeout: float | None,
    on_page: Callable[[], None],
) -> ObjectList[T]:
    query = dict(params)
    found: ObjectList[T] = ObjectList({}, 0, [])
    for _ in range(MOST_PAGES):
        if limit:
            query["limit"] = str(limit)
        answer = await transport.request("GET", path, params=query, timeout=timeout)
        on_page()
        page = decode.page(answer.body)
        for obj in page.objects:
            found.objects[obj.uid] = obj
        found.problems += page.problems
        found.version = page.version
        if not page.proceed:
            return found
        if limit and len(answer.body) > PAGE_BYTES:
            limit = max(1, limit * PAGE_BYTES // len(answer.body))
        query["continue"] = page.proceed
    raise ApiError(f"the list of {decode.kind} has no end", reason="Malformed", request=f"GET {path}")
