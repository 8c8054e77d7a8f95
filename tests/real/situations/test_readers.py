"""Who may read musterd's pages and metrics, by the API server's own reviews of tokens and rights."""

import asyncio
import contextlib
import io
import json
import tarfile
import urllib.error
import urllib.request
from collections.abc import AsyncIterator

import pytest

from muster.cli.processes.stack import free_port
from tests.real.ground import ROOT, daemon_program
from tests.real.namespace import eventually
from tests.real.site import Site

pytestmark = pytest.mark.timeout(400)
PATHS = ("/metrics", "/experiments.json", "/experiments/{namespace}/run.json")


def fetched(url: str, token: str = "") -> tuple[int, bytes]:
    """GET with a bearer token; 0 where there is no answer."""
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"} if token else {})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except (urllib.error.URLError, OSError):
        return 0, b""


def read(url: str, token: str = "") -> tuple[int, str]:
    status, said = fetched(url, token)
    return status, said.decode()


def opened(archive: bytes) -> dict[str, str]:
    """The files of a bundle."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
        return {each.name.partition("/")[2]: tar.extractfile(each).read().decode() for each in tar}  # type: ignore[union-attr]


async def account(here: Site, name: str) -> str:
    """A token of a new service account."""
    await here.kubectl("create", "serviceaccount", name)
    return (await here.kubectl("create", "token", name)).strip()


@contextlib.asynccontextmanager
async def asking_for_tokens(here: Site) -> AsyncIterator[str]:
    """A standby musterd that asks each reader for a token; its URL."""
    url = f"http://127.0.0.1:{free_port()}"
    standby = daemon_program(f"{here.namespace}-readers", here.ground, url, "--http-authentication", "always")
    try:
        await eventually(lambda: asyncio.to_thread(read, f"{url}/readyz"), holds=lambda found: found[0] == 200)
        yield url
    finally:
        await asyncio.to_thread(standby.end)


@pytest.mark.core
async def test_pages_and_metrics_are_for_readers_with_the_rights(here: Site) -> None:
    await here.kubectl("apply", "-f", str(ROOT / "deploy/readers.yaml"))
    stranger, viewer, scraper = [await account(here, name) for name in ("stranger", "viewer", "scraper")]
    of_viewer, of_scraper = (f"--serviceaccount={here.namespace}:{name}" for name in ("viewer", "scraper"))
    binding = f"{here.namespace}-scraper"
    await here.kubectl("create", "rolebinding", "viewer", "--clusterrole=muster-experiments-reader", of_viewer)
    await here.kubectl("create", "clusterrolebinding", binding, "--clusterrole=muster-metrics-reader", of_scraper)
    await here.running()
    async with contextlib.AsyncExitStack() as stack:
        stack.push_async_callback(here.kubectl, "delete", "clusterrolebinding", binding)
        url = await stack.enter_async_context(asking_for_tokens(here))

        async def answers(token: str = "") -> list[int]:
            paths = [path.format(namespace=here.namespace) for path in PATHS]
            return [(await asyncio.to_thread(read, url + path, token))[0] for path in paths]

        here.row.happens("readers without a token, without rights, with the right to read one namespace, to scrape")
        assert await answers() == [401, 401, 401]
        assert await answers("x.y.z") == [401, 401, 401]
        assert await answers(stranger) == [403, 200, 403]
        assert await answers(viewer) == [403, 200, 200]
        assert await answers(scraper) == [200, 200, 403]
        _, of_stranger = await asyncio.to_thread(read, f"{url}/experiments.json", stranger)
        _, seen = await asyncio.to_thread(read, f"{url}/experiments.json", viewer)
        assert '"total":0' in of_stranger
        assert f'"namespace":"{here.namespace}"' in seen
        here.row.says((await asyncio.to_thread(read, f"{url}/metrics", viewer))[1].strip())


async def test_the_page_gives_a_bundle_of_what_its_reader_may_read(here: Site) -> None:
    """The user of musterd may read more, and no logs; what is in a bundle is by the reader's own rights."""
    await here.kubectl("apply", "-f", str(ROOT / "deploy/readers.yaml"))
    stranger, some, viewer = [await account(here, name) for name in ("alien", "some", "whole")]
    for role, name in (("muster-experiments-reader", "some"), ("view", "whole")):
        of = f"--serviceaccount={here.namespace}:{name}"
        await here.kubectl("create", "rolebinding", name, f"--clusterrole={role}", of)
    await here.running()
    async with asking_for_tokens(here) as url:
        archive = f"{url}/experiments/{here.namespace}/run.tar.gz"
        here.row.happens("a bundle by the page: without a token, without rights, with some, with those of view")
        assert (await asyncio.to_thread(fetched, archive))[0] == 401
        assert (await asyncio.to_thread(fetched, archive, stranger))[0] == 403
        status, packed = await asyncio.to_thread(fetched, archive, some)
        assert status == 200, packed
        few = opened(packed)
        refused = json.loads(few["unreadable.json"])
        assert any("pods is forbidden" in each and ":some" in each for each in refused), refused
        assert json.loads(few["pods.json"]) == []
        status, packed = await asyncio.to_thread(fetched, archive, viewer)
        assert status == 200, packed
        every = opened(packed)
        assert json.loads(every["unreadable.json"]) == []
        assert json.loads(every["pods.json"])
        assert f"{here.namespace}/run" in every["explain.txt"]
        here.row.says(f"{len(packed):,} bytes with {len(every)} files; not for {refused[0].partition(': ')[2]}")
