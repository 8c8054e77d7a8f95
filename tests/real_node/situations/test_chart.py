"""Muster from its chart, in pods: replicas that are lost, upgrades, policies, the page and the metrics."""

import json
from typing import Any

import pytest

from tests.real.ground import SYSTEM
from tests.real.namespace import SLOW, Refused, eventually
from tests.real_node.site import Site

pytestmark = [pytest.mark.alone, pytest.mark.timeout(900)]
OF = ("--namespace", SYSTEM)


async def replicas(here: Site) -> list[Any]:
    """The pods of musterd."""
    text = await here.kubectl(*OF, "get", "pods", "--selector=app.kubernetes.io/name=musterd", "--output=json")
    found: list[Any] = json.loads(text)["items"]
    return [each for each in found if "deletionTimestamp" not in each["metadata"]]


async def leader(here: Site) -> str:
    """The holder of the Lease."""
    lease = await here.request("GET", f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/musterd")
    return str(lease["spec"]["holderIdentity"])


async def led_by(here: Site) -> Any:
    """The pod of the leader."""
    holder = await leader(here)
    return next(each for each in await replicas(here) if holder.startswith(str(each["metadata"]["name"])))


async def led_by_another(here: Site, before: str) -> None:
    async def changed() -> bool:
        return await leader(here) not in ("", before)

    await eventually(changed)


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
    await here.submit("run")
    await here.phase("run", "Running")
    before, pod = await leader(here), await led_by(here)
    name = str(pod["metadata"]["name"])
    here.row.happens(f"the leading musterd ends by {way}; then a rank fails")
    if way == "kubectl delete pod":
        await here.kubectl(*OF, "delete", "pod", name, "--wait=false")
    else:
        container = pod["status"]["containerStatuses"][0]["containerID"].removeprefix("containerd://")
        kill = ("tasks", "kill", "--signal", way.split()[0], container)
        here.machine_of(pod).within(here.nodes.programs["ctr"], "-n", "k8s.io", *kill)
    await led_by_another(here, before)
    seconds = here.row
    seconds.says("")
    await here.kubectl("delete", "pod", str((await here.pods("run"))[1]["metadata"]["name"]), "--wait=false")
    took = here.row.seconds
    await here.says("run", r"^Restarting \S+ .*rank 1 ", SLOW)
    here.row.seconds = took
    await here.phase("run", "Running")
    await here.kubectl(*OF, "rollout", "status", "deployment/musterd", f"--timeout={SLOW:g}s")


async def test_the_page_and_the_metrics_are_for_those_with_a_token(here: Site) -> None:
    """From a pod of a namespace that the policy admits, and from one that it does not."""
    service = f"http://musterd.{SYSTEM}.svc:8080/metrics"
    await here.kubectl("create", "serviceaccount", "scraper")
    subject = f"--serviceaccount={here.namespace}:scraper"
    await here.kubectl("create", "clusterrolebinding", here.namespace, "--clusterrole=muster-metrics-reader", subject)
    token = (await here.kubectl("create", "token", "scraper")).strip()
    await here.pod("scraper", "sleep 600")
    await here.kubectl("wait", "--for=condition=Ready", "pod/scraper", f"--timeout={SLOW:g}s")

    async def status(*headers: str) -> str:
        code = (
            "import sys, urllib.request, urllib.error\n"
            f"request = urllib.request.Request('{service}', headers=dict(h.split(': ') for h in sys.argv[1:]))\n"
            "try:\n    print(urllib.request.urlopen(request, timeout=3).status)\n"
            "except urllib.error.HTTPError as error:\n    print(error.code)\n"
            "except OSError as error:\n    print('unreachable')\n"
        )
        return (await here.kubectl("exec", "scraper", "--", "python3", "-c", code, *headers)).strip()

    here.row.happens("a scrape from a foreign namespace, from an admitted one without a token, and with one")
    try:
        foreign = await status()
        await here.kubectl("label", "namespace", here.namespace, "metrics=enabled")
        await eventually(lambda: reached(status), 60)
        without, with_token = await status(), await status(f"Authorization: Bearer {token}")
        here.row.says(f"foreign: {foreign}; without a token: {without}; with it: {with_token}")
        assert (foreign, without, with_token) == ("unreachable", "401", "200")
    finally:
        await here.kubectl("delete", "clusterrolebinding", here.namespace)


async def reached(status: Any) -> bool:
    return str(await status()) != "unreachable"


async def test_a_rolling_restart_leaves_runs_alone(here: Site) -> None:
    await here.submit("run")
    await here.phase("run", "Running")
    here.row.happens("kubectl rollout restart of musterd")
    await here.kubectl(*OF, "rollout", "restart", "deployment/musterd")
    await here.kubectl(*OF, "rollout", "status", "deployment/musterd", f"--timeout={SLOW:g}s")
    await here.never("run", lambda seen: seen.status.epoch > 0 or seen.phase != "Running", 5)
    here.row.says("Running RollComplete 2/2 members are ready")
