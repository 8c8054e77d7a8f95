"""Lists of objects that one tenant has filled to their limit are read in pages that can be held."""

from collections.abc import Mapping

import msgspec
import pytest

from muster.api.errors import Unreachable
from muster.kube.listwatch import sink_feed
from muster.kube.listwatch.sink_feed import list_all
from muster.kube.transport import TOO_LARGE_ANSWER, Answer
from muster.watchers.metadata import DECODER

PATH = "/api/v1/services"


class Server:
    """A server with ``count`` objects of ``size`` bytes; an answer beyond ``most`` bytes is not read."""

    def __init__(self, count: int, size: int, most: int = 10**9) -> None:
        self.count, self.size, self.most = count, size, most
        self.asked: list[tuple[int, int]] = []
        """First object and limit of every request."""

    async def request(self, _method: str, _path: str, *, params: Mapping[str, str], **_: object) -> Answer:
        start, limit = int(params.get("continue", "0")), int(params.get("limit", "0"))
        self.asked.append((start, limit))
        end = min(self.count, start + (limit or self.count))
        if (end - start) * self.size > self.most:
            raise Unreachable("an answer of more than it takes", reason=TOO_LARGE_ANSWER)
        items = [
            {
                "metadata": {
                    "uid": f"u{n}",
                    "name": f"s{n}",
                    "resourceVersion": "1",
                    "annotations": {"a": "x" * self.size},
                }
            }
            for n in range(start, end)
        ]
        metadata = {"resourceVersion": "9", "continue": str(end) if end < self.count else ""}
        return Answer(200, msgspec.json.encode({"metadata": metadata, "items": items}))

    def lines(self, *_: object, **__: object) -> object:
        raise AssertionError("a list is no watch")


async def test_pages_shrink_until_they_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sink_feed, "PAGE_BYTES", 10_000)
    server = Server(200, 1000)
    found = await list_all(server, PATH, {}, DECODER, page_size=100)  # type: ignore[arg-type]
    assert len(found.objects) == 200
    assert server.asked[:2] == [(0, 100), (100, 9)]
    assert all(limit <= 9 for _, limit in server.asked[1:])


async def test_a_list_whose_first_page_is_too_large_is_read_in_smaller_pages() -> None:
    server = Server(200, 1000, most=60_000)
    found = await list_all(server, PATH, {}, DECODER, page_size=500)  # type: ignore[arg-type]
    assert len(found.objects) == 200
    assert server.asked == [(0, 500), (0, 50), (50, 50), (100, 50), (150, 50)]


async def test_one_object_that_is_too_large_by_itself_is_an_error() -> None:
    server = Server(3, 1000, most=900)
    with pytest.raises(Unreachable, match="more than it takes"):
        await list_all(server, PATH, {}, DECODER, page_size=500)  # type: ignore[arg-type]
    assert [limit for _, limit in server.asked] == [500, 50, 5, 1]


async def test_usual_pages_keep_their_size() -> None:
    server = Server(1200, 100)
    await list_all(server, PATH, {}, DECODER, page_size=500)  # type: ignore[arg-type]
    assert server.asked == [(0, 500), (500, 500), (1000, 500)]
