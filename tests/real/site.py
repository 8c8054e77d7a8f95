"""What one test uses: a namespace of its own, experiments in it, and the `muster` command of a person."""

import asyncio
import contextlib
import re
import sys
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from muster.api.errors import ApiError
from muster.api.names import API_VERSION, KIND
from muster.client import Client, Snapshot
from muster.kube.resources import core
from tests.real.ground import ROOT, STAND_IN, TOLERATIONS, Ground
from tests.real.namespace import MERGE, SLOW, Namespace, Object, Refused, eventually, run
from tests.real.plane import kubeconfig
from tests.real.rows import Row
from tests.real.screen import Screen, screen

PROCESSES = {"muster.dev/local": "true"}
"""Selects the node whose pods are real processes."""


class Site(Namespace):
    """A namespace, the experiments that a person has in it, and the screen on which that person watches them."""

    command, image, cpus = "*: run 600", "registry.example/train:1", 0.1
    """What members run without more words: pretended members until they are deleted."""
    on: Mapping[str, str] = STAND_IN

    def __init__(self, ground: Ground, client: Client, screen: Screen, namespace: str, row: Row) -> None:
        super().__init__(ground, client, namespace)
        self.screen = screen
        self.row = row

    def experiment(
        self,
        name: str,
        command: str = "",
        *,
        members: int = 2,
        operator: str = "jobset",
        on: Mapping[str, str] | None = None,
        cpus: float | None = None,
        metadata: Object | None = None,
        **spec: Any,
    ) -> Object:
        """An Experiment of two members."""
        count = {"completions": members, "parallelisms": members} if operator == "jobset" else {"count": members}
        nodes = {"extraSelectors": dict(self.on if on is None else on), "extraTolerations": TOLERATIONS}
        resources = {"cpus": self.cpus if cpus is None else cpus, "ramRatio": 2, **nodes}
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            "metadata": {"name": name, "namespace": self.namespace, **(metadata or {})},
            "spec": {
                "operator": operator,
                "image": self.image,
                "command": command or self.command,
                "types": {"worker": {**count, "resources": resources}},
                **spec,
            },
        }

    async def submit(self, name: str, command: str = "", **more: Any) -> None:
        body = self.experiment(name, command, **more)
        await self.request("POST", f"/apis/{API_VERSION}/namespaces/{self.namespace}/experiments", body)

    async def running(self, name: str = "run", command: str = "", *, seconds: float = SLOW, **more: Any) -> Snapshot:
        """Create an Experiment, and see that it runs."""
        await self.submit(name, command, **more)
        return await self.phase(name, "Running", seconds)

    async def change(self, name: str, **spec: Any) -> None:
        path = f"/apis/{API_VERSION}/namespaces/{self.namespace}/experiments/{name}"
        await self.request("PATCH", path, {"spec": spec}, MERGE)

    async def until(self, name: str, holds: Callable[[Snapshot], bool], seconds: float = SLOW) -> Snapshot:
        """The experiment as soon as something is true of it."""
        found, seen = await self._first(name, holds, seconds)
        if found is None:
            state = "never seen" if seen is None else f"{seen.phase} {seen.reason} {seen.message!r}"
            raise AssertionError(f"{name} after {seconds:g} s: {state}")
        return found

    async def phase(self, name: str, phase: str, seconds: float = SLOW) -> Snapshot:
        """The experiment once it is in a phase, and once a person who watches sees it."""
        found = await self.until(name, lambda seen: seen.phase == phase, seconds)
        await self.screen.shows(name, "", seconds)
        return found

    async def never(self, name: str, holds: Callable[[Snapshot], bool], seconds: float) -> None:
        """See the experiment, and nothing of the kind true of it, for as long as that."""
        found, seen = await self._first(name, holds, seconds)
        assert found is None, f"{name}: {sentence_of(found)}"
        assert seen is not None, f"{name} was not seen in {seconds:g} s"

    async def _first(
        self, name: str, holds: Callable[[Snapshot], bool], seconds: float
    ) -> tuple[Snapshot | None, Snapshot | None]:
        """The experiment as soon as something is true of it, None if not within that time; and as it was seen last."""
        seen: Snapshot | None = None
        watching = self.client.watch(name, namespace=self.namespace)
        try:
            async with asyncio.timeout(seconds) as limit, contextlib.aclosing(watching) as changes:
                async for change in changes:
                    seen = change.experiment
                    if holds(seen):
                        return seen, seen
        except TimeoutError:
            if not limit.expired():
                raise
            return None, seen
        raise AssertionError(f"the watch of {name} has ended")

    async def muster(self, *arguments: str, config: str = "") -> str:
        """The `muster` command, as an administrator or with another kubeconfig; its output."""
        options = ("--kubeconfig", config or self.ground.admin, "--namespace", self.namespace)
        command = [sys.executable, "-m", "muster.cli", *arguments, *options]
        status, output, errors = await run(command, cwd=ROOT)
        if status != 0:
            raise Refused(errors.strip() or output.strip())
        return output

    async def account(self, name: str) -> str:
        """A kubeconfig of a service account in the test's namespace."""
        token = (await self.kubectl("create", "token", name)).strip()
        config = Path(self.ground.folder) / f"{self.namespace}-{name}.kubeconfig"
        return str(kubeconfig.changed(self.ground.admin, config, user={"token": token}))

    async def says(self, name: str, pattern: str, seconds: float = SLOW) -> str:
        """Wait for a sentence (phase, reason, message) that matches, and see it in `muster get`; it goes into the row.

        The row's time is that of the status, without the start of the command that shows it.
        """

        async def written() -> None:
            await self.until(name, lambda seen: bool(re.search(pattern, sentence_of(seen))), seconds)
            self.row.says("")

        timing = asyncio.create_task(written(), name="row's time")
        try:
            sentence = await self.screen.shows(name, pattern, seconds)
            await timing
        finally:
            timing.cancel()
            await asyncio.gather(timing, return_exceptions=True)
        self.row.said = sentence
        return sentence

    async def says_in_the_end(self, name: str, pattern: str, cause: str, seconds: float = SLOW) -> None:
        """Wait for a sentence, and find its cause in `muster explain`: for the time after the API server was away,
        when a watch that was open may not show what has passed."""
        seen = await self.until(name, lambda seen: bool(re.search(pattern, sentence_of(seen))), seconds)
        self.row.says(sentence_of(seen))
        explained = await self.muster("explain", name)
        assert re.search(cause, explained), f"`muster explain` does not say {cause!r}:\n{explained}"

    async def shows(self, name: str, pattern: str, seconds: float = SLOW) -> None:
        """Wait for what `muster get NAME` prints: of other kinds, and of what the open table shows once only."""
        await eventually(
            lambda: self.muster("get", name),
            seconds,
            holds=lambda found: re.search(pattern, " ".join(found.split())) is not None,
        )

    async def is_stuck(self, name: str, reason: str, pattern: str = "", seconds: float = SLOW) -> Snapshot:
        """Wait for the condition Stuck with that reason; `muster get` shows it, and the sentence (see `says`)."""

        def stuck(seen: Snapshot) -> bool:
            found = seen.condition("Stuck")
            return found is not None and seen.holds("Stuck") and found.reason == reason

        seen = await self.until(name, stuck, seconds)
        sentence = await self.says(name, pattern or rf"\b{reason}\b", seconds)
        shown = await self.muster("get", name)
        assert f"stuck ({reason})" in shown, f"`muster get {name}` does not show that it is stuck:\n{shown}"
        self.row.said = f"{sentence}; stuck ({reason})"
        return seen


S = TypeVar("S", bound=Site)


def sentence_of(seen: Snapshot) -> str:
    """Phase, reason and message of a status."""
    return " ".join(word for word in (seen.phase, seen.reason, seen.message) if word)


async def _greet(here: Site) -> None:
    """Returns when the screen shows what happens: on a busy machine the command takes seconds to begin."""
    path = f"/apis/{API_VERSION}/namespaces/{here.namespace}/experiments"
    await here.request("POST", path, here.experiment("hello", suspend=True))
    await here.screen.shows("hello", "", 120)
    await here.request("DELETE", f"{path}/hello")
    await eventually(lambda: here.get(f"{path}/hello"), holds=lambda found: found is None)


@contextlib.asynccontextmanager
async def site(
    ground: Ground, namespace: str, labels: Mapping[str, str], make: Callable[[Client, Screen], S]
) -> AsyncIterator[S]:
    """A site on a new namespace, which is deleted with all that is in it; its screen shows what happens there."""
    async with Client(Path(ground.admin)) as client, screen(ground, namespace) as opened:
        made = make(client, opened)
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": dict(labels)}}
        await made.request("POST", "/api/v1/namespaces", body)
        try:
            account = core(namespace, "serviceaccounts", "default")
            await eventually(lambda: made.get(account), 120)  # the controller manager may just have lost its server
            await _greet(made)
            yield made
        finally:
            with contextlib.suppress(ApiError):
                await made.request("DELETE", f"/api/v1/namespaces/{namespace}")
