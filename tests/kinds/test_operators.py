"""From a spec to a plan: each operator says only what is special about its framework."""

import itertools
from dataclasses import replace
from typing import Any

import pytest

from muster.api.manifest.experiment import parse_experiment
from muster.api.manifest.groups import DependsOn
from muster.api.manifest.operators import injected_env
from muster.api.names import ENV_PREFIX
from muster.kinds import experiments
from muster.kinds.experiments import REGISTRY, plan_of
from muster.kinds.pytorch.operator import OPENED_BY
from muster.state.vocabulary.group import Coordinator, Group, ProbeKind, Role
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Env, PodSpec, Port, Source, Toleration, Volume
from muster.state.vocabulary.record import ConditionType
from muster.state.vocabulary.rules import (
    GANG_FAILURE_RULES,
    Backoff,
    ClockAction,
    ClockName,
    FailureAction,
    FailureRule,
    Gate,
    GateCondition,
    Quantifier,
    SuccessRule,
)
from tests import builders
from tests.builders import Clock, clock_rules, sure
from tests.state.story import Story

COMMAND = PodSpec("example.org/train:1", "python train.py")
SMALL = {"cpus": 1, "memory": 1}
LITERAL = Source.LITERAL
INITIALIZE = "rank 0 opens it in jax.distributed.initialize()"
IDENTITY = (
    Env("MUSTER_EXPERIMENT", LITERAL, "run"),
    Env("MUSTER_EXPERIMENT_UID", LITERAL, "uid-1"),
    Env("MUSTER_EPOCH", Source.EPOCH),
    Env("MUSTER_RANK", Source.RANK),
)


FRAMEWORK = {
    "pytorch": (
        Env("PET_MASTER_ADDR", Source.COORDINATOR_HOST),
        Env("PET_MASTER_PORT", LITERAL, "23456"),
        Env("PET_NNODES", LITERAL, "4"),
        Env("PET_NODE_RANK", Source.RANK),
        Env("PET_NPROC_PER_NODE", LITERAL, "1"),
    ),
    "xgboost": (
        Env("DMLC_TRACKER_URI", Source.COORDINATOR_HOST),
        Env("DMLC_TRACKER_PORT", LITERAL, "9999"),
        Env("DMLC_NUM_WORKER", LITERAL, "4"),
        Env("DMLC_TASK_ID", Source.RANK),
    ),
}


def planned(operator: str = "jax", types: Any = None, deleted: bool = False, **spec: Any) -> Plan:
    metadata = {"uid": "uid-1", "name": "run", "namespace": "team", "generation": 3, "resourceVersion": "7"}
    if deleted:
        metadata["deletionTimestamp"] = "2026-01-31T12:00:00Z"
    said = {
        "operator": operator,
        "image": "example.org/train:1",
        "command": "python train.py",
        "types": types or {"worker": {"count": 4, "resources": SMALL}},
    }
    return plan_of(parse_experiment({"metadata": metadata, "spec": said | spec}))


def literals(group: Group) -> dict[str, str]:
    return {env.name: env.value for env in group.env if env.source is LITERAL}


def shaped(**resources: Any) -> PodSpec:
    (group,) = planned(types={"worker": {"resources": resources}}).groups
    return group.pod


# --- the frameworks ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("operator", ["jax", "pytorch", "xgboost", "jobset"])
def test_equal_variables_of_two_plans_are_one_object(operator: str) -> None:
    """Those of a gang of jax took 0.7 KB, and a fleet has 20,000 gangs."""
    one, other = (planned(operator, image=f"example.org/train:{tag}").groups[0].env for tag in (1, 2))
    assert [id(each) for each in one] == [id(each) for each in other]


def test_jax_ranks_find_rank_zero_by_address() -> None:
    run = planned()
    (group,) = run.groups
    assert group.env == (
        *IDENTITY,
        Env("JAXOPERATOR_COORDINATOR_HOST", Source.COORDINATOR_HOST),
        Env("JAXOPERATOR_COORDINATOR_ADDRESS", LITERAL, "$(JAXOPERATOR_COORDINATOR_HOST):1234"),
        Env("JAXOPERATOR_NUM_PROCESSES", LITERAL, "4"),
        Env("JAXOPERATOR_PROCESS_ID", Source.RANK),
        Env("JAX_COORDINATOR_ADDRESS", LITERAL, "$(JAXOPERATOR_COORDINATOR_ADDRESS)"),
        Env("MUSTER_POD_IP", Source.POD_IP),
        Env("JAX_COORDINATOR_BIND_ADDRESS", LITERAL, "$(MUSTER_POD_IP):1234"),
    )
    assert run.coordinator == Coordinator(0, 1234, ProbeKind.JAX, opened_by=INITIALIZE)


@pytest.mark.parametrize(("operator", "probe"), [("jax", ProbeKind.JAX), ("pytorch", ProbeKind.TORCH)])
def test_a_single_process_waits_for_no_other(operator: str, probe: ProbeKind) -> None:
    for count, asked in ((0, ProbeKind.NONE), (1, ProbeKind.NONE), (2, probe)):
        run = planned(operator, {"worker": {"count": count, "resources": SMALL}})
        assert sure(run.coordinator).probe is asked


@pytest.mark.parametrize(("operator", "port"), [("pytorch", 23456), ("xgboost", 9999)])
def test_pytorch_and_xgboost_meet_at_the_master(operator: str, port: int) -> None:
    types = {"master": {"count": 1, "resources": SMALL}, "worker": {"count": 3, "resources": SMALL}}
    run = planned(operator, types)
    assert [(group.name, group.first_rank) for group in run.groups] == [("master", 0), ("worker", 1)]
    for group in run.groups:
        assert group.env == (
            *IDENTITY,
            Env("MASTER_ADDR", Source.COORDINATOR_HOST),
            Env("MASTER_PORT", LITERAL, str(port)),
            Env("WORLD_SIZE", LITERAL, "4"),
            Env("RANK", Source.RANK),
            *FRAMEWORK[operator],
        )
    probe = {"pytorch": ProbeKind.TORCH, "xgboost": ProbeKind.NONE}[operator]
    opened_by = {"pytorch": OPENED_BY, "xgboost": ""}[operator]
    assert run.coordinator == Coordinator(0, port, probe, may_close=operator == "pytorch", opened_by=opened_by)


@pytest.mark.parametrize("operator", ["pytorch", "xgboost"])
def test_pytorch_and_xgboost_have_no_addresses_of_workers(operator: str) -> None:
    (group,) = planned(operator, {"worker": {"count": 3, "resources": SMALL}}).groups
    assert {"WORKER_ADDRS", "WORKER_PORT"}.isdisjoint(env.name for env in group.env)


def test_a_template_may_set_the_variables_of_aichors_platform() -> None:
    variables = [{"name": name, "value": "x"} for name in ("AICHOR_OUTPUT_PATH", "VCS_SHA", "AWS_ENDPOINT_URL")]
    template = {"spec": {"containers": [{"name": "main", "env": variables}]}}
    (group,) = planned("jax", {"worker": {"count": 2, "resources": SMALL}}, template=template).groups
    assert group.template["spec"]["containers"][0]["env"] == variables


def test_a_pytorch_gang_that_never_opens_its_store_reads_what_opens_it() -> None:
    story = Story(planned("pytorch", {"worker": {"count": 2, "resources": SMALL}}))
    story.launch()
    story.start()
    story.look(1)
    story.silence()
    story.look(story.plan.coordinator.first_serve + 1 if story.plan.coordinator else 0)
    stuck = sure(story.kept.condition(ConditionType.STUCK))
    assert stuck.reason == "CoordinatorNotServing"
    assert "; rank 0 opens its store in torch.distributed.init_process_group()" in stuck.message


def test_torchrun_starts_a_process_for_each_gpu_of_a_pod() -> None:
    gpus = {"accelerators": {"gpu": {"count": 8, "type": "gpu"}}}
    (group,) = planned("pytorch", {"worker": {"count": 2, "resources": SMALL | gpus}}).groups
    wanted = {"PET_NNODES": "2", "PET_NPROC_PER_NODE": "8", "WORLD_SIZE": "2"}
    assert wanted.items() <= literals(group).items()


def test_a_jobset_is_groups_of_jobs_of_pods_that_meet_nowhere() -> None:
    types = {
        "driver": {"count": 2, "resources": SMALL},
        "actor": {"count": 3, "completions": 4, "parallelisms": 2, "resources": SMALL},
    }
    run = planned("jobset", types)
    assert run.coordinator is None
    actor, driver = run.groups
    assert (actor.replicas, actor.completions, actor.parallelism, actor.first_rank, actor.first_job) == (3, 4, 2, 0, 0)
    assert (driver.replicas, driver.completions, driver.parallelism) == (2, 1, 1)
    assert (driver.first_rank, driver.first_job) == (12, 3)
    assert (actor.name, run.size, run.together) == ("actor", 14, 2 + 6)
    assert actor.env == (
        *IDENTITY,
        Env("JOB_COMPLETION_INDEX", Source.POD_INDEX),
        Env("JOB_INDEX", Source.JOB_INDEX),
        Env("GLOBAL_REPLICAS", LITERAL, "5"),
        Env("JOB_GLOBAL_INDEX", Source.JOB_GLOBAL_INDEX),
        Env("REPLICATED_JOB_NAME", LITERAL, "actor"),
        Env("REPLICATED_JOB_REPLICAS", LITERAL, "3"),
    )
    assert literals(driver)["REPLICATED_JOB_REPLICAS"] == "2"


def test_ranks_of_a_jobset_do_not_depend_on_the_written_order_of_its_types() -> None:
    """The members of a JSON object have no order; a real API server returns them sorted, others as they were sent."""
    for order in itertools.permutations(("learner", "actor", "evaluator")):
        run = planned("jobset", {name: {"count": 2, "resources": SMALL} for name in order})
        ranks = {group.name: group.first_rank for group in run.groups}
        assert ranks == {"actor": 0, "evaluator": 2, "learner": 4}


# --- the whole plan ----------------------------------------------------------------------------------------------


def test_a_plain_spec_is_a_plain_plan() -> None:
    run = planned()
    (group,) = run.groups
    usual = {
        ClockName.STARTING: Clock(600.0, ClockAction.ALERT),
        ClockName.TERMINATING: Clock(120.0, ClockAction.ALERT),
    }
    assert run == builders.plan(
        generation=3, groups=(group,), coordinator=Coordinator(0, 1234, ProbeKind.JAX, opened_by=INITIALIZE),
        clocks=usual, rules=GANG_FAILURE_RULES, limit=run.restarts.limit, backoff=Backoff(1.0, 300.0, 2.0),
        same_failure_limit=2, grace=2, survivor_exits=frozenset({134}), shape=run.edits.shape,
    )  # fmt: skip
    pod = group.pod
    assert (pod.image, pod.command) == ("example.org/train:1", "python train.py")
    assert (pod.grace, pod.pre_stop, pod.ptrace, pod.volumes) == (30, (), False, ())
    assert (group.role, group.ports, group.gates) == (Role.WORKER, (Port("coordinator", 1234),), ())
    assert (group.name, group.replicas, group.completions, group.parallelism) == ("worker", 1, 4, 4)
    assert (group.first_rank, group.first_job) == (0, 0)


def test_everything_that_can_be_reported_is_in_the_plan() -> None:
    run = planned(
        deleted=True,
        suspend=True,
        cancel=True,
        startup={"order": "CoordinatorFirst"},
        restartPolicy={"backoffLimit": 7, "backoff": {"initial": "2s", "max": "1m", "factor": 3}},
        timeout="1h",
        clocks={
            "pending": {"after": "10m", "action": "Restart"},
            "starting": {"after": "20m", "action": "Fail"},
            "assembly": {"after": "5m", "action": "Fail"},
            "run": {"after": "2h", "action": "Restart"},
            "progress": {"after": "15m", "action": "Alert"},
            "terminating": {"after": "30s", "action": "Restart"},
        },
        gracefulTermination={"terminationGracePeriodSeconds": 90, "shutdownCommand": ["sh", "-c", "save"]},
        securityContext={"ptrace": True},
        storage={"attachExistingPVCs": [{"name": "data", "mountPoint": "/mnt/data"}]},
        tensorboard={"enabled": True, "usePVC": {"enabled": True, "name": "logs"}},
    )
    assert (run.lifecycle.deleting, run.lifecycle.suspend, run.lifecycle.cancel) == (True, True, True)
    (group,) = run.groups
    assert (group.gates, run.restarts.limit, run.restarts.backoff) == (
        (Gate(GateCondition.SERVING),),
        7,
        Backoff(2, 60, 3),
    )
    stated = {
        ClockName.TOTAL: Clock(3600, ClockAction.FAIL),
        ClockName.PENDING: Clock(600, ClockAction.RESTART),
        ClockName.STARTING: Clock(1200, ClockAction.FAIL),
        ClockName.ASSEMBLY: Clock(300, ClockAction.FAIL),
        ClockName.RUN: Clock(7200, ClockAction.RESTART),
        ClockName.PROGRESS: Clock(900, ClockAction.ALERT),
        ClockName.TERMINATING: Clock(30, ClockAction.RESTART),
    }
    assert run.clocks == clock_rules(stated)
    assert (group.pod.grace, group.pod.pre_stop, group.pod.ptrace) == (90, ("sh", "-c", "save"), True)
    assert run.restarts.grace is None, "a grace that the manifest states holds for restarts too"
    assert group.pod.volumes == (Volume("data", "/mnt/data"), Volume("logs", "/tensorboard"))


def test_a_shutdown_command_alone_keeps_the_usual_grace() -> None:
    run = planned(gracefulTermination={"shutdownCommand": ["save"]})
    assert (run.groups[0].pod.grace, run.groups[0].pod.pre_stop) == (30, ("save",))


def test_a_grace_of_zero_is_a_grace() -> None:
    assert planned(gracefulTermination={"terminationGracePeriodSeconds": 0}).groups[0].pod.grace == 0


@pytest.mark.parametrize(
    ("tensorboard", "mounted"),
    [
        ({"enabled": True, "usePVC": {"enabled": True, "name": "logs"}}, True),
        ({"enabled": False, "usePVC": {"enabled": True, "name": "logs"}}, False),
        ({"enabled": True, "usePVC": {"enabled": False, "name": "logs"}}, False),
        ({"enabled": True}, False),
    ],
)
def test_tensorboards_claim_is_mounted_where_it_is_wanted(tensorboard: dict[str, Any], mounted: bool) -> None:
    volumes = (Volume("logs", "/tensorboard"),) if mounted else ()
    assert planned(tensorboard=tensorboard).groups[0].pod.volumes == volumes


# --- the shape of a pod ------------------------------------------------------------------------------------------


def test_memory_is_requested_and_limited_alike_and_cpus_may_burst() -> None:
    assert shaped(cpus=2, cpuLimitRatio=1.5, memory=4) == replace(
        COMMAND, requests={"cpu": "2", "memory": "4G"}, limits={"cpu": "3", "memory": "4G"}
    )


def test_devices_are_requested_and_limited_and_placed() -> None:
    gpu = {"gpu": {"count": 8, "product": "NVIDIA-H100"}}
    shape = shaped(
        **SMALL,
        cpuLimitRatio=1,
        accelerators=gpu,
        rdma={"devices": ["sriov_a", "sriov_b"]},
        shmSizeGB=2,
        extraSelectors={"zone": "a"},
    )
    devices = {"nvidia.com/gpu": "8", "rdma/sriov_a": "1", "rdma/sriov_b": "1"}
    assert shape == replace(
        COMMAND,
        requests={"cpu": "1", "memory": "1G"} | devices,
        limits={"cpu": "1", "memory": "1G"} | devices,
        shm_bytes=2_000_000_000,
        node_selector={"zone": "a", "nvidia.com/gpu.product": "NVIDIA-H100"},
    )


def test_no_gpus_ask_for_no_model() -> None:
    assert shaped(**SMALL, accelerators={"gpu": {"count": 1}}).node_selector == {}, "any model will do"
    shape = shaped(**SMALL, accelerators={"gpu": {"count": 0, "product": "NVIDIA-H100"}})
    assert (shape.node_selector, "nvidia.com/gpu" in shape.requests) == ({}, False)


def test_a_tpu_slice_is_a_job_of_its_hosts() -> None:
    tpu = {"type": "tpu-v5-lite-podslice", "topology": "4x4", "tpuChipsCount": 4}
    asked = SMALL | {"accelerators": {"tpu": tpu}, "extraSelectors": {"zone": "a"}}
    (group,) = planned(types={"worker": {"count": 2, "resources": asked}}).groups
    assert (group.replicas, group.completions) == (2, 4)
    assert group.pod.requests["google.com/tpu"] == group.pod.limits["google.com/tpu"] == "4"
    assert group.pod.node_selector == {
        "zone": "a",
        "cloud.google.com/gke-tpu-accelerator": "tpu-v5-lite-podslice",
        "cloud.google.com/gke-tpu-topology": "4x4",
    }


def test_tolerations_say_nothing_with_empty_words() -> None:
    shape = shaped(
        **SMALL, extraTolerations=[{"key": "gpu", "value": "yes", "effect": "NoSchedule"}, {"operator": "Exists"}]
    )
    assert shape.tolerations == (Toleration("gpu", "Equal", "yes", "NoSchedule"), Toleration("", "Exists", "", ""))


# --- the pod template --------------------------------------------------------------------------------------------


def test_a_types_template_is_merged_over_the_experiments() -> None:
    types = {"a": {"resources": SMALL, "template": {"spec": {"schedulerName": "volcano"}}}, "b": {"resources": SMALL}}
    template = {"metadata": {"labels": {"team": "vision"}}, "spec": {"schedulerName": "kueue"}}
    first, second = planned("jobset", types, template=template).groups
    assert first.template == {"metadata": {"labels": {"team": "vision"}}, "spec": {"schedulerName": "volcano"}}
    assert second.template == template
    (plain,) = planned().groups
    assert plain.template == {}


@pytest.mark.parametrize("operator", sorted(REGISTRY.keys() - {"kuberay"}))
def test_the_variables_a_template_cannot_set_are_those_that_are_injected(operator: str) -> None:
    (group,) = planned(operator).groups
    injected = {env.name for env in group.env if not env.name.startswith(ENV_PREFIX)}
    assert injected == injected_env(operator)


@pytest.mark.parametrize(("clock", "seconds"), [(None, 600), ("30s", 600), ("20m", 1200)])
def test_a_restart_waits_for_long_graces_as_long_as_the_clock_over_them(clock: str | None, seconds: float) -> None:
    clocks = {"terminating": {"after": clock}} if clock else {}
    assert planned(clocks=clocks).restarts.longest_grace == seconds


# --- gates and success -------------------------------------------------------------------------------------------


def test_gates_of_a_type_follow_those_of_the_startup_order() -> None:
    awaited = [{"group": "master", "status": "Created"}, {"group": "master", "status": "Serving"}]
    types = {"master": {"resources": SMALL}, "worker": {"resources": SMALL, "dependsOn": awaited}}
    run = planned("pytorch", types, startup={"order": "CoordinatorFirst"})
    first = replace(run.coordinator, probe=ProbeKind.JAX) if run.coordinator else None
    passive = run.coordinator is not None and run.coordinator.probe.passive
    serving = Gate(GateCondition.READY, "master") if passive else Gate(GateCondition.SERVING)
    assert run.groups[0].gates == run.groups[1].gates[:1]
    assert run.groups[1].gates[1:] == (Gate(GateCondition.CREATED, "master"), serving)
    assert experiments.awaited(DependsOn(group="master", status="Serving"), first) == Gate(GateCondition.SERVING)


def test_the_success_policy_of_the_spec_takes_the_place_of_the_operators() -> None:
    types = {"a": {"resources": SMALL}, "b": {"resources": SMALL}}
    assert planned("jobset", types).success == SuccessRule()
    policy = {"operator": "Any", "targets": ["b"]}
    assert planned("jobset", types, successPolicy=policy).success == SuccessRule(Quantifier.ANY, ("b",))


def test_a_rule_of_the_spec_comes_before_the_operators_and_counts_failures_only() -> None:
    rules = [
        {"name": "bad-config", "action": "FailExperiment", "onExitCodes": [78]},
        {"action": "RestartMember", "targetGroups": ["a"], "limit": 4},
        {"action": "RestartJob", "counted": False, "onMessagePatterns": ["NCCL"]},
    ]
    found = planned("jobset", {"a": {"resources": SMALL}, "b": {"resources": SMALL}}, failurePolicy={"rules": rules})
    fail, member, job = FailureAction.FAIL_EXPERIMENT, FailureAction.RESTART_MEMBER, FailureAction.RESTART_JOB
    assert found.failures.rules == (
        FailureRule(fail, True, exit_codes=(78,), counted=False, name="bad-config"),
        FailureRule(fail, False, exit_codes=(78,), name="bad-config"),
        FailureRule(member, True, ("a",), counted=False, name="2", limit=4),
        FailureRule(member, False, ("a",), name="2", limit=4),
        FailureRule(job, messages=("NCCL",), counted=False, name="3"),
        *GANG_FAILURE_RULES,
    )
    assert found.piecewise


def test_the_restart_policy_is_in_the_plan() -> None:
    stated = {
        "backoff": {"jitter": 0.5},
        "avoidNodes": {"most": 3},
        "sameFailureLimit": 3,
        "sameFailureAction": "Fail",
        "renewOnProgress": True,
    }
    found = planned(restartPolicy=stated)
    assert found.restarts.jitter == 0.5
    assert (found.restarts.same_failure_limit, found.restarts.same_failure_ends, found.restarts.renews) == (
        3,
        True,
        True,
    )
    assert (found.restarts.avoid_nodes_after, found.restarts.most_avoided) == (2, 3)
    assert planned().restarts.avoid_nodes_after is None


# --- the shared volume -------------------------------------------------------------------------------------------


def test_a_shared_volume_is_a_claim_of_its_own_that_every_group_mounts() -> None:
    shared = {"mountPoint": "/mnt/shared", "sizeGB": 1.5, "accessMode": "ReadWriteMany"}
    storage = {"sharedVolume": shared, "attachExistingPVCs": [{"name": "data", "mountPoint": "/data"}]}
    types = {"a": {"resources": SMALL}, "b": {"resources": SMALL}}
    run = planned("jobset", types, storage=storage)
    (claim,) = run.claims
    assert claim.name.startswith("run-shared-")
    assert claim.spec == {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1500000000"}}}
    assert (claim.owned, claim.exclusive) == (True, True)
    for group in run.groups:
        assert group.pod.volumes == (Volume(claim.name, "/mnt/shared"), Volume("data", "/data"))
