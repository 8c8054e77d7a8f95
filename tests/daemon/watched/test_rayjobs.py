"""A RayJob on a whole daemon: its submitter ends, and the pods of its cluster still run."""

import asyncio

from muster.state.vocabulary.record import Phase
from tests.daemon.watched.world import World, virtually

RAYJOB = "/apis/ray.io/v1/namespaces/team/rayjobs/rj"
CLUSTER = {
    "headGroupSpec": {"rayStartParams": {"include-dashboard": "false"}, "template": {}},
    "workerGroupSpecs": [{"groupName": "small", "replicas": 2, "template": {}}],
}
SUBMITTER = {"ray.io/originated-from-crd": "RayJob", "ray.io/originated-from-cr-name": "rj"}


@virtually
async def test_the_end_of_its_submitter_is_no_alert_while_its_own_controller_has_not_ended_it(world: World) -> None:
    world.serve("rayjobs")
    status = {"rayClusterName": "rc", "jobId": "rj-x", "jobDeploymentStatus": "Running", "jobStatus": "RUNNING"}
    spec = {"entrypoint": "python x.py", "rayClusterSpec": CLUSTER}
    world.api.put(RAYJOB, {"kind": "RayJob", "metadata": {"namespace": "team"}, "spec": spec, "status": status})
    world.pod("rc-head", labels={"ray.io/cluster": "rc", "ray.io/group": "headgroup"})
    for index in range(2):
        labels = {"ray.io/cluster": "rc", "ray.io/group": "small", "ray.io/worker-group-replica-index": str(index)}
        world.pod(f"rc-small-{index}", labels=labels, ip=f"10.0.0.{index + 2}")
    world.pod("rj-submitter", labels=SUBMITTER, ip="10.0.0.9")
    await world.daemon("rayjobs")
    assert world.found("rayjob/rj").record.message == "4/4 members are ready"
    world.end("rj-submitter")
    await asyncio.sleep(600)
    run = world.found("rayjob/rj").record
    assert (run.phase, run.blocked) == (Phase.RUNNING, None)
    assert run.message == "4/4 members are ready, or have ended with exit code 0"
    assert "RanksEnded" not in "".join(world.said())
