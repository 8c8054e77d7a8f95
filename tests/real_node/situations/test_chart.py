"""Muster from its chart, in pods: replicas that are lost, upgrades, policies, the page and the metrics."""

import json
import signal
from typing import Any

import pytest

from tests.real.ground import SYSTEM
from tests.real.namespace import SLOW, Refused, eventually
from tests.real_node.site import Site

pytestmark = [pytest.mark.alone, pytest.mark.timeout(900)]
OF = ("--namespace", SYSTEM)
LEADS = "leading as "
"""Words at the foot of the leader's page."""


async def replicas(here: Site) -> list[Any]:
    """The pods of musterd."""
    text = await here.kubectl(*OF, "get", "pods", "--selector=app.kubernetes.io/name=musterd", "--output=json")
    found: list[Any] = json.loads(text)["items"]
    return [each for each in found if "deletionTimestamp" not in each["metadata"]]


async def leader(here: Site) -> str:
    lease = await here.request("GET", f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/musterd")
    return str(lease["spec"]["holderIdentity"])


async def led_by(here: Site) -> Any:
    """The pod of the leader, once one of the replicas leads."""

    async def found() -> Any:
        holder = await leader(here)
        return next((each for each in await replicas(here) if holder.startswith(str(each["metadata"]["name"]))), None)

    return await eventually(found)


async def led_by_another(here: Site, before: str) -> None:
    await eventually(lambda: leader(here), holds=lambda found: found not in ("", before))


@pytest.mark.core
async def test_two_replicas_run_as_the_strictest_profile_wants(here: Site) -> None:
    here.row.happens("the chart's pods: user, root file system, rights, as the kernel shows them")
    one = await led_by(here)
    name = str(one["metadata"]["name"])
    look = "open('/file', 'w')"
    with pytest.raises(Refused, match="Read-only file system"):
        await here.kubectl(*OF, "exec", name, "--", "python3", "-c", look)
    code = "print([l for l in open('/proc/1/status').read().splitlines() if l[:3] in ('Uid','Cap','NoN','Sec')])"
    said = await here.kubectl(*OF, "exec", name, "--", "python3", "-c", code)
    here.row.says(" ".join(said.split()))
    assert "65532" in said
    assert len(await replicas(here)) == 2


@pytest.mark.parametrize("way", ["kubectl delete pod", "SIGKILL in its container", "SIGTERM in its container"])
async def test_a_leader_that_is_lost_is_replaced(here: Site, way: str) -> None:
    await here.running()
    before, pod = await leader(here), await led_by(here)
    name = str(pod["metadata"]["name"])
    here.row.happens(f"the leading musterd ends by {way}; then a rank fails")
    if way == "kubectl delete pod":
        await here.kubectl(*OF, "delete", "pod", name, "--wait=false")
    else:
        here.kill(pod, signal.Signals[way.split()[0]])
    await led_by_another(here, before)
    here.row.says("")
    await here.kubectl("delete", "pod", str((await here.pods("run"))[1]["metadata"]["name"]), "--wait=false")
    took = here.row.seconds
    await here.says("run", r"^Restarting \S+ .*rank 1 ", SLOW)
    here.row.seconds = took
    await here.phase("run", "Running")
    await here.kubectl(*OF, "rollout", "status", "deployment/musterd", f"--timeout={SLOW:g}s")


@pytest.mark.core
async def test_the_page_and_the_metrics_are_for_those_with_a_token(here: Site) -> None:
    """From a pod of a namespace that the policy admits, and from one that it does not."""
    await here.running()
    for name in ("scraper", "viewer"):
        await here.kubectl("create", "serviceaccount", name)
    scraper, viewer = (f"--serviceaccount={here.namespace}:{name}" for name in ("scraper", "viewer"))
    await here.kubectl("create", "clusterrolebinding", here.namespace, "--clusterrole=muster-metrics-reader", scraper)
    await here.kubectl("create", "rolebinding", "viewer", "--clusterrole=muster-experiments-reader", viewer)
    await here.pod("reader", "sleep 600")
    await here.kubectl("wait", "--for=condition=Ready", "pod/reader", f"--timeout={SLOW:g}s")

    async def get(path: str, *accounts: str, of: str = f"musterd.{SYSTEM}.svc") -> tuple[str, str]:
        """Status and body from that host, with the token of an account."""
        tokens = [(await here.kubectl("create", "token", each)).strip() for each in accounts]
        headers = {"Authorization": f"Bearer {tokens[0]}"} if tokens else {}
        code = (
            "import urllib.request, urllib.error\n"
            f"request = urllib.request.Request('http://{of}:8080{path}', headers={headers!r})\n"
            "try:\n    answer = urllib.request.urlopen(request, timeout=3)\n"
            "except urllib.error.HTTPError as error:\n    answer = error\n"
            "except OSError:\n    print('unreachable')\n    raise SystemExit\n"
            "print(answer.status, answer.read().decode(), sep='\\n')"
        )
        said = await here.kubectl("exec", "reader", "--", "python3", "-c", code)
        status, _, body = said.partition("\n")
        return status.strip(), body

    here.row.happens("page and metrics from a foreign namespace, from an admitted one without a token, and with one")
    page, listed = f"/experiments/{here.namespace}/run", "/experiments.json"
    try:
        foreign = (await get("/metrics"))[0]
        await here.kubectl("label", "namespace", here.namespace, "metrics=enabled")
        await eventually(lambda: get("/metrics"), 60, holds=lambda found: found[0] != "unreachable")
        without = [(await get(path))[0] for path in ("/metrics", page, listed)]
        scraped, (shown, html), (_, seen) = (
            await get("/metrics", "scraper"),
            await get(page, "viewer"),
            await get(listed, "viewer"),
        )
        of_scraper = (await get(page, "scraper"))[0]
        addresses = [str(each["status"]["podIP"]) for each in await replicas(here)]
        of_replicas = [(await get(page, "viewer", of=address))[1] for address in addresses]
        here.row.says(
            f"foreign: {foreign}; without a token: {', '.join(without)}; metrics with one: {scraped[0]}; "
            f"page with one that may read experiments: {shown}, with one that may not: {of_scraper}; "
            f"the page of the leader from {sum(LEADS in each for each in of_replicas)} of {len(addresses)} replicas"
        )
        assert (foreign, without) == ("unreachable", ["401", "401", "401"])
        assert (scraped[0], shown, of_scraper) == ("200", "200", "403")
        assert "2/2" in html
        assert [LEADS in each for each in of_replicas] == [True, True], "the standby forwards its readers"
        assert f'"namespace":"{here.namespace}"' in seen
        assert '"total":1' in seen
    finally:
        await here.kubectl("delete", "clusterrolebinding", here.namespace)


async def test_a_rolling_restart_leaves_runs_alone(here: Site) -> None:
    await here.running()
    here.row.happens("kubectl rollout restart of musterd")
    await here.kubectl(*OF, "rollout", "restart", "deployment/musterd")
    await here.kubectl(*OF, "rollout", "status", "deployment/musterd", f"--timeout={SLOW:g}s")
    await here.never("run", lambda seen: seen.status.epoch > 0 or seen.phase != "Running", 5)
    here.row.says("Running RollComplete 2/2 members are ready")
