"""kubectl, unmodified, against the API server."""

import asyncio
import contextlib
import json
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.local.apiserver import ApiServer
from muster.local.home import write_kubeconfig
from tests.local.apiserver.harness import WIDGET_SCHEMA, Api, definition

POD = """
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {app: web}}
spec:
  containers:
  - {name: main, image: "busybox:1", command: [sleep, "1"], env: [{name: A, value: b}]}
"""


CONFIG = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\ndata: {a: '1'}\n"


class Kubectl:
    """Runs kubectl with its own configuration and caches."""

    def __init__(self, home: Path, server: str) -> None:
        self.home = home
        write_kubeconfig(home / "config", url=server, token="")
        self.environment = {**os.environ, "HOME": str(home), "KUBECONFIG": str(home / "config")}

    @contextlib.asynccontextmanager
    async def started(self, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
        process = await asyncio.create_subprocess_exec(
            "kubectl",
            *arguments,
            env=self.environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            yield process
        finally:
            if process.returncode is None:
                process.kill()
            await process.communicate()

    async def run(self, *arguments: str, text: str = "") -> tuple[int, str, str]:
        async with asyncio.timeout(20), self.started(*arguments) as process:
            out, err = await process.communicate(text.encode())
        assert process.returncode is not None
        return process.returncode, out.decode(), err.decode()

    async def __call__(self, line: str, text: str = "") -> str:
        """Run a command line that must succeed; returns its output."""
        code, out, err = await self.run(*line.split(" "), text=text)
        assert code == 0, f"kubectl {line}\n{out}\n{err}"
        return out.strip()

    async def fails(self, line: str, text: str = "") -> str:
        """Run a command line that must fail; returns its error output."""
        code, out, err = await self.run(*line.split(" "), text=text)
        assert code != 0, f"kubectl {line} succeeded\n{out}"
        return err.strip()


@pytest.fixture
async def kubectl(base: str, tmp_path: Path) -> Kubectl:
    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not on PATH")
    return Kubectl(tmp_path, base)


async def test_create_and_get(kubectl: Kubectl) -> None:
    assert await kubectl("create -f -", POD) == "pod/p created"
    assert await kubectl("run quick --image=busybox:1") == "pod/quick created"
    assert 'pods "p" already exists' in await kubectl.fails("create -f -", POD)
    table = (await kubectl("get pods")).splitlines()
    assert table[0].split() == ["NAME", "AGE"]
    assert table[1].split()[0] == "p"
    assert yaml.safe_load(await kubectl("get pod p -o yaml"))["spec"]["containers"][0]["name"] == "main"
    assert await kubectl("get pod p -o jsonpath={.spec.containers[0].image}") == "busybox:1"
    assert await kubectl("get pods -l app=web -o name") == "pod/p"
    assert await kubectl("get pods --field-selector=metadata.name=p,status.phase=Pending -o name") == "pod/p"
    assert await kubectl("get all -o name") == "pod/p\npod/quick"
    assert "NotFound" in await kubectl.fails("get pod none")
    assert "the server doesn't have a resource type" in await kubectl.fails("get nonsense")
    assert await kubectl("get --raw /readyz") == "ok"


async def test_apply_creates_changes_and_checks_fields(kubectl: Kubectl) -> None:
    assert await kubectl("apply -f -", POD) == "pod/p created"
    assert await kubectl("apply -f -", POD) == "pod/p unchanged"
    assert await kubectl("apply -f -", CONFIG) == "configmap/c created"
    changed = CONFIG.replace("'1'", "'2'")
    code, out, _ = await kubectl.run("diff", "-f", "-", text=changed)
    assert code == 1
    assert '+  a: "2"' in out
    assert await kubectl("apply -f -", changed) == "configmap/c configured"
    assert await kubectl("get cm c -o jsonpath={.data.a}") == "2"
    assert "ConfigMap" in await kubectl("apply -f - --dry-run=server -o yaml", CONFIG.replace("name: c", "name: d"))
    assert "NotFound" in await kubectl.fails("get cm d")
    misspelt = POD.replace("name: p", "name: q") + "  comand: x\n"
    assert 'unknown field "spec.comand"' in await kubectl.fails("apply -f -", misspelt)


async def test_patch_label_and_replace(kubectl: Kubectl) -> None:
    await kubectl("create -f -", POD)
    await kubectl("create -f -", CONFIG)
    assert await kubectl('patch cm c --type=merge -p {"data":{"b":"2"}}') == "configmap/c patched"
    await kubectl('patch pod p --subresource=status --type=merge -p {"status":{"phase":"Running"}}')
    assert await kubectl("get pod p -o jsonpath={.status.phase}") == "Running"
    assert await kubectl("label pod p tier=front") == "pod/p labeled"
    assert await kubectl("annotate pod p note=hello") == "pod/p annotated"
    held = json.loads(await kubectl("get cm c -o json"))
    await kubectl('patch cm c --type=merge -p {"data":{"c":"3"}}')
    assert "the object has been modified" in await kubectl.fails("replace -f -", json.dumps(held))
    del held["metadata"]["resourceVersion"]
    assert await kubectl("replace -f -", json.dumps(held)) == "configmap/c replaced"


async def test_what_is_made_from_flags_is_piped_to_apply(kubectl: Kubectl) -> None:
    assert "kubectl apply -f -" in await kubectl.fails("create configmap c --from-literal=a=1")
    made = await kubectl("create configmap c --from-literal=a=1 --dry-run=client -o yaml")
    assert await kubectl("apply -f -", made) == "configmap/c created"


async def test_wait_watch_and_delete(kubectl: Kubectl, api: Api) -> None:
    await kubectl("create -f -", POD)
    ready = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    pod = "/api/v1/namespaces/default/pods/p"
    async with kubectl.started("wait", "pod/p", "--for=condition=Ready", "--timeout=10s") as waiting:
        await asyncio.sleep(0.3)
        await api.patch(f"{pod}/status", ready)
        out, _ = await waiting.communicate()
        assert out == b"pod/p condition met\n"
    assert await kubectl("wait pod/p --for=jsonpath={.status.phase}=Running --timeout=5s") == "pod/p condition met"
    async with kubectl.started("get", "pods", "-w") as watching:
        assert watching.stdout is not None
        header = await watching.stdout.readline()
        first = await watching.stdout.readline()
        await api.patch(f"{pod}/status", {"status": {"phase": "Failed"}})
        second = await watching.stdout.readline()
        assert header.split()[0] == b"NAME"
        assert (first.split()[0], second.split()[0]) == (b"p", b"p")
    async with kubectl.started("wait", "pod/p", "--for=delete", "--timeout=10s") as waiting:
        await asyncio.sleep(0.3)
        assert await kubectl("delete pod p") == 'pod "p" deleted'
        await waiting.communicate()
        assert waiting.returncode == 0
    await kubectl("create -f -", CONFIG)
    await kubectl("create -f -", CONFIG.replace("name: c", "name: d, labels: {a: b}"))
    assert await kubectl("delete cm -l a=b") == 'configmap "d" deleted'
    assert await kubectl("delete cm --all") == 'configmap "c" deleted'
    await kubectl("create -f -", "apiVersion: v1\nkind: Namespace\nmetadata: {name: team}")
    await kubectl("create -n team -f -", CONFIG)
    assert await kubectl("delete ns team") == 'namespace "team" deleted'
    await kubectl("create -f -", POD)
    assert "force deleted" in await kubectl("delete pod p --grace-period=0 --force")
    owner = await api.create("/api/v1/namespaces/default/configmaps", {"metadata": {"name": "owner"}})
    reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"]}
    child = {"metadata": {"name": "child", "ownerReferences": [reference]}}
    await api.create("/api/v1/namespaces/default/configmaps", child)
    await kubectl("delete cm owner --cascade=orphan")
    assert await kubectl("get cm -o name") == "configmap/child"


async def test_custom_resources(kubectl: Kubectl) -> None:
    crd = yaml.safe_dump(definition(WIDGET_SCHEMA))
    assert (
        await kubectl("apply -f -", crd) == "customresourcedefinition.apiextensions.k8s.io/widgets.example.com created"
    )
    assert "condition met" in await kubectl("wait crd/widgets.example.com --for=condition=Established --timeout=5s")
    widget = "apiVersion: example.com/v1\nkind: Widget\nmetadata: {name: w}\nspec: {size: 2}\n"
    assert await kubectl("apply -f -", widget) == "widget.example.com/w created"
    assert await kubectl("apply -f -", widget) == "widget.example.com/w unchanged"
    assert (await kubectl("get wd")).split()[:3] == ["NAME", "AGE", "w"]
    assert "widget.example.com/w" in await kubectl("get toys -o name")
    assert "Colour:  red" in await kubectl("describe widget w")
    await kubectl('patch widget w --subresource=status --type=merge -p {"status":{"phase":"Busy"}}')
    assert await kubectl("get widget w -o jsonpath={.status.phase}") == "Busy"
    assert "widgets.example.com" in await kubectl("delete crd widgets.example.com")


async def test_describe_events_and_logs(kubectl: Kubectl, api: Api, server: ApiServer) -> None:
    await kubectl("create -f -", POD)
    uid = await kubectl("get pod p -o jsonpath={.metadata.uid}")
    event: dict[str, Any] = {
        "metadata": {"name": "p.1"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default", "uid": uid},
        "reason": "Scheduled",
        "message": "Successfully assigned default/p to laptop",
        "type": "Normal",
        "lastTimestamp": "2026-09-21T14:13:20Z",
    }
    await api.create("/api/v1/namespaces/default/events", event)
    described = await kubectl("describe pod p")
    assert "Image:      busybox:1" in described
    assert "Successfully assigned default/p to laptop" in described
    assert "Scheduled" in await kubectl("events")
    assert "v1.34" in await kubectl("version")
    await api.create("/api/v1/nodes", {"metadata": {"name": "laptop"}})
    assert (await kubectl("get nodes")).split()[2] == "laptop"
    assert "laptop" in await kubectl("describe node laptop")

    server.pods.logs = EchoLogs()
    assert await kubectl("logs p") == "main tail=None previous=False follow=False"
    assert await kubectl("logs p -c main --tail=5 -f") == "main tail=5 previous=False follow=True"
    assert await kubectl("logs p --previous") == "main tail=None previous=True follow=False"


class EchoLogs:
    """Container output that consists of the options of the request."""

    async def read(self, namespace: str, pod: str, container: str, **options: Any) -> AsyncIterator[bytes]:
        yield f"{container} tail={options['tail']} previous={options['previous']} follow={options['follow']}\n".encode()
