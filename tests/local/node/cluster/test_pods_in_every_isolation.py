"""Real pods: all at the best isolation of this machine, and what differs between isolations at each other one."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import cast

import pytest

from muster.assist import FOLDER
from muster.kube.execution import Executed, execute
from muster.local.node import Isolation, choose_isolation
from muster.reconcilers.render.command import assist_annotations, assist_volume, assisted
from tests.local.node.harness import Cluster, ClusterOf, container, pod, refused

pytestmark = pytest.mark.cluster

every_isolation = pytest.mark.parametrize("isolation", list(Isolation), indirect=True)


@pytest.fixture
async def isolation(request: pytest.FixtureRequest) -> Isolation:
    """The one of the parameter; without one the best."""
    return getattr(request, "param", None) or (await asyncio.to_thread(choose_isolation, refused)).isolation


@pytest.fixture
async def cluster(isolation: Isolation, cluster_of: ClusterOf) -> AsyncIterator[Cluster]:
    async with cluster_of(isolation) as made:
        yield made


@every_isolation
async def test_a_pod_runs_and_reports_its_exit_code(
    isolation: Isolation, cluster_of: ClusterOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "for the agent only")
    async with cluster_of(isolation) as cluster:
        script = (
            "import os; e = os.environ; print(e['WHO'], os.getcwd() == e['HOME'], 'AWS_SECRET_ACCESS_KEY' in e); "
            "raise SystemExit(3)"
        )
        env = [
            {"name": "NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "WHO", "value": "$(NAME)-$$(NAME)-$(LATER)"},
            {"name": "LATER", "value": "x"},
        ]
        await cluster.create(pod("three", container(script, env=env)))
        status = (await cluster.phase("three", "Failed"))["status"]
        ended = status["containerStatuses"][0]["state"]["terminated"]
        assert (ended["exitCode"], ended["reason"]) == (3, "Error")
        assert ended["containerID"].startswith("process://")
        assert status["podIP"].startswith("10." if isolation is Isolation.NETNS else "127.77.")
        assert await cluster.log("three") == "three-$(NAME)-$(LATER) True False\n"


async def test_a_pod_that_ignores_sigterm_is_killed_after_its_grace_period(cluster: Cluster) -> None:
    script = (
        "import signal, time; signal.signal(15, lambda *_: print('SIGTERM')); print('up')\nwhile True: time.sleep(9)"
    )
    await cluster.create(pod("stubborn", container(script), terminationGracePeriodSeconds=1))
    await cluster.phase("stubborn", "Running")
    follower = cluster.agent.logs.read("default", "stubborn", "main", follow=True)
    assert await anext(follower) == b"up\n"
    await cluster.delete("stubborn")
    assert await anext(follower) == b"SIGTERM\n"  # the container could use its grace period
    await cast("AsyncGenerator[bytes, None]", follower).aclose()
    ended = await cluster.until("stubborn", lambda each: each["status"]["phase"] == "Failed")
    await cluster.gone("stubborn")
    terminated = ended["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (terminated["exitCode"], terminated["signal"]) == (137, 9)


@every_isolation
async def test_a_pod_connects_to_another_by_name(cluster: Cluster) -> None:
    address = [{"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}]
    serve = (
        "import os, socket; s = socket.create_server((os.environ['IP'], 12345)); "
        "c, _ = s.accept(); c.sendall(b'roll call'); c.close()"
    )
    meet = (
        "import sys, socket, time\n"
        "for _ in range(200):\n"
        "    try: print(socket.create_connection((sys.argv[1], 12345)).recv(99)); break\n"
        "    except OSError: time.sleep(0.05)\n"
    )
    member = container(meet, args=["coordinator.exp.default.svc.cluster.local"])
    await cluster.create(pod("member", member, hostname="member", subdomain="exp"))
    coordinator = container(serve, env=address)
    await cluster.create(pod("coordinator", coordinator, hostname="coordinator", subdomain="exp"))
    await cluster.phase("member", "Succeeded")
    assert await cluster.log("member") == "b'roll call'\n"


@pytest.mark.parametrize(
    "isolation",
    [each for each in Isolation if each is not Isolation.REWRITE],  # whose pods have the hosts file of the machine
    indirect=True,
)
async def test_who_connects_to_a_pod_has_a_name_there(cluster: Cluster) -> None:
    """PyTorch's store listens for both kinds of addresses, and warns of a client without a name."""
    serve = (
        "import socket; s = socket.create_server(('::', 12346), family=socket.AF_INET6, dualstack_ipv6=True)\n"
        "print('up', flush=True); _, peer = s.accept()\n"
        "print(socket.getnameinfo(peer, socket.NI_NAMEREQD)[0])"
    )
    meet = "import sys, socket; socket.create_connection((sys.argv[1], 12346))"
    await cluster.create(pod("store", container(serve), hostname="store", subdomain="exp"))
    follower = cluster.agent.logs.read("default", "store", "main", follow=True)
    await cluster.phase("store", "Running")
    assert await anext(follower) == b"up\n"
    await cast("AsyncGenerator[bytes, None]", follower).aclose()
    await cluster.create(pod("rank", container(meet, args=["store.exp"])))
    await cluster.phase("store", "Succeeded")
    assert (await cluster.log("store")).endswith(".ipv4.cluster.local\n")


async def test_a_follower_reads_lines_as_they_are_written(cluster: Cluster, tmp_path: Path) -> None:
    go = tmp_path / "go"
    script = (
        "import os, sys, time; print('first')\n"
        "while not os.path.exists(sys.argv[1]): time.sleep(0.02)\n"
        "print('second'); print('last, without a newline', end='')"
    )
    await cluster.create(pod("talker", container(script, args=[str(go)])))
    await cluster.phase("talker", "Running")
    lines = []
    async with asyncio.timeout(10):
        async for line in cluster.agent.logs.read("default", "talker", "main", follow=True):
            lines.append(line)
            go.touch()
    assert lines == [b"first\n", b"second\n", b"last, without a newline\n"]
    assert await cluster.log("talker", tail=1) == "last, without a newline\n"


async def test_a_failed_container_is_restarted_and_its_previous_log_is_kept(cluster: Cluster, tmp_path: Path) -> None:
    script = "import os; n = len(os.listdir('.')); open(str(n), 'w').close(); print('run', n); raise SystemExit(n < 2)"
    await cluster.create(pod("third-time", container(script), restartPolicy="OnFailure"))
    done = await cluster.phase("third-time", "Succeeded")
    main = done["status"]["containerStatuses"][0]
    assert main["restartCount"] == 2
    assert main["lastState"]["terminated"]["exitCode"] == 1
    assert await cluster.log("third-time") == "run 2\n"
    assert await cluster.log("third-time", previous=True) == "run 1\n"


async def test_a_command_that_does_not_exist_is_a_start_error(cluster: Cluster) -> None:
    await cluster.create(pod("typo", container(command=["pyhton3"])))
    ended = (await cluster.phase("typo", "Failed"))["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (128, "StartError")
    assert "pyhton3" in ended["message"]


@every_isolation
async def test_a_command_runs_in_a_container_with_its_variables_and_folder(cluster: Cluster) -> None:
    env = [{"name": "WHO", "value": "main"}]
    script = "import time; open('here', 'w').close(); print('up'); time.sleep(100)"
    await cluster.create(pod("busy", container(script, env=env)))
    await cluster.phase("busy", "Running")
    follower = cluster.agent.logs.read("default", "busy", "main", follow=True)
    assert await anext(follower) == b"up\n"
    command = ["/bin/sh", "-c", 'echo "$WHO $(ls here) $1"; echo no >&2; exit 3', "sh", "a b"]
    done = await execute(cluster.api.transport, "default", "busy", "main", command)  # type: ignore[arg-type]
    assert done == Executed(3, b"main here a b\nno\n", b"")
    assert await cluster.log("busy") == "up\n", "its output is not the log's"


@every_isolation
async def test_python_finds_what_assists_it(cluster: Cluster) -> None:
    command = assisted(
        ["python3", "-c", "import threading, sitecustomize as s; print(threading._shutdown.__module__, s.__file__)"]
    )
    main = container(command=command, volumeMounts=[{"name": "muster-assist", "mountPath": FOLDER, "readOnly": True}])
    made = pod("helped", main, volumes=[assist_volume()])
    made["metadata"]["annotations"] = assist_annotations()
    await cluster.create(made)
    await cluster.phase("helped", "Succeeded")
    assert (await cluster.log("helped")).startswith("sitecustomize /")
