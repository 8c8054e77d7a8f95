"""The client without await."""

import inspect
from collections.abc import Generator
from pathlib import Path
from typing import cast

from muster.client import Client, ExperimentChange
from muster.client.blocking import BlockingClient
from tests.client.localserver import MANIFEST, LocalServer, labels, running


def test_the_blocking_client_submits_watches_and_waits(server: LocalServer, tmp_path: Path) -> None:
    file = tmp_path / "train.yaml"
    file.write_text(MANIFEST)
    with BlockingClient(server.kubeconfig) as client:
        seen = client.submit(file, name="mine")
        server.pod("pod-0", labels("mine", 0), prints=("hello",), **running())
        assert [(line.rank, line.text) for line in client.logs("mine")] == [(0, "hello")]
        changes = client.watch("mine")
        assert next(changes).experiment.uid == seen.uid
        server.status("mine", phase="Succeeded")
        assert next(changes).experiment.outcome == "Succeeded"
        cast("Generator[ExperimentChange, None, None]", changes).close()
        assert client.wait("mine").finished
        assert [found.name for found in client.list()] == ["mine"]


def test_the_blocking_client_has_every_method() -> None:
    public = {name for name, _ in inspect.getmembers(Client, inspect.isfunction) if not name.startswith("_")}
    assert public <= set(dir(BlockingClient))
