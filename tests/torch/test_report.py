"""``muster.torch``: where a report goes, and under which key."""

import json
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from muster.reporting.reporter import Latest
from muster.torch.reporting import TORCH, NoStore, Place, TcpStore, place_of, tcp_store

LATEST = Latest(7, {"loss": 2.5}, 8, 100.0, 1.5)


class TCPStore:
    """The store's client as torch has it."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.written = threading.Semaphore(0)

    def set(self, key: str, value: str) -> None:
        self.values[key] = value
        self.written.release()


def prefixed(store: object) -> Any:
    return SimpleNamespace(underlying_store=SimpleNamespace(underlying_store=store))


def test_a_report_is_a_key_of_the_rank_below_all_prefixes() -> None:
    store = TCPStore()
    TcpStore(prefixed(store), Place(2, 0, 1), 4).write(LATEST)
    assert list(store.values) == ["muster/progress/2"]
    assert json.loads(store.values["muster/progress/2"]) == {
        "step": 7, "calls": 8, "at": 100.0, "longest": 1.5, "scalars": {"loss": 2.5},
    }  # fmt: skip


def test_a_pod_of_several_processes_has_a_key_of_each() -> None:
    store = TCPStore()
    for local in range(3):
        TcpStore(store, Place(2, local, 3), 12).write(LATEST)
    assert list(store.values) == ["muster/progress/2", "muster/progress/2.1", "muster/progress/2.2"]
    assert json.loads(store.values["muster/progress/2"])["processes"] == 3


def test_another_store_cannot_be_read_and_the_error_says_so() -> None:
    with pytest.raises(NoStore, match="is a FileStore, and only a TCPStore can be read"):
        TcpStore(prefixed(type("FileStore", (), {})()), Place(0, 0, 1), 1).write(LATEST)


@pytest.mark.parametrize(
    ("environ", "rank", "world", "place"),
    [
        ({"RANK": "3", "WORLD_SIZE": "4", "PET_NODE_RANK": "3", "PET_NNODES": "4"}, 3, 4, (3, 0, 1)),
        (
            {"PET_NODE_RANK": "1", "PET_NNODES": "2", "GROUP_RANK": "0", "LOCAL_RANK": "5", "LOCAL_WORLD_SIZE": "8"},
            5,
            16,
            (1, 5, 8),
        ),
        ({"GROUP_RANK": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "8"}, 8, 16, (1, 0, 8)),
        ({"PET_NODE_RANK": "1", "PET_NNODES": "2"}, 6, 8, (1, 2, 4)),
        ({}, 2, 3, (2, 0, 1)),
        ({"PET_NNODES": "1:4", "PET_NODE_RANK": ""}, 2, 3, (2, 0, 1)),
        ({"PET_NNODES": "0"}, 2, 3, (2, 0, 1)),
    ],
    ids=["one process a pod", "torchrun that orders pods", "torchrun alone", "spawn", "no pods", "elastic", "none"],
)
def test_the_place_of_a_process(environ: dict[str, str], rank: int, world: int, place: tuple[int, int, int]) -> None:
    assert place_of(environ, rank, world) == place


def test_without_a_process_group_there_is_no_channel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, TORCH, raising=False)
    assert tcp_store() is None
    monkeypatch.setitem(sys.modules, TORCH, SimpleNamespace(is_initialized=lambda: False))
    assert tcp_store() is None


def test_the_channel_of_a_process_group(monkeypatch: pytest.MonkeyPatch) -> None:
    store = TCPStore()
    module = SimpleNamespace(
        is_initialized=lambda: True, get_rank=lambda: 1, get_world_size=lambda: 400, _get_default_store=lambda: store
    )
    monkeypatch.setitem(sys.modules, TORCH, module)
    found = tcp_store()
    assert found is not None
    assert (found.client, found.next(0.0), found.quiet, found.prompt) == (store, 10.0, 4.0, False)
