"""Real pods in the best isolation: volumes, init containers, probes, deadlines, limits, failed states."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from muster.local.node import Isolation, choose_isolation
from muster.reconcilers.render.command import command_of
from tests.local.node.harness import PODS, Cluster, ClusterOf, Pod, container, pod, refused

pytestmark = pytest.mark.cluster


@pytest.fixture
async def cluster(cluster_of: ClusterOf) -> AsyncIterator[Cluster]:
    async with cluster_of((await asyncio.to_thread(choose_isolation, refused)).isolation) as made:
        yield made


def waiting(pod: Pod) -> str | None:
    statuses = pod.get("status", {}).get("containerStatuses") or [{}]
    reason: str | None = statuses[0].get("state", {}).get("waiting", {}).get("reason")
    return reason


async def test_init_containers_run_in_order_and_share_volumes(cluster: Cluster, tmp_path: Path) -> None:
    assert cluster.agent.choice is not None
    if not cluster.agent.choice.isolation.namespaces:
        pytest.skip("volumes are mounted in a mount namespace only")
    places = {"work": "/relay/work", "shm": "/dev/shm"}
    mount: Pod = {"volumeMounts": [{"name": name, "mountPath": path} for name, path in places.items()]}
    write = "import os; open('/relay/work/log', 'a').write('%s ')"
    script = (
        "import os; shm = os.statvfs('/dev/shm'); print(open('/relay/work/log').read(), shm.f_blocks * shm.f_frsize)"
    )
    made = pod(
        "relay",
        container(script, **mount),
        initContainers=[container(write % word, name=word, **mount) for word in ("first", "second")],
        volumes=[
            {"name": "work", "emptyDir": {}},
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
        ],
    )
    await cluster.create(made)
    done = await cluster.phase("relay", "Succeeded")
    assert await cluster.log("relay") == "first second  1048576\n"
    assert [each["ready"] for each in done["status"]["initContainerStatuses"]] == [False, False]
    assert not (tmp_path.parents[-1] / "relay").exists()


async def test_a_sidecar_is_stopped_when_the_containers_have_ended(cluster: Cluster) -> None:
    sidecar = container("import time; time.sleep(600)", name="sidecar", restartPolicy="Always")
    await cluster.create(pod("helped", container(), initContainers=[sidecar]))
    status = (await cluster.phase("helped", "Succeeded"))["status"]
    assert status["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 143


async def test_a_pod_is_ready_when_its_probes_succeed(cluster: Cluster) -> None:
    script = (
        "import os, http.server as h; "
        "h.HTTPServer((os.environ['IP'], 18080), h.SimpleHTTPRequestHandler).serve_forever()"
    )
    env = [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
    port = [{"name": "web", "containerPort": 18080}]
    probe = {"periodSeconds": 1, "timeoutSeconds": 5, "failureThreshold": 100}
    startup = {"tcpSocket": {"port": 18080}} | probe
    readiness = {"httpGet": {"path": "/", "port": "web"}} | probe
    main = container(script, env=env, ports=port, startupProbe=startup, readinessProbe=readiness)
    await cluster.create(pod("web", main))
    ready = await cluster.until(
        "web",
        lambda each: any(c["type"] == "Ready" and c["status"] == "True" for c in each["status"].get("conditions", ())),
    )
    assert ready["status"]["containerStatuses"][0]["started"]


async def test_a_container_that_fails_its_liveness_probe_is_restarted(cluster: Cluster) -> None:
    liveness = {"exec": {"command": ["cat", "alive"]}, "periodSeconds": 1, "failureThreshold": 1, "timeoutSeconds": 5}
    main = container("import time; time.sleep(600)", livenessProbe=liveness)
    await cluster.create(pod("dead", main, restartPolicy="Always", terminationGracePeriodSeconds=1))
    again = await cluster.until(
        "dead", lambda each: each["status"].get("containerStatuses", [{}])[0].get("restartCount")
    )
    assert again["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 143


async def test_active_deadline_seconds_of_a_running_pod_ends_it_and_keeps_its_log(cluster: Cluster) -> None:
    script = "import time; print('step 1', flush=True); time.sleep(600)"
    made = pod("stopped", container(script), terminationGracePeriodSeconds=1)
    await cluster.create(made)
    await cluster.phase("stopped", "Running")
    while "step 1" not in await cluster.log("stopped"):  # noqa: ASYNC110 - the log is not followed here
        await asyncio.sleep(0.1)
    await cluster.api.merge(f"{PODS}/stopped", {"spec": {"activeDeadlineSeconds": 1}})
    ended = await cluster.phase("stopped", "Failed")
    assert ended["status"]["reason"] == "DeadlineExceeded"
    assert "step 1" in await cluster.log("stopped")


async def test_a_container_over_its_memory_limit_is_killed(cluster: Cluster) -> None:
    hungry = container("x = bytearray(400_000_000)", resources={"limits": {"memory": "64Mi"}})
    await cluster.create(pod("hungry", hungry))
    ended = (await cluster.phase("hungry", "Failed"))["status"]["containerStatuses"][0]["state"]["terminated"]
    # Without a cgroup there is a resource limit, and Python ends with a MemoryError.
    assert (ended["reason"], ended["exitCode"]) in {("OOMKilled", 137), ("Error", 1)}


@pytest.mark.parametrize(("policy", "message"), [("FallbackToLogsOnError", "ValueError: loss is NaN"), ("File", "")])
async def test_a_failed_container_shows_the_end_of_its_log_where_its_policy_says_so(
    cluster: Cluster, policy: str, message: str
) -> None:
    script = "print('step 1'); raise ValueError('loss is NaN')"
    await cluster.create(pod("broken", container(script, terminationMessagePolicy=policy)))
    ended = (await cluster.phase("broken", "Failed"))["status"]["containerStatuses"][0]["state"]["terminated"]
    assert ended.get("message", "").strip().endswith(message)
    assert bool(ended.get("message")) is bool(message)


SAVES = """
import signal, sys, time
def save(*_):
    time.sleep(8)
    open(sys.argv[1], "w").write("saved")
    sys.exit()
signal.signal(signal.SIGTERM, save)
print("up", flush=True)
signal.pause()
"""


@pytest.mark.parametrize("line", ["python3 {program} {saved}", "true; python3 {program} {saved} | tee {log}; true"])
async def test_a_program_that_saves_for_8_s_is_given_the_20_s_of_its_pod(
    cluster: Cluster, tmp_path: Path, line: str
) -> None:
    files = {name: tmp_path / name for name in ("program", "saved", "log")}
    files["program"].write_text(SAVES)
    command = command_of(line.format(**files))
    container = {"name": "main", "image": "muster.local/python:3", "command": command}
    await cluster.create(pod("saves", container, terminationGracePeriodSeconds=20))
    await cluster.phase("saves", "Running")
    async with asyncio.timeout(20):
        while "up" not in await cluster.log("saves"):  # noqa: ASYNC110 - the log is not followed here
            await asyncio.sleep(0.05)
    await cluster.delete("saves")
    await cluster.gone("saves")
    assert files["saved"].read_text() == "saved"


async def test_missing_images_references_and_resources_are_reported(cluster: Cluster) -> None:
    absent = [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "absent", "key": "a"}}}]
    gpu = {"limits": {"nvidia.com/gpu": "1"}}
    await cluster.create(pod("no-image", container(image="missing/jax:1")))
    await cluster.create(pod("no-config", container(env=absent)))
    await cluster.create(pod("no-gpu", container(resources=gpu)))
    await cluster.until("no-image", lambda each: waiting(each) == "ErrImagePull")
    await cluster.until("no-image", lambda each: waiting(each) == "ImagePullBackOff")
    await cluster.until("no-config", lambda each: waiting(each) == "CreateContainerConfigError")
    scheduled = await cluster.until("no-gpu", lambda each: each.get("status", {}).get("conditions"))
    assert "1 Insufficient nvidia.com/gpu" in scheduled["status"]["conditions"][0]["message"]
    for name in ("no-image", "no-config", "no-gpu"):
        await cluster.delete(name)
        await cluster.gone(name)
    events = await cluster.api.list("/api/v1/namespaces/default/events")
    said = {(each["involvedObject"]["name"], each["reason"]) for each in events}
    assert {
        ("no-image", "Failed"),
        ("no-image", "BackOff"),
        ("no-config", "Failed"),
        ("no-gpu", "FailedScheduling"),
    } <= said


async def test_the_node_is_ready_with_a_lease_and_not_ready_after_a_stop(cluster: Cluster) -> None:
    node = await cluster.api.get("/api/v1/nodes/local")
    ready = next(each for each in node["status"]["conditions"] if each["type"] == "Ready")
    assert ready["status"] == "True"
    assert {"cpu", "memory", "pods"} <= set(node["status"]["allocatable"])
    lease = await cluster.api.get("/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/local")
    assert lease["spec"]["holderIdentity"] == "local"
    await cluster.agent.stop(0)
    node = await cluster.api.get("/api/v1/nodes/local")
    ready = next(each for each in node["status"]["conditions"] if each["type"] == "Ready")
    assert ready["status"] == "False"


async def test_pods_that_run_when_the_node_stops_have_disruption_target(cluster: Cluster) -> None:
    await cluster.create(pod("cut-off", container("import time; time.sleep(600)")))
    await cluster.phase("cut-off", "Running")
    await cluster.agent.stop(1)
    status = (await cluster.get("cut-off"))["status"]
    assert (status["phase"], status["reason"]) == ("Failed", "Terminated")
    assert "DisruptionTarget" in {each["type"] for each in status["conditions"]}


async def test_a_forced_deletion_kills_the_processes_at_once(cluster: Cluster) -> None:
    await cluster.create(pod("forced", container("import time; time.sleep(600)"), terminationGracePeriodSeconds=60))
    running = await cluster.phase("forced", "Running")
    pid = running["status"]["containerStatuses"][0]["containerID"].removeprefix("process://")
    await cluster.delete("forced", gracePeriodSeconds=0)
    await cluster.gone("forced")
    async with asyncio.timeout(30):
        while await asyncio.to_thread(alive, pid):  # noqa: ASYNC110 - the kernel has no event for other's children
            await asyncio.sleep(0.02)


def alive(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as stat:  # noqa: PTH123
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it may end between open and read
        return False


async def test_a_dead_launcher_fails_its_pods_and_is_started_again(cluster: Cluster) -> None:
    await cluster.create(pod("before", container("import time; time.sleep(600)")))
    await cluster.phase("before", "Running")
    assert cluster.agent._node is not None
    launcher = cluster.agent._node.launcher
    launcher._process.kill()
    status = (await cluster.phase("before", "Failed"))["status"]
    ended = status["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "ContainerStatusUnknown")  # nobody has seen how it ended
    await cluster.create(pod("after", container()))
    await cluster.phase("after", "Succeeded")


async def test_if_a_firewall_drops_bridged_packets_the_isolation_is_mnt(
    cluster_of: ClusterOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def dropped(launcher: object, network: object) -> str:
        return "the host's firewall drops it"

    if await asyncio.to_thread(refused, Isolation.NETNS) is not None:
        pytest.skip("no netns on this machine, so nothing to fall back from")
    monkeypatch.setattr("muster.local.node.agent.forwarding_refusal", dropped)
    async with cluster_of(None) as cluster:
        assert str(cluster.agent.choice) == "mnt (no netns: the host's firewall drops it)"
