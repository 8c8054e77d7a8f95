"""The kind Experiment on a real API server: served, printed, explained, and refused where a CEL rule is broken."""

import copy
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from muster.api.schema.crd import APART, CLOSED, KEPT, OTHERS
from tests.real.ground import ROOT
from tests.real.namespace import Object, Refused
from tests.real.site import Site

pytestmark = pytest.mark.timeout(400)
Break = Callable[[Object], Any]


def spec(**changes: Any) -> Break:
    """Change fields of the spec."""
    return lambda body: body["spec"].update(changes)


def worker(**changes: Any) -> Break:
    """Change fields of the type `worker`."""
    return lambda body: body["spec"]["types"]["worker"].update(changes)


RESOURCES = {"resources": {"cpus": 1, "ramRatio": 2}}
RAY = {"Head": RESOURCES, "Workers": [{"name": "w", **RESOURCES}]}

CHANGES: dict[str, Break] = {
    "operator cannot change": spec(operator="pytorch"),
    "image cannot change": spec(image="other:1"),
    "command cannot change": spec(command="other"),
    "types cannot change": worker(count=3),
    "rayVersion cannot change": spec(rayVersion="2.40.0"),
    "tensorboard cannot change": spec(tensorboard={"enabled": True}),
    "storage cannot change": spec(storage={"attachExistingPVCs": [{"name": "data", "mountPoint": "/data"}]}),
    "debug cannot change": spec(debug={"vscode": {"enabled": True}}),
    "securityContext cannot change": spec(securityContext={"ptrace": True}),
    "gracefulTermination cannot change": spec(gracefulTermination={"terminationGracePeriodSeconds": 5}),
    "managedBy cannot change": spec(managedBy="kueue.x-k8s.io/multikueue"),
    "template cannot change": spec(template={"metadata": {"labels": {"team": "other"}}}),
}
"""What breaks each transition rule: the change of an object that is there."""

BREAKS: dict[str, Break] = {
    "give exactly one of ramRatio and memory": worker(resources={"cpus": 1}),
    "operator kuberay needs types.Head and types.Workers": spec(operator="kuberay"),
    "debug.vscode is for every operator but kuberay": spec(
        operator="kuberay", types=RAY, debug={"vscode": {"enabled": True}}
    ),
    "types.Head and types.Workers are only for operator kuberay": spec(types={"worker": RESOURCES, **RAY}),
    "need types.worker, in lower case": spec(types={"Worker": RESOURCES}),
    "operator kuberay has the types Head and Workers only": spec(
        operator="kuberay", types={**RAY, "worker": RESOURCES}
    ),
    "operator jax has the type worker only": spec(types={"worker": RESOURCES, "master": RESOURCES}),
    "completions and parallelisms are only for operator jobset": worker(completions=2),
    "rayVersion is only for operator kuberay": spec(rayVersion="2.40.0"),
    "debug.jupyter is only for operator kuberay": spec(debug={"jupyter": {"enabled": True}}),
    "initial is longer than max": spec(restartPolicy={"backoff": {"initial": "10m"}}),
    "one failure is not the same again": spec(restartPolicy={"sameFailureLimit": 1}),
    "metadata.name: Too long: may not be more than 51 bytes": lambda body: body["metadata"].update(name="n" * 52),
    "metadata.name in body should match '^[a-z]": lambda body: body["metadata"].update(name="7n"),
}
"""What breaks each rule of a new object, and what its name must be."""

AMOUNTS = {"cpus": 1, "ramRatio": 2, "memory": 3}
PLACES: dict[str, Break] = {
    "spec.types.worker.resources": worker(resources=AMOUNTS),
    "spec.types.master.resources": spec(
        operator="pytorch", types={"worker": RESOURCES, "master": {"resources": AMOUNTS}}
    ),
    "spec.types.Head.resources": spec(operator="kuberay", types={**RAY, "Head": {"resources": AMOUNTS}}),
    "spec.types.Workers[0].resources": spec(
        operator="kuberay", types={**RAY, "Workers": [{"name": "w", "resources": AMOUNTS}]}
    ),
}
"""Where the one rule that stands at several places is broken, which the API server names."""

AGAIN: tuple[tuple[str, Break], ...] = (
    ("template cannot change", lambda body: body["spec"].pop("template")),
    (
        "completions and parallelisms are only for operator jobset",
        spec(operator="pytorch", types={"worker": RESOURCES, "master": {**RESOURCES, "parallelisms": 2}}),
    ),
)
"""Other ways to break a rule that has the same message as one above."""


def rules(node: Any, place: str = "") -> Iterator[tuple[str, str]]:
    """Place and message of every CEL rule in a schema; an item of a list is named as the first one."""
    for rule in node.get("x-kubernetes-validations", ()):
        if "messageExpression" not in rule:  # several in one (`in_one` of the test below)
            yield place, rule["message"]
    for name, child in node.get("properties", {}).items():
        yield from rules(child, f"{place}.{name}".lstrip("."))
    if "items" in node:
        yield from rules(node["items"], f"{place}[0]")


@pytest.mark.core
async def test_every_cel_rule_refuses_through_kubectl_what_it_should(here: Site) -> None:
    crd = yaml.safe_load((ROOT / "deploy/crds/experiments.muster.dev.yaml").read_text())
    found = list(rules(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]))
    broken = [*CHANGES.items(), *BREAKS.items(), *PLACES.items(), *AGAIN]
    messages = [message for _, message in found]
    in_one = [message for check in (*APART.values(), OTHERS, CLOSED, KEPT) for _, message in check.pairs]
    for message in (*messages, *in_one):
        assert any(start in message for start, _ in broken), f"no manifest here breaks the rule {message!r}"
    assert {place for place, message in found if messages.count(message) > 1} == set(PLACES)

    here.row.happens(f"kubectl apply of {len(broken)} manifests, each breaking one CEL rule")
    sound = here.experiment("sound", operator="jax", template={"metadata": {"labels": {"team": "vision"}}})
    await here.apply(sound)
    for message, do_break in broken:
        body = copy.deepcopy(sound)
        if message not in CHANGES:
            body["metadata"]["name"] = "new"
        do_break(body)
        with pytest.raises(Refused, match="is invalid") as refused:
            await here.apply(body)
        assert message in str(refused.value), f"{message!r} is not in {refused.value}"
    here.row.says("each refused with its rule's message")


@pytest.mark.core
async def test_kubectl_prints_and_explains_experiments(here: Site) -> None:
    here.row.happens("kubectl get, explain and describe on the kind")
    await here.running()
    heading, line = (await here.kubectl("get", "exp")).splitlines()
    assert heading.split() == ["NAME", "PHASE", "REASON", "READY", "RESTARTS", "DEADLINE", "AGE"]
    assert line.split()[:5] == ["run", "Running", "RollComplete", "2/2", "0"]
    wide = (await here.kubectl("get", "experiments", "-o", "wide")).splitlines()[0]
    assert wide.split()[-3:] == ["OPERATOR", "COORDINATOR", "MESSAGE"]
    assert "The framework that runs the experiment." in await here.kubectl("explain", "experiments.spec.operator")
    assert "Assembled" in await here.kubectl("describe", "experiment", "run")
    await here.kubectl("wait", "--for=condition=Assembled", "experiment/run", "--timeout=60s")
    here.row.says(" ".join(line.split()[:5]))


@pytest.mark.core
async def test_a_status_cannot_be_written_through_the_spec(here: Site) -> None:
    body = here.experiment("run")
    body["status"] = {"phase": "Succeeded", "reason": "Forged"}
    here.row.happens("kubectl apply of an Experiment with a forged status")
    await here.apply(body)
    await here.says("run", "^Running ")
