"""What happens to the API server, to musterd's way there and to its rights, while experiments run."""

import asyncio
import re
import signal
from pathlib import Path

import pytest

from muster.api.names import LABEL_RANK
from muster.kube.resources import core
from tests.fakes.relay import Relay
from tests.real.etcd import compact
from tests.real.ground import SYSTEM, Ground
from tests.real.namespace import eventually
from tests.real.plane import kubeconfig
from tests.real.site import Site
from tests.real.situations.test_refusals import counted
from tests.real.stopping import Musterd, api_server_down, ask, held, musterds, without_rights
from tests.real.webhook import webhook

pytestmark = [pytest.mark.alone, pytest.mark.timeout(600), pytest.mark.usefixtures("our_servers")]
FAILS_LATER = "rank=1 epoch=0: hold, run 8, exit 1\n*: run 600"


async def lose_a_member(here: Site) -> str:
    """Delete the pod of rank 1, as a person may; its name."""
    pod = (await here.pods("run"))[1]["metadata"]["name"]
    await here.request("DELETE", core(here.namespace, "pods", str(pod)))
    return str(pod)


def through(relay: Relay, ground: Ground) -> Path:
    """musterd's kubeconfig, but through the relay."""
    config = Path(ground.folder) / "through-the-relay.kubeconfig"
    return kubeconfig.changed(ground.musterd, config, server=f"https://127.0.0.1:{relay.port}")


async def relists(daemon: Musterd) -> float:
    """Full lists that the daemon has taken after the first."""

    async def metrics() -> str:
        status, text = await daemon.says("/metrics")
        return text if status == 200 else ""

    text = await eventually(metrics)
    return sum(float(found) for found in re.findall(r"^muster_watch_relists_total\{.*\} (\S+)$", text, re.MULTILINE))


async def test_the_right_to_create_pods_is_taken_away_and_given_back(here: Site) -> None:
    async with without_rights(here, "pods", "create"):
        here.row.happens("musterd may not create pods any more (RBAC)")
        await here.submit("run")
        pattern = 'RightsMissing .*User "system:serviceaccount:muster-system:musterd" cannot create resource "pods"'
        await here.is_stuck("run", "RightsMissing", pattern)
    await here.phase("run", "Running")


async def test_missing_rights_to_read_pods_are_reported(here: Site) -> None:
    async with without_rights(here, "pods", "list", "get"):
        here.row.happens("musterd may not read pods any more (RBAC)")
        await here.submit("run")
        await here.says("run", "RightsMissing .*cannot list resource")


@pytest.mark.core
async def test_without_the_right_on_finalizers_pods_are_refused(here: Site) -> None:
    async with without_rights(here, "experiments/finalizers"):
        here.row.happens("without the right on finalizers (OwnerReferencesPermissionEnforcement)")
        await here.submit("run")
        await here.says("run", "RightsMissing .*cannot set blockOwnerDeletion")
    await here.phase("run", "Running")


async def test_without_any_rights_it_is_not_ready(here: Site) -> None:
    await here.running()
    async with without_rights(here):
        here.row.happens("musterd's ClusterRoleBinding is deleted: what /readyz says")
        await lose_a_member(here)

        async def refused() -> str:
            status, text = await asyncio.to_thread(ask, here.ground.daemon_url + "/readyz")
            return text.strip() if status == 503 else ""

        here.row.says(f"/readyz 503 {await eventually(refused)}")
        await here.shows("run", "Running .* 1/2 ready")  # the last status; the pods are read by `muster get` itself
    await here.until("run", lambda seen: seen.status.epoch == 1 and seen.phase == "Running", 120)


class Ticket:
    """A token of musterd's service account that lives as long as a Secret does, and a kubeconfig that uses it."""

    def __init__(self, here: Site) -> None:
        folder = Path(here.ground.folder)
        self._here = here
        self._path = f"/api/v1/namespaces/{SYSTEM}/secrets"
        self.token = folder / f"{here.namespace}.token"
        config, user = folder / f"{here.namespace}.kubeconfig", {"tokenFile": str(self.token)}
        self.kubeconfig = kubeconfig.changed(here.ground.musterd, config, user=user)

    async def issue(self) -> None:
        """Make the Secret and a token bound to it; the file is replaced in one step, as the kubelet does."""
        secret = await self._here.request("POST", self._path, {"metadata": {"name": self._here.namespace}})
        metadata = secret["metadata"]
        bound = {"kind": "Secret", "apiVersion": "v1", "name": metadata["name"], "uid": metadata["uid"]}
        body = {"spec": {"boundObjectRef": bound, "expirationSeconds": 3600}}
        path = f"/api/v1/namespaces/{SYSTEM}/serviceaccounts/musterd/token"
        answer = await self._here.request("POST", path, body)
        kubeconfig.replace(self.token, answer["status"]["token"])

    async def revoke(self) -> None:
        """Delete the Secret: the API server refuses the token from then on (401), at the latest 10 s later."""
        await self._here.request("DELETE", f"{self._path}/{self._here.namespace}")


async def test_the_token_is_revoked_and_restored(here: Site) -> None:
    ticket = Ticket(here)
    await ticket.issue()
    async with musterds(here, ticket.kubeconfig) as (daemon,):
        await here.running()
        await ticket.revoke()

        async def unready() -> bool:
            status, text = await daemon.says("/readyz")
            return status != 0 and (status != 200 or "leading" not in text)

        await eventually(unready)
        pod = await lose_a_member(here)
        await asyncio.sleep(3)
        here.row.happens(
            "musterd's token is revoked (401), a member is lost, a new token is issued; seconds since then"
        )
        await ticket.issue()
        await here.says("run", rf"^Restarting \S+ .*({pod}|a member's pod is gone)")
        await here.phase("run", "Running")
        await ticket.revoke()


async def test_the_leader_is_killed_and_the_other_goes_on(here: Site) -> None:
    async with musterds(here, None, None) as (one, two):
        await here.running()
        here.row.happens("the leader of two musterds is killed (SIGKILL), a member is lost")
        one.program.kill()
        pod = await lose_a_member(here)
        await here.says("run", rf"^Restarting \S+ .*({pod}|a member's pod is gone)")
        await two.until_leading()
        seen = await here.phase("run", "Running")
        assert seen.status.epoch == 1


async def test_the_leader_is_stopped_and_stands_by_when_it_goes_on(here: Site) -> None:
    async with musterds(here, None, None) as (one, two):
        await here.running()
        here.row.happens("the leader of two musterds is stopped (SIGSTOP), a member is lost, it goes on later")
        one.program.signal(signal.SIGSTOP)
        pod = await lose_a_member(here)
        await here.says("run", rf"^Restarting \S+ .*({pod}|a member's pod is gone)")
        await two.until_leading()
        await here.phase("run", "Running")
        await asyncio.sleep(5)
        one.program.signal(signal.SIGCONT)
        await eventually(lambda: one.says("/readyz"), holds=lambda found: "standing by" in found[1])
        seen = await here.phase("run", "Running")
        assert seen.status.epoch == 1
        assert len(await here.pods("run")) == 2


async def test_a_leader_change_does_not_flap_stuck(here: Site) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}}
    await here.apply(quota)
    await counted(here, "none")
    async with musterds(here, None, None) as (one, two):
        await here.submit("run")
        await here.until("run", lambda seen: seen.holds("Stuck"))
        flaps: list[str] = []

        async def watch() -> None:
            async for change in here.client.watch("run", namespace=here.namespace):
                if not change.experiment.holds("Stuck"):
                    flaps.append(change.experiment.message)

        watching = asyncio.create_task(watch(), name="flaps")
        here.row.happens("the leader is killed while an experiment is Stuck for a quota: times Stuck became False")
        one.program.kill()
        await two.until_leading()
        await asyncio.sleep(10)
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)
        await here.shows("run", r"stuck \(QuotaExceeded\).*exceeded quota")
        here.row.says(f"Stuck False {len(flaps)} times {flaps[:1]}")
        assert not flaps


async def test_the_way_to_the_server_is_cut_again_and_again(here: Site) -> None:
    relay = Relay(int(here.ground.server.rpartition(":")[2]))
    await relay.serve()

    async def cut() -> None:
        for _ in range(20):
            await asyncio.sleep(0.15)
            await relay.refuse()
            await relay.serve()

    try:
        config = through(relay, here.ground)
        await relay.refuse()
        async with musterds(here, config, leading=False):
            await asyncio.sleep(5)  # its first lists fail
            await relay.serve()
            await cut()
            here.row.happens(
                "the connections to the API server are cut 40 times while musterd starts and makes 100 pods"
            )
            await here.submit("run", members=100)
            await cut()
            await here.says("run", "^Running RollComplete 100/100")
            pods = await here.pods("run")
            assert sorted(int(pod["metadata"]["labels"][LABEL_RANK]) for pod in pods) == list(range(100))
    finally:
        await relay.refuse()


async def test_slow_admission_in_one_namespace_does_not_hold_up_another(here: Site) -> None:
    other = f"{here.namespace}-slow"
    await here.request("POST", "/api/v1/namespaces", {"metadata": {"name": other}})
    slow = Site(here.ground, here.client, here.screen, other, here.row)
    try:
        async with webhook(slow, "delay"):
            for number in range(20):
                await slow.submit(f"slow-{number}", members=20)
            await asyncio.sleep(3)
            here.row.happens("pod creation takes 2.5 s in one namespace (400 pods); an experiment in another")
            await here.submit("run")
            await here.says("run", "^Running RollComplete 2/2")
            made = len(await slow.pods())
            assert made < 400, "all pods of the slow namespace were made before those of the other"
    finally:
        await here.request("DELETE", f"/api/v1/namespaces/{other}")


@pytest.mark.core
async def test_the_api_server_is_away_while_a_rank_fails(here: Site) -> None:
    await here.running("run", FAILS_LATER)
    await here.lets_go("run", 1)
    async with api_server_down(here):
        await asyncio.sleep(14)
        here.row.happens("the API server is away for 14 s, rank 1 exits 1 meanwhile; seconds since its return")
    cause = r"rank 1 \(run-worker-0-1-[a-z0-9]{5}\) ended with exit code 1"
    await here.says_in_the_end("run", rf"^Restarting \S+ .*{cause}", cause)
    await here.shows("run", "Running .* 2/2 ready")
    seen = await here.until("run", lambda seen: seen.phase == "Running")
    assert (seen.status.epoch, seen.status.restarts) == (1, 1)


async def test_a_person_who_watches_sees_the_server_come_back(here: Site) -> None:
    await here.running()
    async with api_server_down(here):
        await asyncio.sleep(8)
    here.row.happens("the API server was away for 8 s: what `muster get --watch` does when it is back")
    await here.request("POST", core(here.namespace, "configmaps"), {"metadata": {"name": "news"}})
    await lose_a_member(here)

    async def expired() -> bool:
        return any("410 Expired" in line for line in here.screen.errors)

    await eventually(expired)
    line = next(line for line in here.screen.errors if "410 Expired" in line)
    here.row.says(line.partition("410 ")[2])
    waits = re.search(r"trying again in ([\d.]+) s", line)
    assert waits is None or float(waits[1]) < 5, line  # an answer ends the back-off of attempts without one


@pytest.mark.core
async def test_history_is_compacted_while_musterd_cannot_reach_the_server(here: Site) -> None:
    relay = Relay(int(here.ground.server.rpartition(":")[2]))
    await relay.serve()
    config = through(relay, here.ground)
    try:
        async with musterds(here, config) as (daemon,):
            await here.running()
            before = await relists(daemon)
            await relay.refuse()
            pod = await lose_a_member(here)
            for number in range(20):
                await here.request(
                    "POST", core(here.namespace, "configmaps"), {"metadata": {"name": f"noise-{number}"}}
                )
            await compact(here.ground)
            async with api_server_down(here):
                pass
            here.row.happens("etcd compacted and the API server restarted while musterd is cut off (410 Expired)")
            await relay.serve()
            cause = f"({pod}|a member's pod is gone)"
            await here.says_in_the_end("run", rf"^Restarting \S+ .*{cause}", cause)
            await here.shows("run", "Running .* 2/2 ready")
            assert await relists(daemon) > before
    finally:
        await relay.refuse()


@pytest.mark.core
async def test_a_terminating_namespace_is_reported(here: Site) -> None:
    await here.running()
    async with held(here.ground, "kube-controller-manager"):  # it would delete the experiment along with the namespace
        await here.request("DELETE", f"/api/v1/namespaces/{here.namespace}")
        here.row.happens("the namespace is being deleted, and a member is lost before its turn has come")
        await lose_a_member(here)
        await here.says("run", "^Failed NamespaceGone .*because it is being terminated")
