"""Names and policies: what CoreDNS and the agent of NetworkPolicies do to a gang, and to musterd itself."""

import pytest

from tests.real.namespace import SLOW, Refused, eventually
from tests.real_node.site import OF_MUSTERD, Site, python

pytestmark = pytest.mark.timeout(600)
LISTEN = python("import socket\nserver = socket.create_server(('', 9000))\nwhile True:\n    server.accept()[0].close()")


async def reaches(here: Site, pod: str, host: str, port: int) -> bool:
    """Whether a pod's shell can connect."""
    code = f"import socket; socket.create_connection(('{host}', {port}), 2).close()"
    try:
        await here.kubectl("exec", pod, "--", "python3", "-c", code)
    except Refused:
        return False
    return True


async def address(here: Site, pod: str) -> str:
    """The pod's address once it has one and is ready."""
    await here.kubectl("wait", "--for=condition=Ready", f"pod/{pod}", "--timeout=120s")
    return (await here.kubectl("get", "pod", pod, "--output=jsonpath={.status.podIP}")).strip()


@pytest.mark.core
async def test_a_policy_keeps_a_foreign_pod_out(here: Site) -> None:
    """The agent, by itself: a policy that admits pods with a label only."""
    here.row.happens("a NetworkPolicy that admits friends; a friend and a stranger connect")
    for name, command in (("server", LISTEN), ("friend", "sleep 600"), ("stranger", "sleep 600")):
        await here.pod(name, command)
    host = await address(here, "server")
    await address(here, "friend")
    await address(here, "stranger")
    await here.kubectl("label", "pod", "server", "app=server")
    await here.kubectl("label", "pod", "friend", "friend=yes")
    assert await reaches(here, "stranger", host, 9000)
    await here.policy("friends", {"podSelector": {"matchLabels": {"friend": "yes"}}}, pods={"app": "server"})
    await eventually(lambda: reaches(here, "stranger", host, 9000), holds=lambda found: not found)
    assert await reaches(here, "friend", host, 9000)
    here.row.says("the friend connects, the stranger does not")


@pytest.mark.core
async def test_a_policy_that_forbids_the_coordinators_port_is_reported(here: Site) -> None:
    """Members reach each other, and musterd does not reach the coordinator."""
    await here.policy("own", {"podSelector": {}})
    here.row.happens("a NetworkPolicy keeps musterd from the coordinator's port")
    await here.trains(100_000)
    await here.says("run", r"CoordinatorNotServing .*port timeout.*NetworkPolicy", 400)


@pytest.mark.core
async def test_a_policy_that_forbids_members_to_meet(here: Site) -> None:
    await here.policy("musterd", OF_MUSTERD)
    here.row.happens("a NetworkPolicy keeps the members from each other; musterd reaches the coordinator")
    await here.trains(100)
    await here.says("run", r"1/2.*rank 1", 400)


@pytest.mark.alone
async def test_dns_is_down(here: Site) -> None:
    """No member resolves the coordinator's name, rank 0 neither: its hosts file has the full name only."""
    system = ("--namespace", "kube-system")
    await here.kubectl(*system, "scale", "deployment/coredns", "--replicas=0")
    try:
        await here.kubectl(
            *system, "wait", "--for=delete", "pod", "--selector=k8s-app=kube-dns", f"--timeout={SLOW:g}s"
        )
        here.row.happens("CoreDNS is away: no member can resolve the coordinator's name")
        await here.trains(100)
        await here.says("run", r"RanksMissing 0/2.*ranks 0-1: running, but not registered with the coordinator", 400)
    finally:
        await here.kubectl(*system, "scale", "deployment/coredns", "--replicas=1")
        await here.kubectl(*system, "rollout", "status", "deployment/coredns", f"--timeout={SLOW:g}s")
    said = here.row.said
    await here.until("run", lambda seen: seen.finished or seen.phase == "Running", 400)
    here.row.said = f"{said}; once it is back: {(await here.client.get('run', namespace=here.namespace)).phase}"
