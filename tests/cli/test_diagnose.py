"""`muster diagnose`: who is missing from a run of another controller, where no musterd is."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Sequence
from typing import Any

import pytest

from muster.cli.main import muster
from muster.cli.options import for_kubectl
from muster.client.stacks import reading
from muster.kube.execution import Executed
from tests.cli.conftest import Call, stderr_of
from tests.cli.diagnosed import LONG_AGO, beside, jobset, pod
from tests.client.localserver import LocalServer, labels, running
from tests.client.stacks.test_reading import answers
from tests.fakes.coordinator import FakeCoordinator
from tests.fakes.listener import stop_listening
from tests.fakes.tcpstore import FakeStore

pytestmark = pytest.mark.usefixtures("diagnosable")


def test_pods_without_a_label_of_musters_are_one_run_by_a_selector(call: Call, server: LocalServer) -> None:
    with beside(server, FakeStore()) as store:
        for rank in range(3):
            pod(server, f"train-{rank}", {"app": "train"})
        pod(server, "other-0", {"app": "other"}, waits=True)
        store.join(0, 2)
        words = ("pods", "-l", "app=train", "--operator", "pytorch", "--ranks", "3")
        shown = call("diagnose", *words, "--coordinator", store.address.rpartition(":")[2], "-o", "json")
    assert shown.exit_code == 6, shown.stdout + shown.stderr
    found = json.loads(shown.stdout)
    assert (found["arrived"], found["size"], found["missingRanks"][0]["rank"]) == (2, 3, 1)
    (finding,) = found["findings"]
    assert (finding["ranks"], finding["cause"]) == ([1], "NotArrived")
    assert "kubectl logs train-1 -n default" in finding["nextStep"]
    assert found["trouble"] is True
    assert found["unknown"] == {}


@pytest.mark.parametrize("stated", [("operator", "port"), ("port",), ()])
def test_the_coordinator_of_an_object_without_annotations_is_asked_where_its_operator_is_stated(
    call: Call, server: LocalServer, stated: tuple[str, ...]
) -> None:
    with beside(server, FakeCoordinator(3)) as coordinator:
        server.do(lambda: coordinator.arrive(0, 1))
        words = {"operator": ("--operator", "jax"), "port": ("--coordinator", coordinator.port)}
        shown = call("diagnose", jobset(server), *(word for each in stated for word in words[each]))
    assert coordinator.forbidden_calls == []
    whole = "operator" in stated
    assert ("roll call: 2/3 arrived; missing 2" in shown.stdout) == whole
    assert ("not known: its operator is none: no coordinator was asked who has arrived" in shown.stdout) != whole


def test_the_operator_that_is_stated_goes_before_that_of_the_annotations(call: Call, server: LocalServer) -> None:
    with beside(server, FakeStore()) as store:
        store.join(0, 1)
        port = store.address.rpartition(":")[2]
        shown = call("diagnose", jobset(server, 1), "--operator", "pytorch", "--coordinator", port)
    assert "roll call: 2/3 arrived; missing 2" in shown.stdout


@pytest.mark.parametrize(
    ("words", "why"),
    [
        ("pods", "write KIND/NAME, or `pods` with -l SELECTOR"),
        ("jobset/train -l app=x", "write KIND/NAME, or `pods` with -l SELECTOR"),
        ("jobset/train --ranks 8", "--ranks goes with `pods` and job/NAME"),
        ("jobset/train --page http://localhost:1 --operator jax", "leave out --operator"),
        ("jobset/train --page http://localhost:1 --watch", "--page shows what musterd knows of KIND/NAME now"),
        ("jobset/train --page http://localhost:1 --for 5s", "--page shows what musterd knows of KIND/NAME now"),
        ("jobset/train --token-file token", "--token-file goes with --page"),
        ("jobset/train --watch --for 60s", "leave out --for and --stacks"),
        ("jobset/train --watch --stacks", "leave out --for and --stacks"),
        ("mine --operator jax", "Muster runs mine: leave out --operator"),
        ("mine --watch", "Muster runs mine, and watches it for hangs: `muster get mine --watch` shows what it finds"),
        ("mine --for 60s", "Muster runs mine, and watches it for hangs: `muster explain mine` shows what it finds"),
    ],
)
def test_words_that_do_not_fit_are_refused_with_what_to_do(
    call: Call, server: LocalServer, words: str, why: str
) -> None:
    assert why in " ".join(stderr_of(call, 2, "diagnose", *words.split()).split())


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """The pods and containers that were asked for their stacks, and answered."""
    found: set[tuple[str, str]] = set()

    async def execute(_sockets: Any, _namespace: str, name: str, container: str, command: Sequence[str]) -> Executed:
        found.add((name, container))
        return Executed(0, answers(name, command).encode(), b"")

    monkeypatch.setattr(reading, "execute", execute)
    return found


@pytest.mark.parametrize("form", [(), ("-o", "json")])
def test_stacks_are_read_in_the_pods_that_a_selector_chooses(
    call: Call, server: LocalServer, asked: set[tuple[str, str]], form: tuple[str, ...]
) -> None:
    for rank in range(2):
        pod(server, f"train-{rank}", {"app": "train"})
    pod(server, "train-2", {"app": "train"}, waits=True)
    pod(server, "other-0", {"app": "other"})
    shown = call("diagnose", "pods", "-l", "app=train", "--ranks", "4", "--stacks", *form)
    assert asked == {("train-0", "main"), ("train-1", "main")}
    if form:
        found = json.loads(shown.stdout)["stacks"]
        assert [each["ranks"] for each in found["groups"]] == [[0, 1]]
        assert [each["ranks"] for each in found["unread"]] == [[2], [3]]
        return
    assert "\n\n2 ranks (0-1) in all_reduce at train.py:88\n" in shown.stdout
    assert "rank 2: container does not run (ImagePullBackOff" in shown.stdout
    assert "rank 3: it has no pod now" in shown.stdout


def test_a_port_that_refuses_at_the_loopback_address_is_not_reported_of_the_coordinator(
    call: Call, server: LocalServer
) -> None:
    with beside(server, FakeStore()) as store:
        address = store.address  # its port was free a moment ago
    shown = call("diagnose", jobset(server, address))
    assert shown.exit_code == 0, shown.stdout + shown.stderr
    assert "not known: nothing listens at the pod's loopback address" in shown.stdout + shown.stderr
    assert "CoordinatorNotServing" not in shown.stdout
    assert "have arrived" not in shown.stdout


class Flood:
    """A server that answers everything with bytes without end, until its peer has had enough."""

    sent = 0

    async def __aenter__(self) -> Flood:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await stop_listening(self._server)

    async def _serve(self, _reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(bytes(65_536))
                await writer.drain()
                self.sent += 65_536
        writer.close()


def test_a_coordinator_that_floods_is_cut_off_and_said_to_be_none(call: Call, server: LocalServer) -> None:
    with beside(server, Flood()) as flood:
        shown = call("diagnose", jobset(server, flood.port))
    assert shown.exit_code == 6, shown.stdout + shown.stderr
    assert "(WrongProtocol)" in shown.stdout
    assert flood.sent < 64 << 20


def test_kubectl_completes_verbs_and_names_no_files(call: Call) -> None:
    assert list(for_kubectl(muster, ["diag"])) == ["diagnose\tShow who is missing from a run, and why.", ":4"]
    assert list(for_kubectl(muster, []))[-1] == ":4"
    assert "--ranks" in "".join(for_kubectl(muster, ["diagnose", "--r"]))


def test_a_run_that_is_not_there_is_an_error(call: Call, server: LocalServer) -> None:
    assert "JobSet default/gone does not exist" in stderr_of(call, 1, "diagnose", "jobset/gone")
    none = stderr_of(call, 1, "diagnose", "pods", "-l", "app=none")
    assert "no pod of namespace default has the labels app=none" in none


def test_an_experiment_without_a_daemon_is_told_from_its_record_and_its_pods(
    call: Call, server: LocalServer, mine: str
) -> None:
    unprocessed = "musterd has not processed it yet: is the daemon running on this cluster?"
    assert unprocessed in stderr_of(call, 1, "diagnose", mine)
    server.status(mine, phase="Assembling", phaseAt=LONG_AGO, epoch=0, size=2, observedGeneration=1, message="waits")
    server.pod("mine-0", labels(mine, 0), **running())
    server.lease("2026-01-01T00:00:00.000000Z")
    shown = call("diagnose", mine)
    assert shown.exit_code == 6, shown.stdout + shown.stderr
    assert "default/mine  Assembling" in shown.stdout
    assert "no musterd with the Lease" in shown.stderr
    assert "the record is musterd's" in shown.stderr


def test_stacks_of_an_experiment_are_read_beside_its_record(
    call: Call, server: LocalServer, mine: str, asked: set[tuple[str, str]]
) -> None:
    server.status(mine, phase="Running", phaseAt=LONG_AGO, epoch=0, size=2, observedGeneration=1, message="runs")
    for rank in range(2):
        server.pod(f"mine-{rank}", labels(mine, rank), **running())
    shown = call("diagnose", mine, "--stacks")
    assert asked == {("mine-0", "main"), ("mine-1", "main")}
    assert "\n\n2 ranks (0-1) in all_reduce at train.py:88\n" in shown.stdout
