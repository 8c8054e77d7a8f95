"""JobSets, as Muster runs them: a JobSet (jobset.x-k8s.io/v1alpha2) becomes a plan of the native engine.

A replicated job is a group, a Job of it a job of the plan, a pod of that a member. No batch/v1 Job is created: what one
would do with its pods is in the plan's own rules (``kinds.jobset.status``).

JobSet restarts at once, without a back-off, and its ``maxRestarts`` of 3 means 4 runs.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from muster.api.gang import GroupSize
from muster.api.manifest.edits import digest
from muster.api.manifest.error_text import Loc, position
from muster.api.manifest.problems import Problem, path
from muster.api.manifest.yaml.reader import Node, plain
from muster.kinds.declaration import RunKind, list_of, part_of
from muster.kinds.jobset import status
from muster.kinds.jobset.checks import parse_jobset
from muster.kinds.jobset.spec import (
    ENVIRONMENT,
    JobSet,
    ReplicatedJob,
    annotations_of,
    claims_of,
    labels_of,
    template_of,
)
from muster.kinds.jobset.status import clocks_of, rules_of
from muster.kinds.planning.parts import DEFAULT_GRACE, local_queue_of
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.plan_parts import Edits, Failures, Naming, RestartPolicy, Watching
from muster.state.vocabulary.pod import PodSpec
from muster.state.vocabulary.rules import Backoff, Gate, GateCondition, Quantifier, SuccessRule
from muster.state.vocabulary.subject import JOBSET, Names

OPERATOR: Final = "jobset-object"
AT_ONCE: Final = Backoff(0.0, 600.0, 1.0)
"""A restart waits for nothing."""


def plan_of(obj: Mapping[str, Any]) -> Plan:
    """Return the plan of a JobSet. Raises ``SpecError``."""
    jobset = parse_jobset(obj)
    spec = jobset.spec
    groups = tuple(_groups(jobset))
    fixed = [job.model_dump(mode="json", exclude_defaults=True) for job in spec.replicated_jobs]
    return Plan(
        uid=jobset.uid,
        namespace=jobset.namespace,
        name=jobset.name,
        generation=jobset.generation,
        operator=OPERATOR,
        subject=JOBSET,
        groups=groups,
        coordinator=None,
        success=SuccessRule(
            Quantifier(spec.success_policy.operator), spec.success_policy.target_replicated_jobs, after_failures=True
        ),
        in_order=spec.in_order,
        claims=claims_of(jobset),
        naming=Naming(
            names=Names.JOBSET,
            subdomain=jobset.subdomain,
            service=spec.network.enable_dns_hostnames,
            publish_not_ready=spec.network.publish_not_ready_addresses,
        ),
        failures=Failures(rules=tuple(rules_of(jobset)), by_rule=True),
        clocks=tuple(clocks_of(jobset)),
        restarts=RestartPolicy(
            limit=max(0, spec.failure_policy.max_restarts) if spec.failure_policy else 0, backoff=AT_ONCE
        ),
        lifecycle=jobset.lifecycle(suspend=spec.suspend, ttl=spec.ttl_seconds_after_finished),
        edits=Edits(
            shape=f"replicatedJobs={digest(fixed)}",
            sizes=tuple(GroupSize(each.name, each.replicas, each.completions, each.parallelism) for each in groups),
            remark="JobSet's webhook refuses such an edit of a JobSet that is not suspended",
        ),
        watching=Watching(local_queue=local_queue_of(jobset.labels)),
    )


def with_sizes(obj: Mapping[str, Any], sizes: Sequence[GroupSize]) -> Mapping[str, Any]:
    """Return a JobSet that can be planned, with other numbers of pods."""
    wanted = {each.name: each for each in sizes}
    jobs = [_with_size(each, wanted[each["name"]]) for each in obj["spec"]["replicatedJobs"]]
    return {**obj, "spec": {**obj["spec"], "replicatedJobs": jobs}}


def _with_size(job: Mapping[str, Any], size: GroupSize) -> Mapping[str, Any]:
    spec = job["template"]["spec"]
    counts = {"parallelism": size.at_a_time, "completions": size.pods}
    return {**job, "replicas": size.jobs, "template": {**job["template"], "spec": {**spec, **counts}}}


def _groups(jobset: JobSet) -> Iterator[Group]:
    rank = job = 0
    of_label: dict[str, int] = {}
    before: str = ""
    for replicated in jobset.spec.replicated_jobs:
        spec = replicated.template.spec
        grace = spec.template.spec.get("terminationGracePeriodSeconds")
        yield Group(
            name=replicated.name,
            replicas=replicated.replicas,
            completions=spec.pods,
            parallelism=min(spec.at_a_time, spec.pods),
            pod=PodSpec(grace=grace if isinstance(grace, int) else DEFAULT_GRACE),
            first_rank=rank,
            first_job=job,
            whole=True,
            template=template_of(jobset, replicated),
            env=ENVIRONMENT,
            labels=labels_of(jobset, replicated),
            annotations=annotations_of(jobset, replicated),
            first_of_label=of_label.get(replicated.group_name, 0),
            exclusive=jobset.exclusive(replicated),
            labelled_nodes=jobset.by_node_selector(replicated),
            gates=_gates(jobset, replicated, before),
        )
        rank += replicated.replicas * spec.pods
        job += replicated.replicas
        of_label[replicated.group_name] = of_label.get(replicated.group_name, 0) + replicated.replicas
        before = replicated.name


def _gates(jobset: JobSet, job: ReplicatedJob, before: str) -> tuple[Gate, ...]:
    """Return the gate of ``InOrder``, that the replicated job above is ready; else those of ``dependsOn``."""
    if jobset.spec.in_order:
        return (Gate(GateCondition.READY, before),) if before else ()
    return tuple(Gate(GateCondition(wait.status), wait.name) for wait in job.depends_on)


_AUTOMATIC: Final = re.compile(r"jax\.distributed\.initialize\(\s*\)")
"""JAX finds its cluster by itself (jax: _src/clusters/k8s_cluster.py): the Job of its own pod, and nothing else."""


def traps_of(node: Node, file: str) -> tuple[Problem, ...]:
    """Return warnings about a JobSet that is valid and does not do what its author expects, each with its place."""
    spec = part_of(plain(node), "spec")
    return tuple(Problem(file, *position(node, loc), path(loc), *problem) for loc, *problem in _found(spec))


def _found(spec: Mapping[str, Any]) -> Iterator[tuple[Loc, str, str]]:
    jobs = [*map(part_of, list_of(spec, "replicatedJobs"))]
    where: Loc = ("spec", "replicatedJobs")
    if not jobs:
        yield ("spec",), "a JobSet without replicated jobs never completes", "write replicatedJobs"
    replicas = (each.get("replicas", 1) for each in jobs)
    several = sum(each for each in replicas if isinstance(each, int)) > 1
    call = "jax.distributed.initialize() without arguments"
    for number, job in enumerate(jobs):
        pod = part_of(job, "template", "spec", "template", "spec")
        place: Loc = (*where, number, "template", "spec", "template", "spec")
        priority = pod.get("priority")
        if isinstance(priority, int) and priority < 0:
            message = "JobSet writes a negative priority into a label, which makes its pods invalid"
            yield (*place, "priority"), message, "set priorityClassName"
        for count, container in enumerate(map(part_of, list_of(pod, "containers"))):
            words = [*list_of(container, "command"), *list_of(container, "args")]
            if not any(isinstance(word, str) and _AUTOMATIC.search(word) for word in words):
                continue
            hint = "pass coordinator_address, num_processes and process_id, or run it as a JAXJob or Experiment"
            at = (*place, "containers", count)
            if several:
                yield at, f"{call} makes a cluster of each Job", hint
            if part_of(spec, "network").get("subdomain"):
                yield at, f"{call} looks in the domain of the JobSet's name", hint


DECLARED: Final = (
    RunKind(
        JOBSET,
        ("spec", "managedBy"),
        parse_jobset,
        plan_of,
        status.status_of,
        with_sizes,
        install="install the CRD of JobSet v0.10 or later (its controller need not run)",
        by_phase=True,
        traps=traps_of,
        ended=status.ENDED,
        refused=status.refused,
    ),
)
