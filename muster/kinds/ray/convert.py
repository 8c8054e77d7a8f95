"""A RayJob or a RayCluster as an Experiment of the operator kuberay.

The head and each worker group keep their pod template and their rayStartParams. The entrypoint of a RayJob is the
command of the experiment, whose submitter runs it; a RayCluster gets a command that waits, until it is cancelled.
"""

import json
import shlex
from collections.abc import Mapping
from typing import Any, Final

from muster.api.manifest.problems import quoted
from muster.api.manifest.yaml.reader import Mapping as Tree
from muster.api.manifest.yaml.reader import plain, read_yaml
from muster.api.names import CONTAINER, RAY_HEAD_TYPE, RAY_NODE_TYPE, RAY_RUNTIME_ENV
from muster.api.values.durations import count_of
from muster.kinds.convert.draft import Converter, Draft, Fields
from muster.kinds.convert.pod import Pod, deadline_of, end_of, pod_of, spec_of, stopping_of, suspend_of

WAIT: Final = "sleep infinity"
OVERWRITE: Final = "ray.io/overwrite-container-cmd"
MEMORY: Final = 2.0
"""GB of a Ray node that states none: a head with its dashboard does not start in 1."""
_OF_KUBERAY: Final = "not carried over: KubeRay's own"


def rayjob(draft: Draft, source: Fields) -> None:
    """Write the Experiment of a RayJob."""
    spec = spec_of(draft, source)
    if "rayClusterSpec" not in spec:
        hint = "write rayClusterSpec, with the head and the workers of the job"
        raise draft.report.refuse(spec.at("clusterSelector"), "an Experiment brings its own cluster", hint)
    command = spec.text("entrypoint")
    if not command:
        raise draft.report.refuse(spec.at("entrypoint"), "there is no entrypoint to run", "write entrypoint")
    draft.spec["operator"] = "kuberay"
    _cluster(draft, spec.fields("rayClusterSpec"), command)
    _life(draft, spec)
    spec.rest()


def raycluster(draft: Draft, source: Fields) -> None:
    """Write the Experiment of a RayCluster."""
    spec = spec_of(draft, source)
    draft.spec["operator"] = "kuberay"
    _cluster(draft, spec, WAIT)
    draft.spec["restartPolicy"] = {"backoffLimit": 0}
    hint = "muster cancel ends it; or write a program"
    source.note(f"an Experiment ends with its command: {WAIT!r} is written", hint)


def _cluster(draft: Draft, spec: Fields, command: str) -> None:
    head = spec.fields("headGroupSpec")
    first = _group(draft, head)
    head.lose("enableIngress", "not carried over: Muster makes no Ingress")
    parameters = _parameters(head)
    head.rest(_OF_KUBERAY)
    draft.spec["image"] = first.image
    draft.spec["command"] = command
    if version := spec.text("rayVersion"):
        draft.spec["rayVersion"] = version
    types: dict[str, Any] = {
        "Head": draft.placed({**first.type_fields(draft), **parameters}, head.loc),
        "Workers": [],
    }
    pods = {RAY_HEAD_TYPE: first}
    for group in spec.items("workerGroupSpecs"):
        pod = _group(draft, group)
        if pod.image != first.image:
            message = f"the image {quoted(pod.image)} is not the head's, {quoted(first.image)}"
            raise draft.report.refuse(group.at("template"), message, "an Experiment has one image for all members")
        name = group.text("groupName")
        pods[name] = pod
        named = {"name": name, "count": _size(group)}
        types["Workers"].append(draft.placed({**named, **pod.type_fields(draft), **_parameters(group)}, group.loc))
        group.rest(_OF_KUBERAY)
    draft.spec["types"] = types
    stopping_of(draft, [*pods.values()], _shutdown_command({name: pod.pre_stop for name, pod in pods.items()}))
    if spec.value("enableInTreeAutoscaling", bool):
        spec.lose("enableInTreeAutoscaling", "not carried over: the size of an experiment does not change")
    suspend_of(draft, spec)
    spec.lose("gcsFaultToleranceOptions", "not carried over: a lost head restarts the gang")
    spec.rest(_OF_KUBERAY)


def _group(draft: Draft, group: Fields) -> Pod:
    template = group.fields("template")
    pod = pod_of(draft, template, "ray-head", "ray-worker", needs_command=False, memory=MEMORY)
    if pod.line:
        message = "not carried over: Muster starts Ray itself, and runs nothing before it"
        for key in ("command", "args"):
            if key in pod.container:
                pod.container.lost(message, "build it into the image", key)
    annotations = pod.template.get("metadata", {}).get("annotations", {})
    if annotations.pop(OVERWRITE, None) is not None:
        template.lost(
            "not carried over: Muster writes the command of every Ray pod", "", "metadata", "annotations", OVERWRITE
        )
    return pod


def _shutdown_command(hooks: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return one shutdownCommand that runs in each node what its own preStop hook ran; the submitter has none."""
    lines = [f"{shlex.quote(name)}) exec {shlex.join(hook)};;" for name, hook in hooks.items() if hook]
    return ("/bin/sh", "-c", "\n".join([f'case "${RAY_NODE_TYPE}" in', *lines, "esac"])) if lines else ()


def _size(group: Fields) -> int:
    """Return the number of workers: with several hosts each, that of the hosts."""
    replicas, hosts = group.number("replicas", 0), group.number("numOfHosts", 1)
    least, most = group.value("minReplicas", int, replicas), group.value("maxReplicas", int, replicas)
    if least != replicas or most != replicas:
        members = count_of(replicas * hosts, "member")
        group.note(f"minReplicas and maxReplicas are for autoscaling; the group has {members}")
    return replicas * hosts


def _parameters(group: Fields) -> dict[str, Any]:
    """Return rayStartParams; a number or a truth value is written as the text that KubeRay would have refused."""
    found = group.value("rayStartParams", dict, {})
    return {"rayStartParams": found} if found else {}


def _life(draft: Draft, spec: Fields) -> None:
    draft.spec["restartPolicy"] = {"backoffLimit": spec.number("backoffLimit", 0)}
    deadline_of(draft, spec, "attempt")
    if deadline := spec.value("preRunningDeadlineSeconds", int):
        draft.spec["clocks"] = {"assembly": {"after": f"{deadline}s", "action": "Restart"}}
    suspend_of(draft, spec)
    if not spec.value("shutdownAfterJobFinishes", bool, default=True):
        spec.lose("shutdownAfterJobFinishes", "not carried over: the cluster ends with its job; its logs stay")
    end_of(draft, spec)
    mode = spec.text("submissionMode")
    if mode == "InteractiveMode":
        spec.lose("submissionMode", "not carried over: the command is submitted at once")
    elif mode:
        spec.note("an Experiment has a submitter pod of its own, in every mode", "", "submissionMode")
    _runtime_environment(draft, spec)
    spec.lose("submitterPodTemplate", "not carried over: the submitter has the image of the head")
    spec.lose("submitterConfig", "not carried over: a submitter that is lost runs again, as often as that happens")
    spec.lose("jobId", "not carried over: the job is named after the experiment and its epoch")
    spec.lose("deletionStrategy", "not carried over: the pods end with the job, and stay for their logs")


def _runtime_environment(draft: Draft, spec: Fields) -> None:
    """Carry the runtime environment as a variable, which Muster's submitter hands to Ray."""
    text = spec.text("runtimeEnvYAML")
    if not text:
        return
    node, problems = read_yaml(text, filename=draft.report.file)
    if problems or not isinstance(node, Tree):
        raise draft.report.refuse(spec.at("runtimeEnvYAML"), "it is not a mapping in YAML", "correct the manifest")
    value = json.dumps(plain(node)).replace("$(", "$$(")  # Kubernetes reads $$( as $(, and replaces no variable
    variable = {"name": RAY_RUNTIME_ENV, "value": value}
    template = {"spec": {"containers": [{"name": CONTAINER, "env": [variable]}]}}
    draft.spec["template"] = draft.placed(template, spec.at("runtimeEnvYAML"), carried=True)
    if "working_dir" in node.entries or "py_modules" in node.entries:
        hint = "a path in the image, or a URI that the cluster reaches"
        spec.note("working_dir and py_modules are read where the submitter runs", hint, "runtimeEnvYAML")


DECLARED: Final = (Converter("RayJob", "ray.io/v1", rayjob), Converter("RayCluster", "ray.io/v1", raycluster))
