"""Runs of other controllers on the local API server, as `muster diagnose` finds them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from muster.kinds.registry import WATCHED_KINDS
from tests.client.localserver import LocalServer, running, waiting

LONG_AGO: Final = "2026-01-01T00:00:00Z"
INDEX: Final = "batch.kubernetes.io/job-completion-index"


@contextmanager
def beside(server: LocalServer, made: Any) -> Iterator[Any]:
    """Something that is opened and closed on the server's thread."""

    def on_it(work: Awaitable[Any]) -> Any:
        async def wait() -> Any:
            return await work

        return asyncio.run_coroutine_threadsafe(wait(), server.loop).result(10)

    opened = on_it(made.__aenter__())
    try:
        yield opened
    finally:
        on_it(made.__aexit__(None, None, None))


def pod(server: LocalServer, name: str, labels: dict[str, str], *, waits: bool = False) -> None:
    """A pod that runs, or that waits for its image."""
    status = waiting("ImagePullBackOff", "manifest unknown") if waits else running()
    conditions = [{"type": "PodScheduled", "status": "True"}, {"type": "Ready", "status": str(not waits)}]
    known = status | {"podIP": "127.0.0.1", "conditions": conditions}
    server.pod(name, labels, meta={"creationTimestamp": LONG_AGO}, **known)


def jobset(
    server: LocalServer,
    at: str | int = "",
    *,
    size: int = 3,
    waits: tuple[int, ...] = (),
    operator: str = "jax",
    **metadata: Any,
) -> str:
    """A JobSet of workers with a coordinator ``at`` that address or port; some of them wait for their image."""
    template = {"spec": {"completions": size, "parallelism": size, "completionMode": "Indexed"}}
    spec = {"replicatedJobs": [{"name": "workers", "replicas": 1, "template": template}]}
    port = str(at).rpartition(":")[2]
    notes = {"muster.dev/operator": operator, "muster.dev/coordinator-port": port} if port else {}
    kind = WATCHED_KINDS["jobsets"].subject
    made = server.put(
        kind.api_version, kind.plural, "default",
        {"kind": "JobSet", "metadata": {"name": "train", "annotations": notes, **metadata}, "spec": spec},
    )  # fmt: skip
    prefix = "jobset.sigs.k8s.io/"
    labels = {f"{prefix}jobset-name": "train", f"{prefix}jobset-uid": made["metadata"]["uid"]}
    labels |= {f"{prefix}replicatedjob-name": "workers", f"{prefix}job-index": "0"}
    for rank in range(size):
        pod(server, f"train-workers-0-{rank}", {**labels, INDEX: str(rank)}, waits=rank in waits)
    return "jobset/train"
