"""The plan of a JAXJob: pods with the names, labels and variables of Kubeflow's operator."""

from typing import Any

from muster.kinds.jax import run as jaxjob
from muster.kinds.registry import RUN_KINDS
from muster.reconcilers.render.pod import render_pod
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.plan import MAX_EPOCH
from muster.state.vocabulary.rules import ClockName
from tests.fakes.plans import member_of


def obj(replicas: int = 2, **policy: Any) -> dict[str, Any]:
    template = {"spec": {"containers": [{"name": "jax", "image": "x", "env": [{"name": "PROCESS_ID", "value": "9"}]}]}}
    worker = {"replicas": replicas, "restartPolicy": "OnFailure", "template": template}
    metadata = {"name": "train", "namespace": "team", "uid": "u-1", "generation": 3}
    return {"metadata": metadata, "spec": {"runPolicy": policy, "jaxReplicaSpecs": {"Worker": worker}}}


def test_the_pods_are_those_of_kubeflow() -> None:
    """Their names end in five characters more, and the address in the domain."""
    plan = jaxjob.plan_of(obj())
    first, second = (render_pod(plan, member_of(plan, rank), 0) for rank in (0, 1))
    assert second["metadata"]["name"].startswith("train-worker-1-")
    kubeflow = {
        name.removeprefix("training.kubeflow.org/"): value
        for name, value in first["metadata"]["labels"].items()
        if name.startswith("training.kubeflow.org/")
    }
    assert kubeflow == {
        "job-name": "train", "operator-name": "jaxjob-controller", "replica-type": "worker", "replica-index": "0",
        "job-role": "master",
    }  # fmt: skip
    assert "training.kubeflow.org/job-role" not in second["metadata"]["labels"]
    assert {each["name"]: each.get("value") for each in second["spec"]["containers"][0]["env"]} == {
        "PYTHONUNBUFFERED": "1", "COORDINATOR_PORT": "6666", "COORDINATOR_ADDRESS": "train-worker-0.train",
        "NUM_PROCESSES": "2", "PROCESS_ID": "1", "JAX_COORDINATOR_ADDRESS": "$(COORDINATOR_ADDRESS):6666",
        "MUSTER_POD_IP": None, "JAX_COORDINATOR_BIND_ADDRESS": "$(MUSTER_POD_IP):6666", "MUSTER_EPOCH": "0",
        "MUSTER_RANK": "1",
    }  # fmt: skip
    assert (second["spec"]["hostname"], second["spec"]["subdomain"]) == ("train-worker-1", "train")


def test_the_run_policy_becomes_budget_and_clock() -> None:
    """Without a back-off limit there is none."""
    plan = jaxjob.plan_of(obj(backoffLimit=4, activeDeadlineSeconds=60, suspend=True))
    total = plan.clock(ClockName.TOTAL)
    assert (plan.restarts.limit, total and total.after, plan.lifecycle.suspend, plan.generation) == (4, 60.0, True, 3)
    bare = jaxjob.plan_of(obj())
    assert (bare.restarts.limit, bare.clock(ClockName.TOTAL)) == (MAX_EPOCH, None)


def test_the_coordinator_of_several_workers_is_asked_as_jax_answers() -> None:
    """One worker alone need not open the port."""
    plans = [jaxjob.plan_of(obj(size)) for size in (2, 1)]
    found = [plan.coordinator for plan in plans]
    assert [(each.probe, each.port, each.rank) for each in found if each] == [
        (ProbeKind.JAX, 6666, 0), (ProbeKind.NONE, 6666, 0),
    ]  # fmt: skip


def test_a_jaxjob_is_musters_unless_it_names_another_manager() -> None:
    """Kubeflow has no default for the field."""
    managers = {None: True, "": True, "muster.dev/muster": True, "kubeflow.org/training-operator": False}
    for manager, ours in managers.items():
        assert RUN_KINDS["JAXJob"].ours({"spec": {"runPolicy": {"managedBy": manager}}}) is ours
    assert RUN_KINDS["JAXJob"].ours({"spec": {"runPolicy": {"managedBy": ["x"]}}}) is False
    assert RUN_KINDS["JAXJob"].ours({"spec": None}) is True
