"""The release as its administrators change it while a run goes on, and the loss of the node on which musterd leads."""

import asyncio
import re

import pytest

from deploy.helm.copies import CHART
from tests.e2e.test_watched_pods import labelled_pods
from tests.real.ground import SYSTEM, TOLERATIONS
from tests.real.namespace import SLOW, Object, Refused, eventually
from tests.real_node.ground import values
from tests.real_node.site import OF_MUSTERD, WORK, Site
from tests.real_node.situations.test_chart import OF, leader, led_by, led_by_another, replicas

pytestmark = [pytest.mark.alone, pytest.mark.timeout(900)]
WAIT = ("--wait", f"--timeout={SLOW:g}s")


async def arguments(here: Site) -> str:
    """The flags of the Deployment."""
    return await here.kubectl(*OF, "get", "deployment/musterd", "--output=jsonpath={..args}")


async def goes_on_undisturbed(here: Site) -> None:
    """Nothing is restarted, for some seconds."""
    await here.never("run", lambda seen: seen.status.epoch > 0 or seen.phase != "Running", 5)


async def loses_a_rank(here: Site) -> None:
    await here.kubectl("delete", "pod", str((await here.pods("run"))[1]["metadata"]["name"]), "--wait=false")


async def may(here: Site, account: str, verb: str, resource: str) -> bool:
    """Whether RBAC allows it in all namespaces; kubectl ends with 1 where it does not."""
    try:
        await here.kubectl("auth", "can-i", verb, resource, f"--as={account}", "--all-namespaces")
    except Refused as refusal:
        if str(refusal) != "no":
            raise
        return False
    return True


def swarm(here: Site) -> list[Object]:
    """Three labelled pods of jax that no Experiment made, and their Service; rank 2 sleeps."""
    made = labelled_pods()
    program = made.PROGRAM.replace(", coordinator_bind_address=bind", "")  # at all addresses, for forwarded ports too
    pods = [made.pod(rank) for rank in range(made.SIZE)]
    for pod in pods:
        pod["spec"] |= {"nodeSelector": WORK, "tolerations": TOLERATIONS}
        pod["spec"]["containers"][0] |= {"image": here.nodes.images["train"], "command": ["python3", "-c", program]}
    return [made.service(), *pods]


async def labelled_pods_behind_a_policy(here: Site) -> None:
    """Only the pods themselves and musterd may reach them."""
    await here.policy("own", {"podSelector": {}}, OF_MUSTERD)
    await here.apply(*swarm(here))


async def test_helm_upgrade_and_rollback_leave_a_run_alone_and_watched_pods_are_probed_meanwhile(here: Site) -> None:
    await here.running()
    await labelled_pods_behind_a_policy(here)
    here.row.happens("helm upgrade with watch.kinds=pods, then helm rollback, with a run going on; then a rank fails")
    before = await leader(here)
    await here.helm("upgrade", str(CHART), "--reuse-values", "--set", "watch.kinds=pods", *WAIT)
    try:
        assert "--watch-kinds" in await arguments(here)
        await led_by_another(here, before)
        await here.shows("pods/swarm", r"2/3 ranks arrived[,;] missing rank 2 \(swarm-2", SLOW)
        shown = " ".join((await here.muster("get", "pods/swarm")).split())
        (watched,) = re.findall(r"RanksMissing: .*?coordinator\)", shown)
        await goes_on_undisturbed(here)
        before = await leader(here)
    finally:
        await here.helm("rollback", *WAIT)
    assert "--watch-kinds" not in await arguments(here)
    await led_by_another(here, before)
    await goes_on_undisturbed(here)
    await loses_a_rank(here)
    await here.says("run", r"^Restarting \S+ .*rank 1 ", SLOW)
    here.row.said = f"{watched}; then: {here.row.said}"
    await here.phase("run", "Running")


async def test_helm_uninstall_leaves_a_run_and_the_next_install_takes_it_up(here: Site) -> None:
    await here.running()
    here.row.happens("helm uninstall with a run going on; a rank is lost meanwhile; helm install")
    await here.helm("uninstall", *WAIT)
    try:
        await eventually(lambda: replicas(here), holds=lambda found: not found)
        await loses_a_rank(here)
        await goes_on_undisturbed(here)
    finally:
        await here.helm("install", str(CHART), *values(here.nodes.images), *WAIT)
    await here.says("run", r"^Restarting \S+ .*rank 1 ", SLOW)
    await here.phase("run", "Running")


async def test_the_node_of_the_leader_is_lost(here: Site) -> None:
    """Both replicas are on machines of this situation alone, one on each."""
    await here.running()
    pool = f"nodeSelector.muster\\.dev/pool={here.namespace}"
    async with here.machines(2, taints=()) as machines:
        move = ("--set-string", pool, "--set", "antiAffinity=required")
        await here.helm("upgrade", str(CHART), "--reuse-values", *move, *WAIT)
        try:
            pod, before = await led_by(here), await leader(here)
            lost = next(each for each in machines if each.plan.name == pod["spec"]["nodeName"])
            here.row.happens("the node of the leading musterd loses its power; then a rank fails")
            await asyncio.to_thread(lost.power_off)
            await led_by_another(here, before)
            here.row.says("")
            took = here.row.seconds
            await loses_a_rank(here)
            await here.says("run", r"^Restarting \S+ .*rank 1 ", SLOW)
            here.row.seconds = took
            await here.phase("run", "Running")
        finally:
            await here.helm("rollback", *WAIT)


async def test_prune_deletes_in_a_pod_what_ended_and_its_account_may_do_nothing_else(here: Site) -> None:
    await here.submit("over", "true")
    await here.submit("run")
    await here.phase("over", "Succeeded")
    await here.phase("run", "Running")
    here.row.happens("helm upgrade with prune.enabled, then a Job of its CronJob")
    enabled = ("--set", "prune.enabled=true", "--set-string", "prune.olderThan=1s")
    await here.helm("upgrade", str(CHART), "--reuse-values", *enabled, *WAIT)
    try:
        cron = await here.kubectl(*OF, "get", "cronjobs", "--output=name")
        await here.kubectl(*OF, "create", "job", "prune-now", f"--from={cron.strip()}")
        await here.kubectl(*OF, "wait", "--for=condition=Complete", "job/prune-now", f"--timeout={SLOW:g}s")
        said = await here.kubectl(*OF, "logs", "job/prune-now", "--container=prune")
        here.row.says(" ".join(said.split()))
        deleted = [line for line in said.splitlines() if "/" in line]  # below the table of what is to be deleted
        assert deleted == [f"{here.namespace}/over"]
        assert await here.get(f"/apis/muster.dev/v1alpha1/namespaces/{here.namespace}/experiments/over") is None
        await goes_on_undisturbed(here)
        name = await here.kubectl(*OF, "get", cron.strip(), "--output=jsonpath={..serviceAccountName}")
        account = f"system:serviceaccount:{SYSTEM}:{name}"
        assert await may(here, account, "delete", "experiments")
        for refused in (("patch", "experiments"), ("list", "pods"), ("get", "secrets")):
            assert not await may(here, account, *refused)
    finally:
        await here.helm("rollback", *WAIT)
        await here.kubectl(*OF, "delete", "job", "prune-now", "--ignore-not-found")
