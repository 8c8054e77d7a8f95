"""Operator ``kuberay``: a Ray head, groups of Ray workers, and a submitter that runs the command as a Ray job.

- The workers are created when the head is in its own list of nodes: a worker that starts before ends with an error. The
  submitter is created when all of them have joined. KubeRay has init containers wait instead, which hold their
  resources meanwhile and report nothing.
- The experiment succeeds with its submitter; head and workers never end by themselves.
- The head is the coordinator: its GCS holds the jobs and the actors in memory, so without it the epoch is over.
- A lost worker is run again alone, as by KubeRay: Ray gives its tasks and actors to the nodes that exist. So is a
  submitter that the platform takes away, because the job continues without it; a job that fails restarts the gang.

Variables are KubeRay's (its ray-operator/controllers/ray/common/pod.go) and AIchor's (its KubeRay page). Ray nodes end
with exit code 1 on SIGTERM (``ray start --block``, measured), and need no grace when the cluster is broken. A node or a
submitter that does not hear the GCS for 60 s gives up (``gcs_rpc_server_reconnect_timeout_s``; src/ray/common).
"""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from muster.api.manifest.experiment import Experiment
from muster.api.manifest.groups import HEAD, SUBMITTER
from muster.api.manifest.groups import Group as Asked
from muster.api.manifest.resources import Resources
from muster.api.names import CONTAINER, RAY_HEAD_TYPE, RAY_METRICS_PORT, RAY_NODE_TYPE
from muster.kinds.declaration import RESTART_GRACE, Operator
from muster.kinds.planning.parts import pod_spec_of
from muster.kinds.ray import manifest
from muster.kinds.ray.start import SUBMIT, Ports, in_shell, memory_of, ray_start
from muster.state.vocabulary.group import AGENT, DASHBOARD, Completeness, Coordinator, Group, ProbeKind, Role
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Env, PodSpec, Port, Source
from muster.state.vocabulary.rules import FailureAction, FailureRule, Gate, GateCondition, SuccessRule

JOINING = 60.0
"""Seconds that a Ray node may take from its pod's creation until it has joined: 5 s idle, 23 s on a busy machine
(measured), and the image must be there."""
SURVIVOR_TEXT = (
    r"(?i)(?:connect|connection) to (?:the )?(?:GCS|Ray)\b|GCS.{0,120}(?:timed? ?out|unavailable|deadline)"
    r"|(?:timed? ?out|failed).{0,120}\bGCS|current node timed out during startup|No node info found for head node"
    r"|Ray has not answered for "
)
START_TEXT = r"No node info found for head node|current node timed out during startup"
"""Last words of a node that has not started: its head was in no list of nodes, or its own agent took more than 15 s,
or it was in no list itself after 30 s. Ray gives no way to raise these two (ray: python/ray/_private/node.py)."""
FREE_STARTS = 20
"""Starts of members of one group that may fail at no cost. A busy machine needs some, and a broken one ends."""
TEMP_DIR = "/tmp/ray"  # noqa: S108 - a directory of the container
"""Directory of Ray's sessions unless ``temp-dir`` names another."""
FAILURES = (
    FailureRule(FailureAction.RESTART_GANG, name="head-disrupted", disruption=True, groups=(HEAD,), counted=False),
    FailureRule(
        FailureAction.RESTART_GANG,
        name="head-not-started",
        groups=(HEAD,),
        messages=(START_TEXT,),
        exit_codes=(1,),
        counted=False,
    ),
    FailureRule(FailureAction.RESTART_GANG, name="head-failed", groups=(HEAD,)),
    FailureRule(FailureAction.RESTART_MEMBER, name="member-disrupted", disruption=True, counted=False),
    FailureRule(FailureAction.RESTART_GANG, name="job-failed", groups=(SUBMITTER,)),
    FailureRule(
        FailureAction.RESTART_MEMBER,
        name="worker-not-started",
        messages=(START_TEXT,),
        exit_codes=(1,),
        counted=False,
        per_job=FREE_STARTS,
    ),
    FailureRule(FailureAction.RESTART_MEMBER, name="worker-failed"),
)
SUBMITTER_RESOURCES = Resources.model_construct(cpus=manifest.SUBMITTER["cpus"], memory=manifest.SUBMITTER["memory"])


def _finish(experiment: Experiment, plan: Plan) -> Plan:
    asked = experiment.spec.groups
    ports = Ports.of(dict(asked[0].ray_start_params))
    nodes = (_ray_node(experiment, ports, *pair) for pair in zip(asked, plan.groups, strict=True))
    coordinator = replace(_coordinator(asked), token=_token(experiment.spec.template_of(asked[0])))
    return replace(plan, groups=(*nodes, _submitter(experiment, ports, plan.groups)), coordinator=coordinator)


def _ray_node(experiment: Experiment, ports: Ports, asked: Asked, group: Group) -> Group:
    """Return a group whose members run ``ray start``."""
    head = asked.name == HEAD
    argv = ray_start(asked, f"$(FQ_RAY_IP):{ports.gcs}")
    return replace(
        group,
        role=Role.HEAD if head else Role.WORKER,
        pod=replace(
            group.pod,
            argv=in_shell(argv),
            shm_bytes=_shared_memory(asked, group.pod),
            scratch=_own_directory(asked, group),
        ),
        env=(
            *group.env,
            *_cluster(experiment.name, experiment.namespace, RAY_HEAD_TYPE if head else group.name, ports),
            *_of_node(head=head, argv=argv, ports=ports),
        ),
        ports=_ports_of(ports) if head else (Port("metrics", RAY_METRICS_PORT),),
        gates=group.gates if head else (Gate(GateCondition.SERVING), *group.gates),
    )


def _submitter(experiment: Experiment, ports: Ports, groups: tuple[Group, ...]) -> Group:
    spec, last, pod = experiment.spec, groups[-1], pod_spec_of(experiment.spec, SUBMITTER_RESOURCES)
    return Group(
        name=SUBMITTER,
        replicas=1,
        completions=1,
        pod=replace(pod, argv=("python3", "-u", "-c", SUBMIT, spec.command)),
        first_rank=last.first_rank + last.size,
        first_job=last.first_job + last.replicas,
        env=(
            *(env for env in last.env if env.name.startswith("MUSTER_")),
            *_cluster(experiment.name, experiment.namespace, SUBMITTER, ports),
            *_of_submitter(ports),
        ),
        parallelism=1,
        template=spec.template_of(Asked(SUBMITTER, 1, 1, 1, SUBMITTER_RESOURCES)),
        role=Role.SUBMITTER,
        gates=(Gate(GateCondition.ARRIVED),),
    )


def _cluster(name: str, namespace: str, node_type: str, ports: Ports) -> Iterable[Env]:
    """Yield the variables of the cluster for every member; variables that refer to others come after them."""
    yield Env("FQ_RAY_IP", Source.COORDINATOR_HOST)
    yield Env("RAY_IP", Source.COORDINATOR_HOST)
    yield Env("RAY_PORT", Source.LITERAL, str(ports.gcs))
    yield Env("RAY_CLUSTER_NAME", Source.LITERAL, name)
    yield Env("RAY_CLUSTER_NAMESPACE", Source.LITERAL, namespace)
    yield Env("RAY_CLOUD_INSTANCE_ID", Source.POD_NAME)
    yield Env(RAY_NODE_TYPE, Source.LITERAL, node_type)


def _of_node(*, head: bool, argv: Sequence[str], ports: Ports) -> Iterable[Env]:
    """Yield the variables of a member that runs ``ray start``."""
    yield Env("RAY_ADDRESS", Source.LITERAL, f"{'127.0.0.1' if head else '$(FQ_RAY_IP)'}:{ports.gcs}")
    yield Env("KUBERAY_GEN_RAY_START_CMD", Source.LITERAL, shlex.join(argv))


def _of_submitter(ports: Ports) -> Iterable[Env]:
    """Yield the variables of the member that submits the job."""
    yield Env("RAY_DASHBOARD_ADDRESS", Source.LITERAL, f"$(FQ_RAY_IP):{ports.dashboard}")
    yield Env("RAY_JOB_SUBMISSION_ID", Source.LITERAL, "$(MUSTER_EXPERIMENT)-$(MUSTER_EPOCH)")


def _finished_env() -> tuple[Env, ...]:
    ports = Ports()
    return (*_cluster("", "", "", ports), *_of_node(head=True, argv=(), ports=ports), *_of_submitter(ports))


def _shared_memory(asked: Asked, pod: PodSpec) -> int:
    """Return the bytes of /dev/shm for Ray's objects: a container has 64 MiB there unless it asks for more."""
    return pod.shm_bytes or (0 if "plasma-directory" in dict(asked.ray_start_params) else memory_of(asked))


def _own_directory(asked: Asked, group: Group) -> str:
    """Return Ray's directory of sockets, logs and spilled objects; empty if the author gave it another or a volume.

    Nodes that share it, as on one machine, take each other's sockets. KubeRay leaves it in the container's file system.
    """
    mounts = _main(group.template).get("volumeMounts", ())
    taken = any(str(mount.get("mountPath", "")).rstrip("/") == TEMP_DIR for mount in mounts)
    return "" if taken or "temp-dir" in dict(asked.ray_start_params) else TEMP_DIR


def _ports_of(ports: Ports) -> tuple[Port, ...]:
    return (
        Port("gcs-server", ports.gcs),
        Port(DASHBOARD, ports.dashboard),
        Port(AGENT, ports.agent),
        Port("metrics", RAY_METRICS_PORT),
    )


def coordinator_at(ports: Ports, *, dashboard: bool = True, token: str = "", opened_by: str = "") -> Coordinator:
    """Return the head. Without a dashboard it cannot be asked: its members have arrived when their pods are ready."""
    pages = (Port(DASHBOARD, ports.dashboard),) if dashboard else ()
    return Coordinator(
        rank=0,
        port=ports.gcs,
        probe=ProbeKind.RAY if dashboard else ProbeKind.NONE,
        complete=Completeness.ARRIVED,
        arrivals=JOINING,
        opened_by=opened_by,
        ports=(*pages, Port(AGENT, ports.agent)),
        token=token,
    )


def _coordinator(asked: tuple[Asked, ...]) -> Coordinator:
    opened_by = "`ray start --head` opens it: see the log of the head"
    return coordinator_at(Ports.of(dict(asked[0].ray_start_params)), opened_by=opened_by)


def _token(template: Mapping[str, Any]) -> str:
    """Return Ray's token (RAY_AUTH_TOKEN) if the template has its value and does not refer to a Secret.

    Muster has no right to read Secrets; without the token the probe learns that the head serves, and no more.
    """
    env = {each["name"]: each.get("value", "") for each in _main(template).get("env", ())}
    return str(env.get("RAY_AUTH_TOKEN", "")) if env.get("RAY_AUTH_MODE") == "token" else ""


def _main(template: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the member's own container in a checked template."""
    containers: Iterable[Mapping[str, Any]] = template.get("spec", {}).get("containers", ())
    return next((each for each in containers if each.get("name") == CONTAINER), {})


KUBERAY = Operator(
    "kuberay",
    env=lambda _group, _groups: (),
    coordinator=_coordinator,
    success=SuccessRule(groups=(SUBMITTER,)),
    failures=FAILURES,
    survivor_text=SURVIVOR_TEXT,
    restart_grace=RESTART_GRACE,
    finish=_finish,
    finished_env=_finished_env,
)
DECLARED = (KUBERAY,)
