"""Reads a JobSet that Muster runs, and checks what needs more than one of its fields: names, references, claims.

JobSet's webhook checks a JobSet only where JobSet is installed, so its checks are made here again. What the built-in
controller would only find out while it runs (a Job that the API server refuses, a dependency that waits for itself) is
a problem of the spec here.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from muster.api.manifest.error_text import Loc
from muster.api.manifest.naming import MAX_POD_NAME, too_long
from muster.api.manifest.yaml.reader import Node
from muster.api.values.durations import count_of
from muster.api.values.fields import LABEL_1035, LABEL_1123, LABEL_VALUE, MEANING
from muster.kinds.declaration import list_of, part_of
from muster.kinds.job.spec import LEAVE
from muster.kinds.jobset.spec import NODE_SELECTOR, FailureRule, JobSet, ReplicatedJob, SuccessPolicy
from muster.kinds.planning.run_object import Found

MAX_MEMBERS: Final = 100_000
"""Pods of one JobSet that Muster keeps track of."""
MAX_RESTARTED: Final = 1_024
"""Jobs of one replicated job whose own restarts a status holds (jobset_types.go, ReplicatedJobStatus.jobRestarts)."""
_LABEL: Final = re.compile(LABEL_1035.replace("$", r"\Z"))
_VALUE: Final = re.compile(LABEL_VALUE.replace("$", r"\Z"))
_NAME: Final = re.compile(LABEL_1123.replace("$", r"\Z"))


def parse_jobset(obj: Mapping[str, Any], file: str = "", node: Node | None = None) -> JobSet:
    """Return the JobSet in a decoded object. Raises ``SpecError``, and nothing else, if Muster cannot run it."""
    return JobSet.read(obj, _checks, file=file, node=node)


def _checks(jobset: JobSet) -> Iterator[Found]:
    yield from _jobs(jobset)
    yield from _order(jobset)
    yield from _targets(jobset)
    yield from _deadlines(jobset)
    yield from _coordinator(jobset)
    yield from _claims(jobset)


def _place(number: int, *more: str | int) -> Loc:
    return ("spec", "replicatedJobs", number, *more)


def _jobs(jobset: JobSet) -> Iterator[Found]:
    seen: set[str] = set()
    for number, job in enumerate(jobset.spec.replicated_jobs):
        if job.name in seen:
            yield _place(number, "name"), f"two replicated jobs have the name {job.name}", "rename one"
        seen.add(job.name)
        yield from _names(jobset, number, job)
        if not jobset.exclusive(job) and jobset.by_node_selector(job):
            hint = "add alpha.jobset.sigs.k8s.io/exclusive-topology, or remove it"
            yield ("metadata", "annotations"), f"{NODE_SELECTOR} has no effect alone", hint
    members = sum(job.replicas * job.template.spec.pods for job in jobset.spec.replicated_jobs)
    if members > MAX_MEMBERS:
        yield ("spec", "replicatedJobs"), f"{members} pods", f"write at most {MAX_MEMBERS} in one JobSet"


def _names(jobset: JobSet, number: int, job: ReplicatedJob) -> Iterator[Found]:
    """Check the longest name that is made: that of the last pod."""
    name = f"{jobset.name}-{job.name}-{max(job.replicas - 1, 0)}-{job.template.spec.pods - 1}-xxxxx"
    if problems := too_long(name, " of the JobSet or of the replicated job"):
        yield _place(number, "name"), *problems[0]
    elif jobset.name and not _LABEL.match(name):
        yield ("metadata", "name"), f"{jobset.name} does not begin the name of a host", f"write {MEANING[LABEL_1035]}"


def _order(jobset: JobSet) -> Iterator[Found]:
    spec = jobset.spec
    before: set[str] = set()
    for number, job in enumerate(spec.replicated_jobs):
        for place, wait in enumerate(job.depends_on):
            at = _place(number, "dependsOn", place, "name")
            if spec.in_order:
                hint = "remove dependsOn, or startupPolicy"
                yield at, "dependsOn and startupPolicyOrder InOrder exclude each other", hint
            elif number == 0:
                yield at, "the first replicated job cannot wait for another", "remove dependsOn, or move it down"
            elif wait.name == job.name:
                yield at, f"{job.name} waits for itself and would never start", "name a replicated job above it"
            elif wait.name not in before:
                hint = f"name one of {', '.join(sorted(before))}"
                yield at, f"there is no replicated job {wait.name} above {job.name}", hint
        before.add(job.name)


def _targets(jobset: JobSet) -> Iterator[Found]:
    spec = jobset.spec
    names = {job.name for job in spec.replicated_jobs}
    rules = spec.failure_policy.rules if spec.failure_policy else ()
    holders: list[tuple[Loc, SuccessPolicy | FailureRule]] = [(("spec", "successPolicy"), spec.success_policy)]
    holders += [(("spec", "failurePolicy", "rules", number), rule) for number, rule in enumerate(rules)]
    for loc, holder in holders:
        for place, target in enumerate(holder.target_replicated_jobs):
            if target not in names:
                at = (*loc, "targetReplicatedJobs", place)
                yield at, f"there is no replicated job {target}", f"name one of {', '.join(sorted(names))}"
    if spec.restarts_jobs is not None and any(job.replicas > MAX_RESTARTED for job in spec.replicated_jobs):
        loc = ("spec", "failurePolicy", "rules", spec.restarts_jobs, "action")
        message = f"restarts of single Jobs are counted for at most {MAX_RESTARTED} replicas"
        yield loc, message, "use RestartJobSet, or fewer replicas"


def _deadlines(jobset: JobSet) -> Iterator[Found]:
    """Check that one clock runs from the start of all jobs."""
    spec = jobset.spec
    first: int | None = None
    for number, job in enumerate(spec.replicated_jobs):
        stated = job.template.spec.active_deadline_seconds
        if stated is None:
            continue
        at = _place(number, "template", "spec", "activeDeadlineSeconds")
        if first is not None and stated != first:
            yield at, f"{stated} here and {first} above: one clock runs for all Jobs", f"write {first}, or {LEAVE}"
        elif job.depends_on or (spec.in_order and number):
            yield at, f"{job.name} waits for another, and the clock does not", f"remove it, or {LEAVE}"
        elif spec.restarts_jobs is not None:
            yield at, "the clock continues for a Job that RestartJob runs again alone", f"remove it, or {LEAVE}"
        first = stated if first is None else first


def _coordinator(jobset: JobSet) -> Iterator[Found]:
    at = jobset.spec.coordinator
    if at is None:
        return
    loc: Loc = ("spec", "coordinator")
    job = next((each for each in jobset.spec.replicated_jobs if each.name == at.replicated_job), None)
    if job is None:
        names = ", ".join(each.name for each in jobset.spec.replicated_jobs)
        yield (*loc, "replicatedJob"), f"there is no replicated job {at.replicated_job}", f"name one of {names}"
        return
    spec = job.template.spec
    if at.job_index >= job.replicas:
        jobs = count_of(job.replicas, "Job")
        yield (*loc, "jobIndex"), f"{job.name} has {jobs}", f"write at most {max(job.replicas - 1, 0)}"
    if at.pod_index >= spec.pods:
        pods = count_of(spec.pods, "pod")
        yield (*loc, "podIndex"), f"a Job of {job.name} has {pods}", f"write at most {spec.pods - 1}"
    endpoint = jobset.coordinator_endpoint
    if jobset.name and not (len(endpoint) <= MAX_POD_NAME and _VALUE.match(endpoint)):
        hint = "shorten the name of the JobSet, the replicated job or the subdomain"
        yield loc, f"{endpoint} is too long for a label value, which has {MAX_POD_NAME} characters", hint


def _claims(jobset: JobSet) -> Iterator[Found]:
    seen: set[str] = set()
    pods = [job.template.spec.template for job in jobset.spec.replicated_jobs]
    mounted = frozenset[str]().union(*(pod.mounts for pod in pods))
    volumes = {str(volume.get("name")) for pod in pods for volume in map(part_of, list_of(pod.spec, "volumes"))}
    for number, policy in enumerate(jobset.spec.volume_claim_policies):
        for place, template in enumerate(policy.templates):
            name = template.metadata.name
            loc: Loc = ("spec", "volumeClaimPolicies", number, "templates", place, "metadata", "name")
            if name in seen:
                yield loc, f"two claims have the name {name}", "rename one"
            seen.add(name)
            if len(claim := f"{name}-{jobset.name}") > MAX_POD_NAME:
                yield loc, f"the claim's name, {claim}, is longer than {MAX_POD_NAME}", "shorten one of the two"
            if not _NAME.match(name):
                yield loc, f"{name} cannot be the name of a volume", f"write {MEANING[LABEL_1123]}"
            if name not in mounted:
                yield loc, f"no container mounts {name}", "add a volumeMount of that name, or remove the claim"
            if name in volumes:
                yield loc, f"a pod has a volume {name} of its own", "rename one of the two"
