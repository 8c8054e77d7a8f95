"""The local API server with the kind Experiment, in a thread of its own, so that blocking code can be tested too.

It has no node and no daemon: tests write pods, statuses and logs in their place.
"""

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from typing import Any

import msgspec

from muster.api.names import API_VERSION, LABEL_EXPERIMENT, LABEL_UID
from muster.api.schema.crd import custom_resource_definition
from muster.local.apiserver import ApiServer, WriteOptions
from muster.local.apiserver.errors import ApiError
from muster.local.apiserver.objects.write_preparation import DeleteOptions, merge_patch
from muster.local.cluster import run_kinds_crds
from muster.local.home import write_kubeconfig
from tests.fakes.listener import accepting

TOKEN = "for-tests"
FIRST_SECOND = 1_767_225_600
"""The start of 2026, when containers print their first line."""


class Logs:
    """Container output by pod name; a followed log ends when it is closed.

    Line n is of second n; ``@7 text`` is of second 7. ``most`` is the largest number of logs that were open at once.
    """

    def __init__(self) -> None:
        self.lines: dict[str, list[str]] = {}
        self.closed: set[str] = set()
        self.more = asyncio.Event()
        self.open = 0
        self.most = 0

    async def read(
        self,
        namespace: str,
        pod: str,
        container: str,
        *,
        previous: bool,
        follow: bool,
        tail: int | None,
        since: float | None,
        timestamps: bool,
    ) -> AsyncIterator[bytes]:
        name = f"{pod}/previous" if previous else pod
        if name not in self.lines:
            raise FileNotFoundError(name)
        sent = max(0, len(self.lines[name]) - tail) if tail is not None else 0
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            while True:
                for number, line in enumerate(self.lines[name][sent:], sent):
                    second, text = (line[1:].split(" ", 1)) if line.startswith("@") else (str(number), line)
                    if since is None or FIRST_SECOND + int(second) + 0.5 >= since:
                        stamp = f"2026-01-01T00:00:{int(second):02}.5Z " if timestamps else ""
                        yield f"{stamp}{text}\n".encode()
                sent = len(self.lines[name])
                if not follow or name in self.closed:
                    return
                self.more.clear()
                await self.more.wait()
        finally:
            self.open -= 1


class LocalServer:
    """The server, and what tests do to its objects. Every call is carried out on the server's own thread."""

    def __init__(self, kubeconfig: Path) -> None:
        self.kubeconfig = kubeconfig
        self.url = ""
        self.loop = asyncio.new_event_loop()
        self.logs: Logs
        self._api: ApiServer

    def do(self, work: Callable[[], Any]) -> Any:
        """Call something there, and return what it returns."""

        async def call() -> Any:
            return work()

        return asyncio.run_coroutine_threadsafe(call(), self.loop).result(10)

    def put(self, api_version: str, plural: str, namespace: str, obj: dict[str, Any], subresource: str = "") -> Any:
        """Create or change an object as another client would."""
        store = self._api.store

        def write() -> Any:
            kind, body = store.resource(api_version, plural), {"apiVersion": api_version, **deepcopy(obj)}
            known = any(each.name == obj["metadata"]["name"] for each in store.list(kind, namespace))
            if known and not subresource:
                return store.patch(
                    kind, namespace, obj["metadata"]["name"], lambda now: merge_patch(now, body)
                ).object()
            return store.ensure(kind, namespace, body, WriteOptions(subresource=subresource)).object()

        return self.do(write)

    def status(self, name: str, namespace: str = "default", **status: Any) -> Any:
        """Write an experiment's status, as the daemon does."""
        obj = {"apiVersion": API_VERSION, "kind": "Experiment", "metadata": {"name": name}, "status": status}
        return self.put(API_VERSION, "experiments", namespace, obj, "status")

    def pod(
        self, name: str, labels: dict[str, str], prints: Sequence[str] = (), meta: Any = None, **status: Any
    ) -> None:
        """A pod with its status, as daemon and kubelet leave it; the uid is that of the experiment in its labels.

        ``prints`` is all of its log, ``meta`` has more metadata.
        """
        uid = {LABEL_UID: self.uid(labels[LABEL_EXPERIMENT])} if LABEL_EXPERIMENT in labels else {}
        pod = {"kind": "Pod", "metadata": {"name": name, "labels": uid | labels, **(meta or {})}}
        main = [each["name"] for each in status.get("containerStatuses", ())] or ["main"]
        spec = {"containers": [{"name": main[0], "image": "none"}], "nodeName": "local"}
        self.put("v1", "pods", "default", {**pod, "spec": spec})
        self.put("v1", "pods", "default", {**pod, "status": status}, "status")
        if prints:
            self.print(name, *prints, ends=True)

    def uid(self, name: str, namespace: str = "default") -> str:
        """The uid of an experiment; one that no experiment has if there is none of that name."""
        store = self._api.store

        def read() -> str:
            try:
                found = store.get(store.resource(API_VERSION, "experiments"), namespace, name)
            except ApiError:
                return f"uid-of-{name}"
            return str(found.object()["metadata"]["uid"])

        return str(self.do(read))

    def drop(self, api_version: str, plural: str, namespace: str, name: str, grace: int | None = None) -> None:
        """Delete an object; with a grace of 0 a pod is gone at once."""
        store, options = self._api.store, DeleteOptions(grace=grace)
        self.do(lambda: store.delete(store.resource(api_version, plural), namespace, name, options))

    def print(self, pod: str, *lines: str, ends: bool = False) -> None:
        """Let a pod print lines; with ``ends`` they are its last."""

        def write() -> None:
            self.logs.lines.setdefault(pod, []).extend(lines)
            if ends:
                self.logs.closed.add(pod)
            self.logs.more.set()

        self.do(write)

    async def _start(self) -> None:
        self._api = ApiServer(None, token=TOKEN)
        self._api.pods.logs = self.logs = Logs()
        self.url = await self._api.start()
        kinds = self._api.store.resource("apiextensions.k8s.io/v1", "customresourcedefinitions")
        for crd in msgspec.json.decode(_crds()):
            self._api.store.create(kinds, "", crd)
        write_kubeconfig(self.kubeconfig, url=self.url, token=TOKEN)

    async def _stop(self) -> None:
        while accepting():  # noqa: ASYNC110 - of the loop itself
            await asyncio.sleep(0)
        await self._api.stop()

    def lease(self, renewed: str) -> None:
        """Write the Lease of a musterd that renewed it last at that time."""
        spec = {"holderIdentity": "musterd-0", "leaseDurationSeconds": 15, "renewTime": renewed}
        lease = {"kind": "Lease", "metadata": {"name": "musterd"}, "spec": spec}
        self.put("coordination.k8s.io/v1", "leases", "default", lease)

    def uninstall(self) -> None:
        """Remove the kind Experiment."""
        self.remove_kind("experiments.muster.dev")

    def remove_kind(self, crd: str) -> None:
        """Remove a CRD."""
        self.drop("apiextensions.k8s.io/v1", "customresourcedefinitions", "", crd)


@functools.cache
def _crds() -> bytes:
    """What a cluster with Muster serves. To make a schema of its models takes longer than all else of a start."""
    return msgspec.json.encode((custom_resource_definition(), *run_kinds_crds()))


@contextmanager
def local_server(folder: Path) -> Iterator[LocalServer]:
    """A running server whose kubeconfig lies in ``folder``."""
    server = LocalServer(folder / "kubeconfig")
    thread = threading.Thread(target=server.loop.run_forever, name="local-server")
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server._start(), server.loop).result(60)  # noqa: SLF001 - runs on its loop
        yield server
        asyncio.run_coroutine_threadsafe(server._stop(), server.loop).result(60)  # noqa: SLF001 - runs on its loop
    finally:
        asyncio.run_coroutine_threadsafe(_end_tasks(), server.loop).result(60)
        server.loop.call_soon_threadsafe(server.loop.stop)
        thread.join(60)
        server.loop.close()


async def _end_tasks() -> None:
    """End what still runs on the loop, and let what is closed end."""
    left = asyncio.all_tasks() - {asyncio.current_task()}
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
    for _ in range(10):
        await asyncio.sleep(0)


def labels(experiment: str, rank: int, epoch: int = 0, attempt: int = 0) -> dict[str, str]:
    """The labels of a member's pod."""
    known = {"experiment": experiment, "group": "worker", "job-index": 0, "pod-index": rank, "rank": rank}
    return {f"muster.dev/{key}": str(each) for key, each in {**known, "epoch": epoch, "attempt": attempt}.items()}


def running(process: int | None = None) -> dict[str, Any]:
    """The status of a pod whose container runs."""
    container = _container({"running": {"startedAt": "2026-01-01T00:00:00Z"}}, ready=True)
    if process is not None:
        container["containerID"] = f"process://{process}"
    conditions = [{"type": "Ready", "status": "True"}]
    return {"phase": "Running", "conditions": conditions, "containerStatuses": [container]}


def ended(code: int, message: str = "") -> dict[str, Any]:
    """The status of a pod whose container has ended, with what the kubelet took from its log."""
    terminated = {"exitCode": code, "reason": "Error" if code else "Completed", "message": message}
    return {"phase": "Failed" if code else "Succeeded", "containerStatuses": [_container({"terminated": terminated})]}


def waiting(reason: str, message: str) -> dict[str, Any]:
    """The status of a pod whose container cannot start."""
    state = {"waiting": {"reason": reason, "message": message}}
    return {"phase": "Pending", "containerStatuses": [_container(state)]}


def _container(state: dict[str, Any], *, ready: bool = False) -> dict[str, Any]:
    return {"name": "main", "image": "none", "imageID": "", "ready": ready, "restartCount": 0, "state": state}


MANIFEST = """
kind: AIchorManifest
apiVersion: 0.2.3
spec:
  operator: jax
  image: example.org/train:1
  command: python train.py
  timeout: 1h
  types:
    worker:
      count: 2
      resources:
        cpus: 1
        ramRatio: 2
"""
