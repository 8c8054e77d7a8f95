"""What works in containers on real nodes: each row is something that only a kubelet can show."""

import asyncio
import re
import urllib.request
from typing import Any

import pytest

from tests.real.core import with_core
from tests.real.namespace import SLOW
from tests.real.situations.test_port_forward import forwarded
from tests.real_node.registry import pull_secret
from tests.real_node.site import Site, python
from tests.real_node.situations.test_cannot_start import main, private, spec, volume
from tests.real_node.situations.test_nodes import spread

pytestmark = pytest.mark.timeout(400)


async def ended(here: Site, command: str, pattern: str, *, members: int = 2, **change: Any) -> None:
    await here.submit("run", command, members=members, **change)
    seen = await here.until("run", lambda seen: seen.finished)
    text = await here.muster("logs", "run", "--rank", "0")
    here.row.says(" ".join(text.split()))
    assert seen.phase == "Succeeded", f"{seen.phase} {seen.reason} {seen.message}"
    assert re.search(pattern, text), text


@pytest.mark.core
async def test_members_find_each_other_through_the_clusters_dns(here: Site) -> None:
    here.row.happens("each of 4 members on 2 nodes finds the addresses of all others by the name of the gang")
    look = (
        "import socket, time\n"
        "for _ in range(120):\n"
        "    try:\n"
        "        found = sorted({each[4][0] for each in socket.getaddrinfo('run', 1)})\n"
        "    except OSError:\n"
        "        found = []\n"
        "    if len(found) == 4:\n"
        "        break\n"
        "    time.sleep(0.5)\n"
        "print(socket.getfqdn(), *found, flush=True)\n"
        "time.sleep(3)\n"
    )
    await ended(here, python(look), r"\.run\.[\s\S]*(10\.244\.\d+\.\d+\s+){4}", members=4)


async def test_shared_memory_has_the_size_that_is_asked_for(here: Site) -> None:
    here.row.happens("shmSizeGB 1: /dev/shm in the container")
    body = here.experiment("run", "df -m /dev/shm | tail -1; ls -la /dev/shm | head -3")
    body["spec"]["types"]["worker"]["resources"] |= {"shmSizeGB": 1, "ramRatio": 40}  # no more than the memory limit
    await here.apply(body)
    seen = await here.until("run", lambda seen: seen.finished)
    assert seen.phase == "Succeeded", seen.message
    text = await here.muster("logs", "run", "--rank", "0")
    here.row.says(" ".join(text.split()))
    assert re.search(r"\b(954|1024|977)\b", text), text


async def test_a_pod_has_no_token_unless_its_template_asks_for_one(here: Site) -> None:
    here.row.happens("a service account's token in the container, as the template asks")
    look = "ls /var/run/secrets/kubernetes.io/serviceaccount"
    await ended(here, look, r"token", **spec(automountServiceAccountToken=True))


async def test_fs_group_and_user_are_applied(here: Site) -> None:
    here.row.happens("runAsUser 1000, fsGroup 2000: a volume belongs to the group, the program is the user")
    security = {"runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 2000, "runAsNonRoot": True}
    change = spec(securityContext=security, **volume(emptyDir={})["template"]["spec"])
    await ended(here, "id; stat -c %g /data; touch /data/file", r"uid=1000[\s\S]*2000", **change)


@pytest.mark.core
async def test_a_container_has_no_more_rights_than_it_needs(here: Site) -> None:
    here.row.happens("capabilities, seccomp and no_new_privs of a container without a template")
    await ended(
        here,
        "grep -E 'CapEff|Seccomp:|NoNewPrivs' /proc/self/status",
        r"CapEff:\s+0{16}[\s\S]*NoNewPrivs:\s+1[\s\S]*Seccomp:\s+2",
    )


async def test_a_read_only_root_file_system_is_one(here: Site) -> None:
    here.row.happens("readOnlyRootFilesystem: the program cannot write")
    change = main(securityContext={"readOnlyRootFilesystem": True})
    await ended(here, "touch /file 2>&1 || true", "Read-only file system", **change)


async def test_a_native_sidecar_ends_after_its_program(here: Site) -> None:
    here.row.happens("a native sidecar that never ends, and an init container; the program exits 0")
    log = {"name": "log", "image": here.nodes.images["base"], "command": ["sleep", "3600"], "restartPolicy": "Always"}
    fetch = {"name": "fetch", "image": here.nodes.images["base"], "command": ["sh", "-c", "echo fetched > /data/file"]}
    with_data = volume(emptyDir={})["template"]["spec"]
    mounts = {"volumeMounts": with_data["containers"][0]["volumeMounts"]}
    change = spec(initContainers=[log, {**fetch, **mounts}], **with_data)
    await ended(here, "cat /data/file", "fetched", **change)


@pytest.mark.core
async def test_exec_and_logs_go_through_the_kubelet(here: Site) -> None:
    await here.running("run", "echo hello from $MUSTER_RANK; sleep 600")
    here.row.happens("kubectl exec and muster logs through the real kubelet")
    pods = await here.pods("run")
    said = await here.sh(pods[1], "hostname")
    logs = await here.muster("logs", "run")
    here.row.says(" ".join(f"{said} {logs}".split()))
    assert said.strip().startswith("worker-0-1")
    assert "hello from 0" in logs
    assert "hello from 1" in logs


async def test_a_port_is_forwarded_by_the_kubelet(here: Site) -> None:
    await here.running("run", "echo $MUSTER_RANK > /tmp/rank; cd /tmp; exec python3 -m http.server 9000")
    here.row.happens("muster port-forward to rank 1 through the real kubelet")
    async with forwarded(here, "run", ":9000", "--rank", "1") as opened:
        address = await opened.address()
        answered = await asyncio.to_thread(urllib.request.urlopen, f"{address.rstrip('/')}/rank", timeout=SLOW)
        said = answered.read().decode().strip()
        here.row.says(f"rank {said} answers at {address}")
        assert said == "1"


async def test_readiness_is_the_kubelets(here: Site) -> None:
    probe = {"exec": {"command": ["test", "-e", "/tmp/ready"]}, "periodSeconds": 1}
    here.row.happens("rank 1 does not pass its readiness probe; then it does")
    command = "[ $MUSTER_RANK = 1 ] || touch /tmp/ready; sleep 600"
    await here.submit("run", command, **main(readinessProbe=probe))
    await here.says("run", r"1/2 members are ready.*rank 1")
    first = here.row.said
    await here.sh((await here.pods("run"))[1], "touch /tmp/ready")
    await here.says("run", r"^Running RollComplete 2/2 members are ready")
    here.row.said = f"{first}; then: {here.row.said}"


@pytest.mark.core
async def test_an_image_is_pulled_with_the_right_secret(here: Site) -> None:
    here.row.happens("the registry wants a pull secret, and the pod has it")
    await here.apply(pull_secret("pull"))
    await ended(here, "echo pulled", "pulled", **private(here, "pull"))


async def test_a_shared_volume_is_one_for_all_members(here: Site) -> None:
    """The cluster has no provisioner: the volume is there, and the claim of the experiment is bound to it."""
    name, capacity = here.namespace, {"storage": "1G"}
    path = {"path": f"{here.ground.folder}/{name}", "type": "DirectoryOrCreate"}
    volume = {"storageClassName": name, "accessModes": ["ReadWriteMany"], "capacity": capacity, "hostPath": path}
    path_of = "/api/v1/persistentvolumes"
    body = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}, "spec": volume}
    await here.request("POST", path_of, body)
    try:
        here.row.happens("spec.storage.sharedVolume: rank 1 writes, and rank 0 reads it on another node")
        command = (
            "if [ $MUSTER_RANK = 1 ]; then hostname > /shared/file; exit\nfi\n"
            "until [ -s /shared/file ]; do sleep 0.2; done; cat /shared/file"
        )
        shared = {"mountPoint": "/shared", "sizeGB": 1, "storageClass": name, "accessMode": "ReadWriteMany"}
        await ended(here, command, "worker-0-1", storage={"sharedVolume": shared}, **spread())
    finally:
        await here.request("DELETE", f"{path_of}/{name}")


SPIN = python(
    "import os, time\n"
    "def all_reduce():\n    while True: time.sleep(0.05)\n"
    "def next_batch():\n    while True: time.sleep(0.05)\n"
    "next_batch() if os.environ['MUSTER_RANK'] == '1' else all_reduce()"
)


@pytest.mark.parametrize("way", with_core(["py-spy", "assist"], "py-spy"))
async def test_stacks_of_containers(here: Site, way: str) -> None:
    """By py-spy of the image `train`; the image `base` has none."""
    change = {"image": here.nodes.images["train"]} if way == "py-spy" else {"assist": True}
    await here.running("run", f"exec {SPIN}", members=3, **change)
    here.row.happens(f"muster stacks of three containers, by {way}")
    said = await here.muster("stacks", "run")
    here.row.says(" ".join(said.split()))
    most, odd, *_ = said.splitlines()
    assert most.startswith("2 ranks (0, 2) in all_reduce at <string>:"), said
    assert odd.startswith("rank 1 in next_batch at <string>:"), said
    raw = await here.muster("stacks", "run", "--rank", "1", "--raw")
    assert ("most recent call first" in raw) == (way == "assist"), raw
