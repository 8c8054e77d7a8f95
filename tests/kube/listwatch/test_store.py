"""The store reports each difference once, and is keyed by uid; large lists are read in pages that can be held."""

import sys
import tracemalloc
from collections.abc import Mapping

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.errors import Unreachable
from muster.kube.listwatch import sink_feed
from muster.kube.listwatch.sink_feed import Tombstones, list_all
from muster.kube.listwatch.store import Store
from muster.kube.transport import TOO_LARGE_ANSWER, Answer
from muster.watchers.metadata import DECODER, ServiceRecord


def service(uid: str, version: int, name: str = "same-name") -> ServiceRecord:
    return ServiceRecord(uid, name, "team", "exp-1", version)


def listed(**versions: int) -> dict[str, ServiceRecord]:
    return {uid: service(uid, version) for uid, version in versions.items()}


def recording() -> tuple[Store[ServiceRecord], list[tuple[int, int]], list[int]]:
    changes: list[tuple[int, int]] = []
    versions: list[int] = []

    def changed(old: ServiceRecord | None, new: ServiceRecord | None) -> None:
        changes.append((old.resource_version if old else 0, new.resource_version if new else 0))

    return Store(changed, versions.append), changes, versions


def test_an_object_recreated_under_its_name_is_another_object() -> None:
    store, changes, _ = recording()
    store.put(service("old", 1), 1)
    store.put(service("new", 2), 2)
    store.drop("old", service("old", 3), 3)
    assert [obj.uid for obj in store] == ["new"]
    assert changes == [(0, 1), (0, 2), (1, 3), (3, 0)]


def test_the_last_state_of_an_object_is_reported_before_it_is_gone() -> None:
    store, changes, _ = recording()
    store.put(service("a", 1), 1)
    store.drop("a", service("a", 3), 3)
    store.put(service("b", 4), 4)
    store.drop("b", service("b", 4), 5)
    assert changes == [(0, 1), (1, 3), (3, 0), (0, 4), (4, 0)]


def test_a_store_is_not_synced_before_the_first_list() -> None:
    store, _, versions = recording()
    store.put(service("a", 1), 1)
    assert not store.synced
    store.replace({}, 5)
    assert store.synced
    assert not store.objects
    assert versions == [1, 5]


def test_a_list_that_is_newer_and_has_an_older_object_is_of_a_restored_backup() -> None:
    backs: list[int] = []
    changes: list[tuple[int, int]] = []

    def changed(old: ServiceRecord | None, new: ServiceRecord | None) -> None:
        changes.append((old.resource_version if old else 0, new.resource_version if new else 0))

    written = {"c": 4}
    store: Store[ServiceRecord] = Store(
        changed,
        on_back=backs.append,
        undone=lambda obj, version: obj.resource_version < written.get(obj.uid, 0) <= version,
    )
    store.replace(listed(a=3, b=2), 3)
    changes.clear()
    store.replace(listed(a=2, b=2), 1_000)
    assert (backs, changes) == ([1_000], [(3, 2), (2, 2)]), "each object is taken anew"
    store.replace(listed(c=2), 1_001)
    assert backs == [1_000, 1_001], "our write of version 4 is not in it"
    store.replace(listed(c=2), 3)
    assert backs == [1_000, 1_001, 0], "a version that is older itself says nothing of other caches"
    store.replace(listed(c=2), 3)
    assert backs == [1_000, 1_001, 0], "a list from before our write is no backup"


def test_a_known_resource_version_is_not_reported_again() -> None:
    store, changes, versions = recording()
    store.replace(listed(a=3), 5)
    store.put(service("a", 3), 6)
    store.put(service("a", 2), 6)
    store.drop("a", service("a", 2), 6)
    store.drop("b", service("b", 9), 9)
    store.replace(listed(a=3), 9)
    store.reached(4)
    assert changes == [(0, 3)]
    assert versions == [5, 6, 9, 9]
    assert store.get("a") is not None


def test_a_list_is_copied_once() -> None:
    objects = {uid: service(uid, 1) for uid in map(str, range(20_000))}
    store: Store[ServiceRecord] = Store()
    tracemalloc.start()
    try:
        store.replace(objects, 1)
        held, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak - held < 0.75 * sys.getsizeof(store.objects)


def test_an_object_has_one_record_and_one_string_for_its_uid() -> None:
    """A second uid would take 85 bytes and a second record of a pod 0.5 KB, for each of a million pods."""
    reported: list[ServiceRecord | None] = []
    store: Store[ServiceRecord] = Store(lambda _old, new: reported.append(new))

    def seen(version: int) -> ServiceRecord:
        return service("UID".lower(), version)  # a string of its own, as a decoder makes it

    def check(*versions: int) -> None:
        (key,) = store.objects
        assert store.objects[key] is reported[-1]
        assert {id(key)} == {id(each.uid) for each in reported if each is not None}
        assert [each and each.resource_version for each in reported] == [*versions]

    store.replace({(first := seen(1)).uid: first}, 1)
    store.put(seen(2), 2)
    check(1, 2)
    store.replace({(same := seen(2)).uid: same}, 3)
    check(1, 2)
    store.replace({(newer := seen(4)).uid: newer}, 4)
    store.put(seen(5), 5)
    check(1, 2, 4, 5)
    store.replace({(older := seen(3)).uid: older}, 3)
    check(1, 2, 4, 5, 3)


uids = st.sampled_from("abcd")
steps = st.lists(
    st.one_of(
        st.tuples(st.just("put"), uids), st.tuples(st.just("drop"), uids), st.tuples(st.just("replace"), st.sets(uids))
    ),
    max_size=30,
)


@given(steps)
def test_the_reported_differences_add_up_to_the_store(script: list[tuple[str, str | set[str]]]) -> None:
    mirror: dict[str, ServiceRecord] = {}

    def changed(old: ServiceRecord | None, new: ServiceRecord | None) -> None:
        if old is not None:
            assert mirror.pop(old.uid) == old
        if new is not None:
            assert new.uid not in mirror
            mirror[new.uid] = new

    store: Store[ServiceRecord] = Store(changed)
    for version, (call, argument) in enumerate(script, start=1):
        if isinstance(argument, set):
            store.replace(listed(**dict.fromkeys(sorted(argument), version)), version)
        elif call == "put":
            store.put(service(argument, version), version)
        else:
            store.drop(argument, service(argument, version), version)
        assert mirror == store.objects


def test_the_number_of_tombstones_is_bounded_and_forgetting_one_is_safe() -> None:
    tombstones = Tombstones(most=3)
    for version in range(10, 15):
        tombstones.add(f"u{version}", version)
    assert len(tombstones) == 3
    assert tombstones.late("u10", 11)  # forgotten, but nothing that old is news
    assert tombstones.late("u14", 13)
    assert not tombstones.late("new", 12)
    tombstones.clear(20)
    assert len(tombstones) == 0
    assert tombstones.late("anyone", 20)
    assert not tombstones.late("u14", 21)


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
        same = {"resourceVersion": "1", "annotations": {"a": "x" * self.size}}
        items = [{"metadata": {"uid": f"u{n}", "name": f"s{n}", **same}} for n in range(start, end)]
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
