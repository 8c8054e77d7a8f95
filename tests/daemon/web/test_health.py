"""The answers of /readyz, of whole daemons in virtual time."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial

import pytest
from structlog.testing import capture_logs

from muster.api.errors import ApiError, Unreachable, error_of
from muster.daemon.web.health import BLIND
from muster.daemon.web.pages import Pages
from muster.daemon.web.readers import Anyone, Refused
from tests.daemon.test_leader_daemon import LEASE, Musterd, pair, until, with_lease
from tests.daemon.virtual_daemon import RUN, as_test, experiment, scraped
from tests.fakes import watching
from tests.fakes.api import FakeApi
from tests.fakes.watching import Courier

USER = "system:serviceaccount:muster-system:musterd"


def forbidden(what: str) -> ApiError:
    return error_of(403, "Forbidden", f'{what} is forbidden: User "{USER}" cannot update resource "{what}"')


class Api(FakeApi):
    """A server that ends watches when ``ended`` is set to that second, and refuses to open them with ``closed``."""

    closed: ApiError | None = None
    closes = ""
    """Part of the paths of those watches."""

    @asynccontextmanager
    async def lines(
        self, path: str, *, params: Mapping[str, str], silence: float, courier: Courier | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        if self.closed is not None and self.closes in path:
            raise self.closed
        async with super().lines(path, params=params, silence=silence, courier=courier) as lines:
            yield self._until_closed(lines)

    async def _until_closed(self, lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        async for line in lines:
            if self.closed is not None:
                return
            yield line


virtually = partial(as_test, play=with_lease(Api))


def unready(one: Musterd) -> Mapping[str, str]:
    return one.daemon.health.unready()


@pytest.mark.parametrize(
    "error", [forbidden("experiments/status"), error_of(401, "Unauthorized", "Unauthorized")], ids=["403", "401"]
)
@virtually
async def test_a_leader_whose_writes_are_all_denied_is_not_ready(api: Api, error: ApiError) -> None:
    one = Musterd(api, "one")
    await until(lambda: one.leads)
    fault = api.fail("/status", error, times=1000)
    api.put(RUN, experiment())
    await until(lambda: unready(one) != {}, 12)
    assert unready(one) == {"requests to update experiments/status": error.message}
    assert one.leads
    fault.times = 0
    await until(lambda: unready(one) == {})


@virtually
async def test_a_watch_that_is_denied_makes_the_daemon_unready_at_once(api: Api) -> None:
    one = Musterd(api, "one")
    await until(lambda: one.leads)
    api.closed = forbidden("pods")
    await until(lambda: "watch pods" in unready(one), 700)
    assert "cannot update" in unready(one)["watch pods"]
    api.closed = None
    await until(lambda: unready(one) == {})


@virtually
async def test_a_watch_that_cannot_be_opened_makes_the_daemon_unready_after_a_while(api: Api) -> None:
    one = Musterd(api, "one", leader_elect=False)
    await until(lambda: one.daemon.informers.synced)
    reflector = one.daemon.informers.reflectors["pods"]
    api.closed = Unreachable("connection refused")
    await until(lambda: reflector.failing is not None, 700)
    assert unready(one) == {}
    took = await until(lambda: "watch pods" in unready(one))
    assert took == pytest.approx(BLIND, abs=1)
    assert unready(one)["watch pods"].endswith("connection refused")


@virtually
async def test_a_watch_that_stays_closed_is_logged_once_with_its_cause_and_its_end(api: Api) -> None:
    one = Musterd(api, "one", leader_elect=False)
    await until(lambda: one.daemon.informers.synced)
    with capture_logs() as logged:
        api.closes = "/experiments"
        for status, reason, message in (
            (410, "Expired", "too old resource version: 14041 (15000)"),
            (404, "NotFound", "the server could not find the requested resource"),
        ):
            api.closed = error_of(status, reason, message)
            await asyncio.sleep(1000)
        api.closed = None
        await asyncio.sleep(60)
    expired, missing, over = (each for each in logged if each.get("kind") == "Experiment")
    assert (expired["log_level"], expired["reason"]) == ("warning", "expired")
    assert "hint" not in expired
    assert missing["hint"].startswith("the CRD is not installed")
    assert (over["event"], over["log_level"]) == ("the watch is open again", "info")


@virtually
async def test_a_daemon_that_has_not_read_the_pods_shows_no_experiment_and_counts_none_as_lost(api: Api) -> None:
    one = Musterd(api, "one", leader_elect=False)
    api.put(RUN, experiment())
    await until(lambda: len(api.named("pods")) == 4)
    await one.stop()
    api.closed, api.closes = Unreachable("connection refused"), "/pods"
    two = Musterd(api, "two", leader_elect=False)
    await until(lambda: two.daemon.informers.reflectors["experiments"].feed.synced)
    pages = Pages(two.daemon, str, lambda: 0.0, complete=lambda: two.daemon.informers.synced)
    with pytest.raises(Refused, match="has not read all experiments and pods"):
        await pages.readable(Anyone())
    with pytest.raises(Refused, match="has not read all experiments and pods"):
        pages.find("team", "run")
    assert "muster_experiments{" not in scraped(two.daemon)
    api.closed = None
    await until(lambda: two.daemon.informers.synced)
    assert pages.find("team", "run").plan.name == "run"
    assert "muster_experiments{" in scraped(two.daemon)


@virtually
async def test_a_standby_that_cannot_read_the_lease_is_not_ready(api: Api) -> None:
    one, two = await pair(api)
    fault = api.fail(f"GET {LEASE}", forbidden("leases"), times=1000)
    await until(lambda: "lease" in unready(two), 10)
    assert "cannot be read or renewed" in unready(two)["lease"]
    assert " led when the Lease was last read; " in two.daemon.health.role()
    assert unready(one) == {}
    fault.times = 0
    await until(lambda: unready(two) == {})


@virtually
async def test_a_daemon_that_lost_its_lease_does_not_say_that_it_leads(api: Api) -> None:
    """The Lease still names it: another daemon has yet to take it."""
    one = Musterd(api, "one")
    await until(lambda: one.leads)
    identity = one.daemon.health.role().removeprefix("leading as ")
    fault = api.fail("leases", Unreachable("no answer"), times=1000)
    await until(lambda: not one.leads, 20)
    assert "leases" not in unready(one)
    assert "no answer" in unready(one)["lease"]
    assert one.daemon.health.role().startswith("standing by; the Lease still names this daemon")
    assert identity not in one.daemon.health.role()
    fault.times = 0
    await until(lambda: one.leads and unready(one) == {})


@virtually
async def test_a_daemon_that_has_created_the_lease_waits_and_has_missed_no_renewal(api: Api) -> None:
    del api.objects[LEASE]
    with capture_logs() as logged:
        one = Musterd(api, "one")
        await until(lambda: LEASE in api.objects)
        await asyncio.sleep(5)
    assert [each["leader"] for each in logged if each["event"] == "standing by"] == [None]
    assert one.daemon.health.role().startswith("standing by; it has created the Lease, and leads 15 s after that; ")
    await until(lambda: one.leads, 11)


@virtually
async def test_bookmarks_that_come_25_seconds_late_cost_no_new_watch(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """API servers send one each 60 s. With a limit of 70 s a loaded server's late one had its watch closed."""
    monkeypatch.setattr(watching, "BOOKMARK", 85.0)
    one = Musterd(api, "one", leader_elect=False)
    await asyncio.sleep(280)
    assert all("silent" not in each.reconnects for each in one.daemon.informers.reflectors.values())
    assert unready(one) == {}
