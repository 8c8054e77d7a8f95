"""`muster diagnose` on the ground by a reader with stated rights, beside a musterd of the chart that has been there."""

import asyncio
import json
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from tests.deploy.chart.release import Release
from tests.real.ground import ROOT
from tests.real.namespace import Object, eventually, run
from tests.real.site import Site
from tests.real.situations.test_readers import account, read
from tests.real.situations.test_refusals import counted

READER = ("--verb=get,list,watch", "--resource=pods")
CALLER = ("--verb=get,create", "--resource=pods/portforward")
EVENTS = ("--verb=list", "--resource=events")
EXPERIMENTS = ("--verb=get,list,watch", "--resource=experiments.muster.dev")
LONGEST = 10.0
"""Seconds in which the command answers, beside the start of its process."""


async def entitled(here: Site, name: str, *rights: Sequence[str], role: str = "") -> None:
    """Create a service account with these rights alone, and those of a role of the cluster."""
    await here.kubectl("create", "serviceaccount", name)
    holder = f"--serviceaccount={here.namespace}:{name}"
    for number, right in enumerate(rights):
        await here.kubectl("create", "role", f"{name}-{number}", *right)
        await here.kubectl("create", "rolebinding", f"{name}-{number}", f"--role={name}-{number}", holder)
    if role:
        await here.kubectl("create", "rolebinding", name, f"--clusterrole={role}", holder)


async def diagnosed(here: Site, config: str, *words: str) -> tuple[int, dict[str, Any]]:
    """Exit status and answer of the command, by a person with that kubeconfig."""
    options = ("-o", "json", "--kubeconfig", config, "--namespace", here.namespace)
    status, output, errors = await run([sys.executable, "-m", "muster.cli", "diagnose", *words, *options], cwd=ROOT)
    assert output, errors
    found: dict[str, Any] = json.loads(output)
    return status, found


AGE = re.compile(r"\S+ ago")
"""When a controller gave its reason: it goes on between two looks."""


def sentences(document: dict[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """What a document has of a gang: its message, and cause and sentence of each finding."""
    found = [(each["cause"], AGE.sub("ago", each["sentence"])) for each in document["findings"]]
    return AGE.sub("ago", document["message"]), found


def alike(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    """Whether a musterd has found the same.

    Phase and reason are left out, and its message may go on: it knows what was before, and how long that has lasted.
    """
    (message, found), (longer, known) = sentences(ours), sentences(theirs)
    return found == known and longer.startswith(message)


class Gang(Protocol):
    """What is made, and what is found in it: the phase, and cause (empty: none) and ranks of the first finding."""

    @property
    def run(self) -> str: ...
    @property
    def phase(self) -> str: ...
    @property
    def cause(self) -> str: ...
    @property
    def ranks(self) -> tuple[int, ...]: ...
    @property
    def beside(self) -> tuple[Object, ...]: ...
    def objects(self, folder: Path) -> list[Object]: ...


@dataclass
class Beside:
    """A musterd's page and the command, side by side. ``slowest`` is the longest time of the command, in seconds."""

    here: Site
    url: str
    token: str
    config: str
    slowest: float = 0.0

    async def agree(self, gang: Gang) -> dict[str, Any]:
        """What the command finds, once the pods are steady and the page of musterd has the same."""
        page = f"{self.url}/experiments/{self.here.namespace}/{gang.run}.json"
        last: list[object] = []

        async def same() -> dict[str, Any]:
            began = time.monotonic()
            _, found = await diagnosed(self.here, self.config, gang.run)
            self.slowest = max(self.slowest, time.monotonic() - began)
            status, text = await asyncio.to_thread(read, page, self.token)
            first = [(each["cause"], tuple(each["ranks"])) for each in found["findings"][:1]]
            theirs = json.loads(text) if status == 200 else {}
            last[:] = found["phase"], first, sentences(found), text if status != 200 else sentences(theirs)
            expected = gang.phase, [(gang.cause, gang.ranks)] if gang.cause else []
            return found if (found["phase"], first) == expected and theirs and alike(found, theirs) else {}

        try:
            agreed: dict[str, Any] = await eventually(same, 60)
        except AssertionError as error:
            raise AssertionError(f"{gang.run}: {last}") from error
        return agreed

    @property
    def own_token(self) -> str:
        """The token of the reader."""
        return str(json.loads(Path(self.config).read_text(encoding="utf-8"))["users"][0]["user"]["token"])

    async def of_page(self, gang: Gang, token: str) -> dict[str, str]:
        """What is not known where the record of musterd is asked for with that token."""
        file = Path(self.config).with_suffix(".token")
        file.write_text(token, encoding="utf-8")
        options = ("--page", self.url, "--token-file", str(file))
        _, found = await diagnosed(self.here, self.config, gang.run, *options)
        unknown: dict[str, str] = found["unknown"]
        return unknown


async def both_find(here: Site, ours: Release, kinds: str, gangs: Sequence[Gang], *rights: Sequence[str]) -> None:
    """The command and a musterd of the chart, which watches these kinds beside the cluster, find the same."""
    await ours.install("--set", f"watch.kinds={kinds}")
    async with ours.musterd() as musterd:
        await musterd.until_leading()
        await find_the_same(here, musterd.url, gangs, *rights)
        assert musterd.refused() == []


async def find_the_same(
    here: Site, url: str, gangs: Sequence[Gang], *rights: Sequence[str]
) -> dict[str, dict[str, Any]]:
    """The command, with the rights of a reader and these, and the musterd of that page find the same: what, by run."""
    await entitled(here, "caller", READER, CALLER, *rights)
    token, config = await account(here, "seer"), await here.account("caller")
    seer = f"--serviceaccount={here.namespace}:seer"
    await here.kubectl("create", "rolebinding", "seer", "--clusterrole=cluster-admin", seer)
    began = time.monotonic()
    await run([sys.executable, "-m", "muster.cli", "diagnose", "--help"], cwd=ROOT)
    start = time.monotonic() - began
    if first := [each for gang in gangs for each in gang.beside]:
        await here.apply(*first)
    for quota in (each for each in first if each["kind"] == "ResourceQuota"):
        await counted(here, quota["metadata"]["name"])
    await here.apply(*(each for gang in gangs for each in gang.objects(Path(here.ground.folder))))
    beside = Beside(here, url, token, config)
    found, wrong = dict[str, dict[str, Any]](), []
    for gang in gangs:
        try:
            found[gang.run] = await beside.agree(gang)
            assert found[gang.run]["unknown"].keys() <= {"operator"}, gang.run
        except AssertionError as error:
            wrong.append(str(error))
    assert not wrong, "\n".join(wrong)
    assert beside.slowest - start < LONGEST
    assert await beside.of_page(gangs[0], token) == {}
    assert "may not get experiments.muster.dev" in (await beside.of_page(gangs[0], beside.own_token))["page"]
    here.row.says(f"the same causes, ranks and sentences; the slowest answer took {beside.slowest - start:.1f} s")
    return found
