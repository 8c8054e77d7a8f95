"""The sample admission policies of deploy/admission, evaluated by the real API server."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.real.namespace import Object, Refused, eventually
from tests.real.site import Site

pytestmark = pytest.mark.timeout(400)

FOLDER = Path(__file__).parents[3] / "deploy/admission"
SETTINGS = {"mostAccelerators": "16", "labels": "team, cost-center", "registries": "registry.example, ghcr.io/ours/"}
LABELS = {"team": "vision", "cost-center": "a1"}


def sample(name: str, namespace: str) -> Iterator[Object]:
    """The objects of a file, in force in one namespace only, with a ConfigMap of its own."""
    for obj in yaml.safe_load_all((FOLDER / f"{name}.yaml").read_text(encoding="utf-8")):
        obj["metadata"]["name"] += f"-{namespace}"
        if obj["kind"] == "ValidatingAdmissionPolicyBinding":
            obj["spec"]["policyName"] += f"-{namespace}"
            obj["spec"]["paramRef"]["namespace"] = namespace
            selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
            obj["spec"]["matchResources"] = {"namespaceSelector": selector}
        yield obj


async def install(here: Site, name: str, probe: Object, words: str) -> None:
    """Apply a file and wait until its policies are in force."""
    (settings,) = yaml.safe_load_all((FOLDER / "settings.yaml").read_text(encoding="utf-8"))
    settings["metadata"] |= {"namespace": here.namespace}
    settings["data"] = SETTINGS
    await here.apply(settings, *sample(name, here.namespace))
    await eventually(lambda: here.refusal(probe), holds=lambda found: words in found)


def gpus(count: int) -> Object:
    return {"cpus": 1, "ramRatio": 2, "accelerators": {"gpu": {"count": count}}}


def tpu(topology: str, chips: int = 4) -> Object:
    slice_ = {"type": "tpu-v5p-slice", "topology": topology, "tpuChipsCount": chips}
    return {"cpus": 1, "ramRatio": 2, "accelerators": {"tpu": slice_}}


PLAIN = {"cpus": 1, "ramRatio": 2}


def templated(**pod: Any) -> Object:
    """A type whose template has this in the spec of its pods."""
    return {"resources": PLAIN, "template": {"spec": pod}}


MANY = "accelerators, and one experiment may have 16"
DEVICES = "which are not counted"
FETCH = {"name": "a", "image": "registry.example/a:1", "resources": {"limits": {"memory": "1Gi"}}}
ASKED: dict[str, tuple[str, Object, str]] = {
    "none": ("jax", {"worker": {"count": 500, "resources": PLAIN}}, ""),
    "just enough": ("jax", {"worker": {"count": 2, "resources": gpus(8)}}, ""),
    "one too many": ("jax", {"worker": {"count": 17, "resources": gpus(1)}}, f"17 {MANY}"),
    "no count is one": ("jax", {"worker": {"resources": gpus(17)}}, f"17 {MANY}"),
    "types are added up": (
        "pytorch",
        {"master": {"resources": gpus(1)}, "worker": {"count": 2, "resources": gpus(8)}},
        f"17 {MANY}",
    ),
    "workers of Ray are a list": (
        "kuberay",
        {
            "Head": {"resources": PLAIN},
            "Workers": [
                {"name": "a", "count": 2, "resources": gpus(4)},
                {"name": "b", "count": 3, "resources": gpus(4)},
            ],
        },
        f"20 {MANY}",
    ),
    "members of a job at a time": (
        "jobset",
        {"a": {"count": 2, "completions": 9, "parallelisms": 9, "resources": gpus(1)}},
        f"18 {MANY}",
    ),
    "members of a job in turn": ("jobset", {"a": {"count": 2, "completions": 9, "resources": gpus(8)}}, ""),
    "a slice": ("jax", {"worker": {"count": 1, "resources": tpu("4x4")}}, ""),
    "slices": ("jax", {"worker": {"count": 2, "resources": tpu("2x2x4")}}, f"32 {MANY}"),
    "a device in a template": (
        "jax",
        {"worker": templated(containers=[{"name": "main", "resources": {"limits": {"amd.com/gpu": 8}}}])},
        DEVICES,
    ),
    "a device in a template of workers of Ray": (
        "kuberay",
        {
            "Head": {"resources": PLAIN},
            "Workers": [
                {"name": "a", **templated(containers=[{"name": "x", "resources": {"requests": {"a.b/c": 1}}}])}
            ],
        },
        DEVICES,
    ),
    "memory in a template": ("jax", {"worker": templated(initContainers=[FETCH])}, ""),
}
"""Operator, types, and what is said of them; nothing where they are taken."""


@pytest.mark.core
async def test_the_most_accelerators_of_an_experiment_are_counted_over_all_forms_of_types(here: Site) -> None:
    here.row.happens("experiments that ask for more accelerators than a policy of deploy/admission allows")

    def asking(name: str) -> Object:
        operator, types, _ = ASKED[name]
        return {
            **here.experiment("run"),
            "spec": {**here.experiment("run")["spec"], "operator": operator} | {"types": types},
        }

    await install(here, "accelerators", asking("one too many"), MANY)
    said = {name: await here.refusal(asking(name)) for name in ASKED}
    wrong = {
        name: said[name]
        for name, (_, _, words) in ASKED.items()
        if words not in said[name] or (said[name] and not words)
    }
    assert wrong == {}
    claim = asking("none")
    claim["spec"]["template"] = {"spec": {"resourceClaims": [{"name": "x", "resourceClaimTemplateName": "gpus"}]}}
    assert DEVICES in await here.refusal(claim)
    here.row.says(said["one too many"].partition("denied request: ")[2])


@pytest.mark.core
async def test_labels_are_needed_and_an_older_experiment_can_still_be_cancelled(here: Site) -> None:
    await here.running("older")
    here.row.happens("an experiment without a label that a policy of deploy/admission asks for")
    await install(here, "labels", here.experiment("run"), "metadata.labels lacks team, cost-center")
    some = here.experiment("run", metadata={"labels": {"team": "vision", "cost-center": ""}})
    assert "metadata.labels lacks cost-center: each experiment has a value of it" in await here.refusal(some)
    await here.submit("labelled", metadata={"labels": LABELS})
    with pytest.raises(Refused, match="lacks team"):
        await here.kubectl("label", "experiment", "labelled", "team-")
    await here.change("older", cancel=True)
    await here.says("older", "^Failed Cancelled")


@pytest.mark.core
async def test_images_of_other_registries_are_refused_in_the_experiment_and_in_its_pods(here: Site) -> None:
    here.row.happens("images of a registry that a policy of deploy/admission does not allow")

    def of(image: str, **spec: Any) -> Object:
        found = here.experiment("run", **spec)
        found["spec"]["image"] = image
        return found

    words = "is of no allowed registry; allowed: registry.example/, ghcr.io/ours/"
    await here.running("older", "*: run 600")
    await install(here, "registries", of("python:3.11"), f"spec.image python:3.11 {words}")
    for image in ("registry.example.evil.org/x:1", "ghcr.io/ours-too/x:1", "docker.io/ghcr.io/ours/x:1"):
        assert words in await here.refusal(of(image))
    for image in ("registry.example/train:1", "ghcr.io/ours/deep/x@sha256:" + "0" * 64):
        assert await here.refusal(of(image)) == ""
    await here.kubectl("annotate", "pods", "--all", "looked=at")  # a pod may be edited as long as its images stay
    extra = [{"name": "fetch", "image": "busybox:1"}]
    await here.submit("run", template={"spec": {"initContainers": extra}})
    await here.says("run", "PolicyDenied .*image busybox:1 is of no allowed registry")
