"""Kubeflow's training jobs of version v1 as Experiments.

A job has replica specs by type, each with a pod template and a restart policy, and one run policy.
"""

from dataclasses import dataclass
from functools import partial
from typing import Final

from muster.kinds.convert.draft import Converter, Draft, Fields
from muster.kinds.convert.pod import Pod, deadline_of, end_of, members_of, pod_of, spec_of, suspend_of


@dataclass(frozen=True, slots=True)
class Framework:
    """Properties of one of the kinds."""

    operator: str
    """The operator of Muster; the container of a member has the same name."""
    specs: str
    """The field with the replica specs."""
    restart_policy: str = "Never"
    """Policy of a replica spec that states none."""
    variables: tuple[tuple[str, str], ...] = ()
    """Variables that the operator of Kubeflow sets in a member and Muster's does not, beside PYTHONUNBUFFERED."""
    master: bool = True


def job_of(framework: Framework, draft: Draft, source: Fields) -> None:
    """Write the Experiment of a job of that framework."""
    spec = spec_of(draft, source)
    draft.spec["operator"] = framework.operator
    specs = spec.fields(framework.specs)
    replicas = {
        name.lower(): specs.fields(name)
        for name in specs.node.entries
        if name.lower() == "worker" or (framework.master and name.lower() == "master")
    }
    specs.rest(f"not carried over: a type that the operator {framework.operator} does not have")
    pods: dict[str, Pod] = {}
    counts: dict[str, int] = {}
    policies: dict[str, str] = {}
    for name in sorted(replicas):  # the master holds the first rank
        counts[name] = replicas[name].number("replicas", 1)
        policies[name] = replicas[name].text("restartPolicy") or framework.restart_policy
        pods[name] = pod_of(draft, replicas[name].fields("template"), framework.operator)
        pods[name].set_environment({"PYTHONUNBUFFERED": "1", **dict(framework.variables)})
        replicas[name].rest()
    if not pods:
        raise draft.report.refuse(spec.at(framework.specs), "there is no Worker", f"write {framework.specs}.Worker")
    _types(draft, replicas, pods, counts)
    _restarts(draft, spec, replicas, policies)
    spec.rest()


def _types(draft: Draft, replicas: dict[str, Fields], pods: dict[str, Pod], counts: dict[str, int]) -> None:
    """Write one worker if the types ask for the same, else a master beside it."""
    if len(pods) == 2:
        members_of(draft, {"0": pods["master"], "*": pods["worker"]}, "RANK")
        if pods["master"].type_fields(draft) == pods["worker"].type_fields(draft):
            counts, pods = {"worker": sum(counts.values())}, {"worker": pods["worker"]}
    else:
        members_of(draft, pods, "RANK")
        counts = {"worker": sum(counts.values())}
        pods = {"worker": next(iter(pods.values()))}
    draft.spec["types"] = {
        name: draft.placed({"count": counts[name], **pod.type_fields(draft)}, pod.source.loc)
        for name, pod in pods.items()
    }
    if "master" in pods:
        draft.spec["successPolicy"] = {"targets": ["master"]}
    elif "master" in replicas:
        replicas["master"].note(
            "the experiment succeeds when all members have; the job of Kubeflow when its master has"
        )


def _restarts(draft: Draft, spec: Fields, replicas: dict[str, Fields], policies: dict[str, str]) -> None:
    """Write the run policy, and what a failed member is followed by."""
    run = spec.fields("runPolicy")
    limit = run.value("backoffLimit", int)
    if set(policies.values()) == {"Never"}:
        if limit:
            run.note("restartPolicy Never ends the job at the first failure: backoffLimit: 0 is written")
        draft.spec["restartPolicy"] = {"backoffLimit": 0}
    else:
        if limit is not None:
            draft.spec["restartPolicy"] = {"backoffLimit": limit}
        for name, policy in policies.items():
            if policy == "ExitCode":
                replicas[name].lose("restartPolicy", "not carried over: exit codes 1 to 127 restart the gang, too")
            elif policy != "Never":
                message = f"{policy} restarts one container in place; Muster restarts the gang as a whole"
                replicas[name].note(message, "", *(("restartPolicy",) if "restartPolicy" in replicas[name] else ()))
    deadline_of(draft, run)
    suspend_of(draft, run)
    if run.text("cleanPodPolicy") in ("All", "Running"):
        run.lose("cleanPodPolicy", "not carried over: finished pods stay, with their logs, until the experiment goes")
    end_of(draft, run)
    run.lose("schedulingPolicy", "not carried over: an Experiment has no pod group", "queue it with Kueue")
    run.rest()
    spec.lose("elasticPolicy", "not carried over: the size of an experiment does not change")
    processes = spec.value("nprocPerNode", (str, int))
    if processes is not None:
        message = f"write --nproc-per-node {processes} into the command of torchrun"
        draft.report.notes.append(draft.report.problem(spec.at("nprocPerNode"), message))


JAXJOB: Final = Framework(
    "jax",
    "jaxReplicaSpecs",
    variables=(
        ("COORDINATOR_ADDRESS", "$(JAXOPERATOR_COORDINATOR_HOST)"),
        ("COORDINATOR_PORT", "1234"),
        ("NUM_PROCESSES", "$(JAXOPERATOR_NUM_PROCESSES)"),
        ("PROCESS_ID", "$(JAXOPERATOR_PROCESS_ID)"),
    ),
    master=False,
)
PYTORCHJOB: Final = Framework("pytorch", "pytorchReplicaSpecs", "OnFailure")
XGBOOSTJOB: Final = Framework("xgboost", "xgbReplicaSpecs")
DECLARED: Final = tuple(
    Converter(kind, "kubeflow.org/v1", partial(job_of, framework))
    for kind, framework in (("JAXJob", JAXJOB), ("PyTorchJob", PYTORCHJOB), ("XGBoostJob", XGBOOSTJOB))
)
