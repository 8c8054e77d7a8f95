"""A JobSet as an Experiment of the operator jobset: a type for each replicated job."""

import re
from collections.abc import Iterator
from typing import Any, Final

from muster.api.manifest.problems import quoted
from muster.api.values.fields import WORD
from muster.kinds.convert.draft import Converter, Draft, Fields
from muster.kinds.convert.pod import Pod, deadline_of, end_of, members_of, pod_of, spec_of, suspend_of
from muster.kinds.declaration import part_of
from muster.kinds.jobset.spec import EXCLUSIVE, NODE_SELECTOR
from muster.kinds.jobset.status import ACTIONS

GROUP: Final = "jobset.sigs.k8s.io"
VARIABLES: Final = {
    f"{GROUP}/job-index": "$(JOB_INDEX)",
    f"{GROUP}/job-global-index": "$(JOB_GLOBAL_INDEX)",
    f"{GROUP}/global-replicas": "$(GLOBAL_REPLICAS)",
    f"{GROUP}/replicatedjob-name": "$(REPLICATED_JOB_NAME)",
    f"{GROUP}/replicatedjob-replicas": "$(REPLICATED_JOB_REPLICAS)",
    f"{GROUP}/jobset-name": "$(MUSTER_EXPERIMENT)",
    f"{GROUP}/jobset-uid": "$(MUSTER_EXPERIMENT_UID)",
    f"{GROUP}/restart-attempt": "$(MUSTER_EPOCH)",
    "batch.kubernetes.io/job-completion-index": "$(JOB_COMPLETION_INDEX)",
}
"""Labels and annotations that JobSet and Job give a pod, each with the variable of an Experiment for the same value."""

_KNOWN: Final = ", ".join(ACTIONS)
_NAME: Final = re.compile(WORD.replace("$", r"\Z"))
_FIELD: Final = re.compile(r"metadata\.(?:labels|annotations)\['([^']*)'\]")


def jobset(draft: Draft, source: Fields) -> None:
    """Write the Experiment of a JobSet."""
    spec = spec_of(draft, source)
    _placement(draft, source)
    draft.spec["operator"] = "jobset"
    jobs = list(spec.items("replicatedJobs"))
    if not jobs:
        raise draft.report.refuse(spec.at("replicatedJobs"), "an empty JobSet never completes", "write a replicatedJob")
    types: dict[str, Any] = {}
    pods: dict[str, Pod] = {}
    for job in jobs:
        key = job.text("name")
        types[key] = draft.placed({}, job.loc)
        pods[key] = _replicated_job(draft, job, types[key])
        _variables(pods[key])
        _host_names(draft.metadata["name"], job, pods[key])
    members_of(draft, pods, "REPLICATED_JOB_NAME")
    draft.spec["types"] = draft.placed(types, spec.at("replicatedJobs"))
    for key, pod in pods.items():
        types[key].update(pod.type_fields(draft))
    _gates(spec, jobs, types)
    if list(types) != sorted(types):
        message = "the groups of an Experiment are numbered by name, not as listed"
        spec.note(message, f"that is {', '.join(sorted(types))}", "replicatedJobs")
    _life(draft, spec)
    spec.rest()


def _placement(draft: Draft, source: Fields) -> None:
    """Report the annotations of exclusive placement as lost: they are rules of JobSet's own."""
    annotations = draft.metadata.get("annotations", {})
    hint = "write podAffinity and podAntiAffinity into the template"
    for key in (EXCLUSIVE, NODE_SELECTOR):
        if annotations.pop(key, None) is not None:
            source.lost("not carried over: no exclusive placement", hint, "metadata", "annotations", key)
    if not annotations:
        draft.metadata.pop("annotations", None)


def _replicated_job(draft: Draft, job: Fields, made: dict[str, Any]) -> Pod:
    made["count"] = job.number("replicas", 1)
    template = job.fields("template")
    metadata, spec = template.fields("metadata"), template.fields("spec")
    metadata.rest("not carried over: an Experiment has pods, and no Jobs to label")
    template.rest()
    parallelism = spec.value("parallelism", int)
    completions = spec.value("completions", int, parallelism if parallelism is not None else 1)
    made["completions"] = completions
    made["parallelisms"] = completions if parallelism is None else min(parallelism, completions)
    if spec.text("completionMode") == "NonIndexed":
        spec.lose("completionMode", "not carried over: every member of an Experiment has an index")
    if spec.value("backoffLimit", int, 6):
        message = "a failed pod restarts the gang; the Job would replace it up to backoffLimit times (6 if absent)"
        at = ("backoffLimit",) if "backoffLimit" in spec else ()
        spec.note(message, "write backoffLimit: 0 where a restart of all is meant", *at)
    spec.lose("ttlSecondsAfterFinished", "not carried over: the pods stay until the experiment is deleted")
    for key in ("podFailurePolicy", "backoffLimitPerIndex", "maxFailedIndexes", "podReplacementPolicy"):
        spec.lose(key, "not carried over: Muster restarts the gang, and not a pod of a Job")
    deadline_of(draft, spec, "Job, in each of its attempts")
    if spec.value("suspend", bool):
        spec.lose("suspend", "not carried over: an Experiment is suspended as a whole")
    job.lose("groupName", "not carried over: an Experiment does not group its types")
    pod = pod_of(draft, spec.fields("template"))
    spec.rest()
    return pod


def _variables(pod: Pod) -> None:
    """Read variables from an Experiment's member instead of labels of a Job's pod."""
    environment = pod.main.get("env")
    if not isinstance(environment, list):
        return
    for variable in environment:
        path = part_of(variable, "valueFrom", "fieldRef").get("fieldPath")
        found = _FIELD.fullmatch(path) if isinstance(path, str) else None
        if found and found[1] in VARIABLES:
            variable.pop("valueFrom")
            variable["value"] = VARIABLES[found[1]]
    same = [each for each in environment if each.get("value") == f"$({each.get('name')})"]
    pod.main["env"] = [each for each in environment if not any(each is one for one in same)]
    if not pod.main["env"]:
        del pod.main["env"]


def _host_names(name: str, job: Fields, pod: Pod) -> None:
    """Report a host name of the JobSet in a command or a variable: it is no host of the Experiment."""
    texts = [pod.line, *(str(each.get("value", "")) for each in pod.main.get("env", []))]
    found = next(
        (hit[0] for text in texts if (hit := re.search(rf"\b{re.escape(name)}-[\w-]+-\d+-\d+[\w.-]*", text))), ""
    )
    if found:
        hint = "read the address of the first member from MASTER_ADDR (operator pytorch), or of the coordinator (jax)"
        job.lost(f"the host name {found} is not one of an Experiment, whose hosts differ at each restart", hint)


def _gates(spec: Fields, jobs: list[Fields], types: dict[str, Any]) -> None:
    in_order = spec.fields("startupPolicy").text("startupPolicyOrder") == "InOrder"
    before = ""
    for job in jobs:
        name = job.text("name")
        gates = [{"group": each.text("name"), "status": each.text("status")} for each in job.items("dependsOn")]
        if in_order and before:
            gates.append({"group": before, "status": "Ready"})
        if gates:
            types[name]["dependsOn"] = gates
        before = name
        job.rest()


def _rules(policy: Fields) -> Iterator[dict[str, Any]]:
    """Yield the rules that match by replicated job; those that match by a reason or message of a Job are lost."""
    for place, rule in enumerate(policy.items("rules")):
        action = rule.text("action")
        name, targets = rule.text("name"), rule.words("targetReplicatedJobs")
        named = [key for key in ("onJobFailureReasons", "onJobFailureMessagePatterns") if rule.words(key)]
        if action not in ACTIONS:
            raise rule.report.refuse(rule.at("action"), f"there is no action {quoted(action)}", f"it is {_KNOWN}")
        rule.rest()
        if named:
            why = "not carried over: an Experiment has no Jobs that fail for a reason of their own"
            hint = "match pods by onExitCodes, onReasons or onMessagePatterns in spec.failurePolicy"
            policy.lost(why, hint, "rules", place, named[0])
            continue
        made: dict[str, Any] = {"name": name} if _NAME.fullmatch(name) else {}
        made["action"] = ACTIONS[action].action.value
        if not ACTIONS[action].counted:
            made["counted"] = False
        yield made | ({"targetGroups": targets} if targets else {})


def _life(draft: Draft, spec: Fields) -> None:
    policy = spec.fields("failurePolicy")
    draft.spec["restartPolicy"] = {"backoffLimit": policy.number("maxRestarts", 0)}
    if rules := [*_rules(policy)]:
        draft.spec["failurePolicy"] = {"rules": rules}
    if policy.text("restartStrategy") == "InPlaceRestart":
        policy.lose("restartStrategy", "not carried over: a restart makes new pods")
    policy.rest()
    success = spec.fields("successPolicy")
    operator, targets = success.text("operator"), success.words("targetReplicatedJobs")
    if operator == "Any" or targets:
        draft.spec["successPolicy"] = {"operator": operator or "All", **({"targets": targets} if targets else {})}
    success.rest()
    network = spec.fields("network")
    network.lose("subdomain", "not carried over: the hosts of an Experiment are in a domain of its name")
    for key in ("enableDNSHostnames", "publishNotReadyAddresses"):
        if not network.value(key, bool, True):
            network.lose(key, "not carried over: every member has an address, before it is ready")
    network.rest()
    suspend_of(draft, spec)
    hint = "see the operators jax, pytorch"
    spec.lose("coordinator", "not carried over: the operator jobset has no coordinator", hint)
    deadline_of(draft, spec)
    end_of(draft, spec)
    spec.lose("volumeClaimPolicies", "not carried over: no claims are made", "attach existing ones in spec.storage")


DECLARED: Final = (Converter("JobSet", "jobset.x-k8s.io/v1alpha2", jobset),)
