"""Stop and start what the tests need: the servers, musterd and its rights.

Only for tests with the mark `alone`.
"""

import asyncio
import contextlib
import json
import os
import signal
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator
from pathlib import Path

from muster.api.errors import ApiError
from muster.cli.processes.stack import free_port
from tests.real.ground import SYSTEM, Ground, daemon_program
from tests.real.namespace import MERGE, Object, eventually
from tests.real.plane.programs import Program
from tests.real.rights import Right, account
from tests.real.site import Site

ROLE = "/apis/rbac.authorization.k8s.io/v1/clusterroles/musterd"
BINDING = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/musterd"
REVOKED = "revoked.jsonl"
"""In the folder of the run: the times at which rights were missing on purpose."""


@contextlib.asynccontextmanager
async def held(ground: Ground, name: str, number: signal.Signals = signal.SIGTERM) -> AsyncIterator[None]:
    """A program of the ground is down; it is started again afterwards."""
    run = Path(ground.run)
    hold, expected, pid = run / f"{name}.hold", run / f"{name}.expected", int((run / f"{name}.pid").read_text())
    hold.touch()
    os.kill(pid, number)
    try:

        async def seen() -> bool:
            return expected.exists()

        await eventually(seen)
        yield
    finally:
        hold.unlink()

    async def back() -> bool:
        return (run / f"{name}.pid").read_text() != str(pid)

    await eventually(back)


@contextlib.asynccontextmanager
async def api_server_down(here: Site) -> AsyncIterator[None]:
    """The API server is killed (asked to end it waits a minute for its watchers), and ready again afterwards.

    Controller manager and scheduler begin again with it: their watches would wait out back-offs of up to a minute.
    """
    began = time.time()

    async def ready() -> bool:
        with contextlib.suppress(ApiError):
            await here.client.transport.request("GET", "/readyz", timeout=5)
            return True
        return False

    async with contextlib.AsyncExitStack() as others:
        for name in ("kube-controller-manager", "kube-scheduler"):
            await others.enter_async_context(held(here.ground, name, signal.SIGKILL))
        async with held(here.ground, "kube-apiserver", signal.SIGKILL):
            yield
        await eventually(ready, 90)
    _note_revoked(here.ground, began)  # a server that has just begun refuses what its authorizer does not know yet


class Musterd:
    """A musterd of a test's own; the one of the ground is down meanwhile."""

    def __init__(self, program: Program, url: str, probes: str = "") -> None:
        """``probes`` is where the kubelet asks, if that is another port."""
        self.program, self.url, self.probes = program, url, probes or url

    async def says(self, path: str) -> tuple[int, str]:
        """HTTP status and text of an answer; 0 where there is none."""
        return await asyncio.to_thread(ask, self.url + path)

    async def until_leading(self) -> None:
        """Wait until it leads by its own account."""

        async def leads() -> bool:
            self.program.check()
            status, text = await asyncio.to_thread(ask, f"{self.probes}/readyz")
            return status == 200 and "leading" in text

        await eventually(leads)


@contextlib.asynccontextmanager
async def musterds(here: Site, *configs: Path | None, leading: bool = True) -> AsyncIterator[list[Musterd]]:
    """As many daemons as there are kubeconfigs (None: the ground's); returns when the first one is `leading`."""
    async with held(here.ground, "musterd"):
        daemons: list[Musterd] = []
        try:
            for number, config in enumerate(configs):
                url, text = f"http://127.0.0.1:{free_port()}", "" if config is None else str(config)
                program = daemon_program(f"{here.namespace}-{number}", here.ground, url, config=text)
                daemons.append(Musterd(program, url))
                if number == 0 and leading:
                    await daemons[0].until_leading()
            yield daemons
        finally:
            for daemon in daemons:
                await asyncio.to_thread(daemon.program.end)


def ask(url: str) -> tuple[int, str]:
    """GET, as a kubelet's probe does."""
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except (urllib.error.URLError, OSError):
        return 0, ""


@contextlib.asynccontextmanager
async def without_rights(here: Site, resource: str = "", *verbs: str) -> AsyncIterator[None]:
    """musterd may not do that to the resource (verbs: all if none is named); without a resource, nothing at all.

    The authorizer learns of it by a watch: the block begins when it refuses, and ends when it allows.
    """
    role, binding = await here.request("GET", ROLE), await here.request("GET", BINDING)
    lost = _lost(role, resource, verbs)

    async def denied() -> bool:
        return not any([await _may(here, *right) for right in lost])

    async def allowed() -> bool:
        return all([await _may(here, *right) for right in lost])

    began = time.time()
    try:
        if resource:
            await here.request(
                "PATCH", ROLE, {"rules": [_without(each, resource, verbs) for each in role["rules"]]}, MERGE
            )
        else:
            await here.request("DELETE", BINDING)
        await eventually(denied)
        yield
    finally:
        if resource:
            await here.request("PATCH", ROLE, {"rules": role["rules"]}, MERGE)
        else:
            body = {**binding, "metadata": {"name": binding["metadata"]["name"]}}
            await here.request("POST", BINDING.rpartition("/")[0], body)
        await eventually(allowed)
        _note_revoked(here.ground, began)


def _note_revoked(ground: Ground, began: float) -> None:
    with (Path(ground.folder) / REVOKED).open("a") as file:
        file.write(json.dumps([began, time.time()]) + "\n")


def _lost(role: Object, resource: str, verbs: tuple[str, ...]) -> list[Right]:
    """The rights of the role that go with those verbs of the resource; without a resource, one of all."""
    rules = [rule for rule in role["rules"] if not resource or rule["resources"] == [resource]]
    named = [
        (group, each, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for each in rule["resources"]
        for verb in rule["verbs"]
        if not verbs or verb in verbs
    ]
    assert named, f"musterd has no right on {resource}"
    return named if resource else named[:1]


async def _may(here: Site, group: str, resource: str, verb: str) -> bool:
    """Whether the API server's authorizer lets musterd do that, in the namespace of the test."""
    name, _, subresource = resource.partition("/")
    what = {"group": group, "resource": name, "subresource": subresource, "verb": verb, "namespace": here.namespace}
    spec = {"user": account(SYSTEM, "musterd"), "resourceAttributes": what}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    answer = await here.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body)
    return bool(answer["status"]["allowed"])


def _without(rule: Object, resource: str, verbs: tuple[str, ...]) -> Object:
    if rule["resources"] != [resource]:
        return rule
    return {**rule, "verbs": [verb for verb in rule["verbs"] if verbs and verb not in verbs] or ["nothing"]}
