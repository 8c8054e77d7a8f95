"""Reads a whole list page by page: consistent, bounded, and started again when a continue token expires."""

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

import msgspec

from muster.api.errors import ApiError, Expired
from muster.kube.listwatch.events import Decoder
from muster.kube.listwatch.sink import Tracked
from muster.kube.transport import Transport

T = TypeVar("T", bound=Tracked)

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
    """Everything at ``path``.

    Each page may take ``timeout`` seconds (None: the transport's default); ``on_page`` is called after each.

    No resourceVersion is sent: the API server then answers with a quorum read and not from a cache that may be minutes
    old (with ``resourceVersion=0`` a daemon that starts could see pods as they were before its own last writes). After
    a continue token expired (410) the list starts again, the second time without pages.
    """
    for limit in (page_size, page_size, 0):
        try:
            return await _pages(transport, path, params, decode, limit, timeout, on_page)
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
    on_page: Callable[[], None],
) -> ObjectList[T]:
    query = dict(params)
    if limit:
        query["limit"] = str(limit)
    found: ObjectList[T] = ObjectList({}, 0, [])
    for _ in range(MOST_PAGES):
        answer = await transport.request("GET", path, params=query, timeout=timeout)
        on_page()
        page = decode.page(answer.body)
        for obj in page.objects:
            found.objects[obj.uid] = obj
        found.problems += page.problems
        found.version = page.version
        if not page.proceed:
            return found
        query["continue"] = page.proceed
    raise ApiError(f"the list of {decode.kind} has no end", reason="Malformed", request=f"GET {path}")
