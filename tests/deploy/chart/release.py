"""A release of the chart on a real API server, and a musterd that runs as its Deployment says."""

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from deploy.helm.copies import CHART
from muster.cli.processes.stack import free_port
from tests.real.ground import ROOT
from tests.real.namespace import Object, Refused
from tests.real.plane import kubeconfig
from tests.real.plane.programs import Program
from tests.real.site import Site
from tests.real.stopping import Musterd

NAME = "charted"
"""Of all objects of the release, so that they stand beside those of deploy/musterd.yaml."""


class Release:
    """One release, in a namespace of its own."""

    def __init__(self, here: Site, helm: Path, namespace: str) -> None:
        self.here = here
        self.namespace = namespace
        self._helm = helm
        home = Path(here.ground.folder) / "helm"
        self._environment = {**os.environ, **{f"HELM_{each}_HOME": str(home) for each in ("CACHE", "CONFIG", "DATA")}}

    async def helm(self, verb: str, *options: str) -> str:
        """Run helm as an administrator. Raises Refused with its error text."""
        common = ("--kubeconfig", self.here.ground.admin, "--namespace", self.namespace)
        command = [str(self._helm), verb, NAME, *common, *options]
        done = await asyncio.to_thread(
            subprocess.run, command, env=self._environment, capture_output=True, text=True, check=False
        )
        if done.returncode != 0:
            raise Refused(done.stderr.strip())
        return done.stdout

    async def install(self, *options: str, chart: Path = CHART, replicas: int = 0) -> str:
        """Install or upgrade. Without replicas no pod is scheduled: musterd runs beside the cluster."""
        names = f"fullnameOverride={NAME},replicas={replicas}"
        return await self.helm("upgrade", str(chart), "--install", "--set", names, "--take-ownership", *options)

    async def get(self, kind: str, name: str = NAME) -> Object | None:
        """An object of the release's namespace, or of none, as it is on the server."""
        try:
            text = await self.here.kubectl("get", kind, name, "--output=json", "--namespace", self.namespace)
        except Refused as error:
            if "NotFound" in str(error) or "not found" in str(error):
                return None
            raise
        found: Object = json.loads(text)
        return found

    async def token(self, account: str) -> str:
        """A token of a service account of the release's namespace."""
        return (await self.here.kubectl("create", "token", account, "--namespace", self.namespace)).strip()

    @contextlib.asynccontextmanager
    async def musterd(self) -> AsyncIterator["Running"]:
        """Run musterd as the Deployment on the server says: its flags, its service account; on free ports of here."""
        deployment = await self.get("deployment")
        assert deployment is not None
        spec = deployment["spec"]["template"]["spec"]
        folder = Path(self.here.ground.folder)
        user = {"token": await self.token(spec["serviceAccountName"])}
        config = kubeconfig.changed(self.here.ground.musterd, folder / f"{self.namespace}.kubeconfig", user=user)
        pages, probes = free_port(), free_port()
        # what only a pod has: an address of its own, and its namespace beside its token
        here = ("--http-port", str(pages), "--health-port", str(probes), "--lease-namespace", self.namespace)
        flags = [*spec["containers"][0]["args"], *here, "--kubeconfig", str(config), "--log-format", "json"]
        program = Program(
            self.namespace,
            [sys.executable, "-m", "muster.daemon.main", *flags],
            folder / f"{self.namespace}.log",
            environment={"PYTHONPATH": str(ROOT), "KUBECONFIG": ""},
            death=signal.SIGTERM,
        )
        try:
            yield Running(program, f"http://127.0.0.1:{pages}", f"http://127.0.0.1:{probes}")
        finally:
            await asyncio.to_thread(program.end)


class Running(Musterd):
    """A musterd of a release."""

    def refused(self) -> list[Any]:
        """Its log lines that speak of a right that is missing: `User "..." cannot get resource "..."`. A namespace that
        is being terminated, of other tests, answers 403 too, and so does the admission plugin
        OwnerReferencesPermissionEnforcement for some seconds after a CRD was made, whose kind it does not know yet."""
        lines = self.program.log.read_text(encoding="utf-8").splitlines()
        found = [line for line in lines if "forbidden" in line.lower() and " cannot " in line]
        return [line for line in found if "cannot find RESTMapping" not in line]


@contextlib.asynccontextmanager
async def release(here: Site, helm: Path) -> AsyncIterator[Release]:
    """A namespace for a release. What the release leaves in the cluster is uninstalled with it."""
    made = Release(here, helm, f"{here.namespace}-sys")
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": made.namespace, "labels": labels}}
    await here.request("POST", "/api/v1/namespaces", body)
    try:
        yield made
    finally:
        with contextlib.suppress(Refused):
            await made.helm("uninstall", "--ignore-not-found")
        await here.request("DELETE", f"/api/v1/namespaces/{made.namespace}")
