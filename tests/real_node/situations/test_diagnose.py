"""`muster diagnose` on real nodes by a reader with the stated rights, beside the musterd of the chart in its pods.

The rows of the control plane are played again. What its stand-in pretends, kubelets and programs do here.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from deploy.helm.copies import CHART
from muster.cli.processes.stack import free_port
from tests.real.diagnosing import CALLER, EVENTS, READER, diagnosed, entitled, find_the_same
from tests.real.ground import STAND_IN
from tests.real.namespace import WITHIN, Object, eventually
from tests.real.plane.programs import Program
from tests.real.situations.test_diagnose import FAULTS, FETCH, RUN, Fault
from tests.real.situations.test_diagnose_controllers import PROJECTS, Made
from tests.real.situations.test_readers import read
from tests.real_node.addresses import REGISTRY, SLOW_REGISTRY
from tests.real_node.machine.machine import Machine
from tests.real_node.site import WORK, Site, python
from tests.real_node.situations.test_chart import OF, led_by
from tests.real_node.situations.test_ends import ALLOCATE, FILL
from tests.real_node.situations.test_release import WAIT, swarm
from tests.real_node.slow_registry import slow_registry

pytestmark = pytest.mark.timeout(900)
EXEC = ("--verb=get,create", "--resource=pods/exec")
LAST = "ValueError: shard 7 has no rows"


def shell(command: str, **container: Any) -> Object:
    """The fields of a container that runs it."""
    return {"command": ["sh", "-c", command], **container}


SCRIPTS = {
    RUN: shell("sleep 900"),
    "*: wait ErrImagePull": {"image": f"{REGISTRY}/base:absent"},
    "*: wait CreateContainerConfigError": {
        "env": [{"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "absent", "key": "token"}}}]
    },
    "*: init-wait ErrImagePull": shell("true"),
    "*: run 1, exit 7": shell(f"echo {LAST} >&2; exit 7", terminationMessagePolicy="FallbackToLogsOnError"),
    "*: run 1, oom": shell(f"exec {python(ALLOCATE)}", resources={"limits": {"memory": "64Mi"}}),
    "*: run 1, evicted": shell(FILL.format("/file"), resources={"limits": {"ephemeral-storage": "50Mi"}}),
    "*: unready, run 900": shell("sleep 900", readinessProbe={"exec": {"command": ["false"]}}),
    "*: pull 900": {"image": f"{SLOW_REGISTRY}/base:late"},
    "*: run 1, exit 0": shell("sleep 1"),
}
"""The fields of the container by the script of the pretended member. Another script is a command of its shell."""
PRETENDED = {each.name: each for each in FAULTS}
ENDS = "if [ $JOB_COMPLETION_INDEX = 1 ]; then exit 7; fi; sleep 900"
GANGS = (
    *(PRETENDED[name] for name in ("image", "config", "init-image", "exit", "memory", "unready", "done")),
    replace(PRETENDED["pulls"], cause="Starting"),  # the sandbox is there
    replace(PRETENDED["evicted"], cause="Crashed"),  # for its own excess
    Fault("active", RUN, (1,), "Crashed", {"activeDeadlineSeconds": 3}),
    replace(
        PRETENDED["init-exit"], script=RUN, pod={"initContainers": [{**FETCH["initContainers"][0], **shell("exit 2")}]}
    ),
    Fault("index", ENDS, (1,), "Crashed", job={"backoffLimitPerIndex": 0}),
)


def placed(item: Any, image: str) -> Any:
    """An object, or a part of one, with containers of that image on the nodes for members."""
    if isinstance(item, list):
        return [placed(each, image) for each in item]
    if not isinstance(item, dict):
        return item
    made = {key: placed(value, image) for key, value in item.items()}
    if made.get("nodeSelector") == STAND_IN:
        made["nodeSelector"] = WORK
    if "command" in made:
        script = made["command"][-1]
        made |= {"image": image, **SCRIPTS.get(script, shell(script))}
    return made


def on_nodes(here: Site, gang: Fault | Made) -> Made:
    """A row of the control plane for real nodes."""
    made = placed(gang.objects(Path(here.ground.folder)), here.nodes.images["base"])
    return Made(gang.run, tuple(made), gang.cause, gang.ranks, gang.phase, gang.beside)


@asynccontextmanager
async def page(here: Site, kinds: str) -> AsyncIterator[str]:
    """The page of the musterd that leads, at an address of this machine; it watches these kinds meanwhile."""
    await here.helm("upgrade", str(CHART), "--reuse-values", "--set", f"watch.kinds={kinds}", *WAIT)
    try:
        leader = str((await led_by(here))["metadata"]["name"])
        port = free_port()
        forward = ("--kubeconfig", here.ground.admin, *OF, "port-forward", f"pod/{leader}", f"{port}:8080")
        log = Path(here.ground.folder, f"{here.namespace}-page.log")
        program = Program("port-forward", [here.ground.kubectl, *forward], log)
        url = f"http://127.0.0.1:{port}"
        try:
            await eventually(
                lambda: asyncio.to_thread(read, f"{url}/experiments.json"), holds=lambda found: found[0] != 0
            )
            yield url
        finally:
            program.end()
        lines = (await here.kubectl(*OF, "logs", leader)).splitlines()
        assert [line for line in lines if "forbidden" in line.lower() and " cannot " in line] == []
    finally:
        await here.helm("rollback", *WAIT)


async def loses_power(here: Site, machine: Machine, pod: str) -> None:
    """The machine of a pod, once the pod runs."""
    await here.kubectl("wait", "--for=create", f"pod/{pod}", WITHIN)
    await here.kubectl("wait", "--for=jsonpath={.status.phase}=Running", f"pod/{pod}", WITHIN)
    await asyncio.to_thread(machine.power_off)


@pytest.mark.alone
async def test_what_kubelets_report_has_the_cause_ranks_and_sentence_of_musterd(here: Site) -> None:
    async with page(here, "pods\\,jobs") as url, here.machines(1) as (one,), slow_registry():
        lost = Fault("lost", RUN, (1,), "NodeLost", {"nodeSelector": here.own})
        gangs = [
            *(on_nodes(here, each) for each in (*GANGS, lost)),
            Made("pods/swarm", tuple(swarm(here)), "NotArrived", (2,)),
        ]
        here.row.happens(f"{len(gangs)} gangs of pods, each with a fault, under a musterd and muster diagnose")
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(loses_power(here, one, "lost-1"), name="power")
            found = await find_the_same(here, url, gangs, ("--verb=get", "--resource=jobs"), EVENTS)
        words = {
            "exit": LAST,
            "evicted": "ephemeral local storage usage exceeds",
            "active": "longer than the specified deadline",
        }
        assert [name for name, said in words.items() if said not in str(found[f"pods/{name}"]["findings"])] == []


@pytest.mark.alone
@pytest.mark.parametrize("name", PROJECTS)
async def test_what_a_real_controller_has_made_is_diagnosed_on_real_nodes(here: Site, name: str) -> None:
    project = PROJECTS[name]
    async with project.running(here), page(here, project.kinds) as url:
        await find_the_same(here, url, [on_nodes(here, each) for each in project.gangs], *project.rights, EVENTS)


@pytest.mark.core
async def test_a_rank_that_never_calls_is_named_with_its_stack_through_the_kubelet(here: Site) -> None:
    """By pods that nothing joins but a selector: ports are forwarded and commands run by the real kubelet."""
    await entitled(here, "caller", READER, CALLER, EXEC)
    config, (service, *pods) = await here.account("caller"), swarm(here)
    for pod in pods:
        del pod["metadata"]["annotations"]
    await here.apply(service, *pods)
    here.row.happens("muster diagnose pods -l ... --stacks of three jax ranks, of which one never calls")
    options = ("--operator", "jax", "--coordinator", "1234", "--ranks", "3")

    async def called() -> dict[str, Any]:
        _, found = await diagnosed(here, config, "pods", "-l", "muster.dev/observe=swarm", *options)
        return found if found["arrived"] == 2 else {}

    await eventually(called)
    _, found = await diagnosed(here, config, "pods", "-l", "muster.dev/observe=swarm", *options, "--stacks")
    groups = [(each["ranks"], each["does"]) for each in found["stacks"]["groups"]]
    here.row.says(f"{found['message']}; {groups}")
    assert [each["rank"] for each in found["missingRanks"]] == [2]
    assert groups == [([0, 1], "in initialize at <string>:9"), ([2], "in <module> at <string>:6")]
    assert found["unknown"] == {}
