"""Controllers of other projects beside Muster, each by a release: JobSet, KubeRay and Kubeflow Trainer.

``python -m tests.real.controllers`` builds them, once: half an hour on busy cores. An environment variable names
another binary. They run as an administrator and without admission webhooks, and their kinds are served without a
schema: an object carries every default that a webhook would write.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from muster.api.errors import NotFound
from tests.fakes.definitions import definition
from tests.real.binaries import Module
from tests.real.ground import Ground
from tests.real.namespace import eventually
from tests.real.plane.programs import Program

MODULE: Final = Module(
    Path(__file__).parent,
    {
        "jobset": "sigs.k8s.io/jobset",
        "ray-operator": "github.com/ray-project/kuberay/ray-operator",
        "trainer": "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager",
        "kube-state-metrics": "k8s.io/kube-state-metrics/v2",
    },
    "controllers of other projects (half an hour on busy cores; once)",
)
DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

Request = Callable[..., Awaitable[Any]]
"""Sends a request to the API server as an administrator: method, path, body."""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind that a controller needs."""

    api: str
    plural: str
    kind: str
    scope: str = "Namespaced"

    @property
    def path(self) -> str:
        """The objects of all namespaces."""
        return f"/apis/{self.api}/{self.plural}"


@dataclass(frozen=True, slots=True)
class Controller:
    """A program of ``MODULE``, or the one that the variable names."""

    program: str
    variable: str
    kinds: tuple[Kind, ...]
    options: Callable[[Path, str], Sequence[str]]
    """Its arguments, for a folder of its own and the kubeconfig."""
    environment: Callable[[Path], Mapping[str, str]] = lambda _folder: {}

    def why_not(self) -> str:
        """Why the controller does not run here; empty if it does."""
        name = os.environ.get(self.variable, "")
        if not name and not self._built.is_file():
            return f"{self.variable} names no binary of {self.program}, and python -m tests.real.controllers built none"
        return "" if not name or os.access(name, os.X_OK) else f"{self.variable}={name} is not a program"

    @property
    def path(self) -> str:
        """Its binary."""
        return os.environ.get(self.variable) or str(self._built)

    @property
    def _built(self) -> Path:
        return MODULE.cache() / self.program

    @asynccontextmanager
    async def running(self, ground: Ground, request: Request) -> AsyncIterator[None]:
        """The controller runs, and its kinds are served. The test is skipped where it is not built."""
        if reason := self.why_not():
            pytest.skip(reason)
        folder = Path(ground.folder) / self.program
        folder.mkdir(exist_ok=True)
        for kind in self.kinds:
            await define(request, kind)
        command = [self.path, *self.options(folder, ground.admin)]
        process = Program(self.program, command, folder / "log", environment=self.environment(folder))
        try:
            yield
        finally:
            process.end()


async def define(request: Request, kind: Kind) -> None:
    """The kind is served; musterd finds it within a minute."""
    try:
        await request("GET", kind.path)
    except NotFound:
        approved = {"api-approved.kubernetes.io": "https://github.com/kubernetes-sigs"}
        body = definition(kind.api, kind.plural, kind.kind, scope=kind.scope, annotations=approved)
        await request("POST", DEFINITIONS, body)

        async def served() -> bool:
            try:
                await request("GET", kind.path)
            except NotFound:
                return False
            return True

        await eventually(served)
