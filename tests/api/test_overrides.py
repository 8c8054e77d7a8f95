"""``--set``: a field is changed where its path leads; a path that leads nowhere is refused with the nearest names."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.manifest.changes import override
from muster.api.manifest.load import load_node
from muster.api.manifest.problems import ManifestError
from muster.api.manifest.yaml.reader import Node, plain, read_yaml

JAX = """\
kind: AIchorManifest
spec:
  operator: jax
  image: i
  command: c
  types:
    worker:
      count: 8
      resources: {cpus: 4, ramRatio: 2, extraTolerations: [{key: a, operator: Exists}]}
"""
RAY = """\
kind: Experiment
apiVersion: muster.dev/v1alpha1
metadata: {name: x}
spec:
  operator: kuberay
  image: i
  command: c
  types:
    Head: {resources: {cpus: 1, memory: 1}}
    Workers:
      - {name: small, count: 4, resources: {cpus: 1, memory: 1}}
      - {name: large, count: 4, resources: {cpus: 8, memory: 8}}
"""
ASKED, HEAD = "spec types worker resources", "spec types Head template spec"
JOBSET = """\
kind: JobSet
spec:
  replicatedJobs:
    - name: workers
      replicas: 4
"""


def tree(text: str) -> Node:
    node, problems = read_yaml(text, filename="m.yaml")
    assert node is not None
    assert not problems
    return node


def changed(text: str, *assignments: str) -> Any:
    node = tree(text)
    for assignment in assignments:
        override(node, assignment)
    return plain(node)


@pytest.mark.parametrize(
    ("text", "assignment", "place", "value"),
    [
        (JAX, "types.worker.count=2", "spec types worker count", 2),
        (JAX, "spec.types.worker.count=2", "spec types worker count", 2),
        (JAX, "types.Worker.count=2", "spec types worker count", 2),
        (JAX, "timeout=10m", "spec timeout", "10m"),
        (JAX, "restartPolicy.backoffLimit=0", "spec restartPolicy backoffLimit", 0),
        (JAX, "command=python3 train.py --lr=0.1", "spec command", "python3 train.py --lr=0.1"),
        (JAX, 'types.worker.resources.extraSelectors["a.b/c=d"]=x', f"{ASKED} extraSelectors", {"a.b/c=d": "x"}),
        (JAX, "types.worker.resources.extraTolerations[0].key=b", f"{ASKED} extraTolerations",
         [{"key": "b", "operator": "Exists"}]),
        (JAX, "types.worker.resources.extraTolerations[0]=", f"{ASKED} extraTolerations", []),
        (JAX, "types.worker.resources={cpus: 1, memory: 1}", "spec types worker resources", {"cpus": 1, "memory": 1}),
        (RAY, "metadata.name=y", "metadata name", "y"),
        (RAY, "clocks.assembly.after=5m", "spec clocks assembly", {"after": "5m"}),
        (RAY, "types.Head.template.spec.nodeSelector.pool=cpu", f"{HEAD} nodeSelector", {"pool": "cpu"}),
        (JOBSET, "spec.replicatedJobs.workers.replicas=1", "spec replicatedJobs", [{"name": "workers", "replicas": 1}]),
        (JOBSET, "suspend=true", "spec suspend", True),
    ],
)  # fmt: skip
def test_a_field_is_set(text: str, assignment: str, place: str, value: object) -> None:
    found = changed(text, assignment)
    for part in place.split():
        found = found[part]
    assert found == value


def test_elements_of_a_list_are_chosen_by_name_or_by_index() -> None:
    found = changed(RAY, "types.Workers.large.count=1", "types.Workers[0].count=2", "types.Workers.1.resources.cpus=3")
    small, large = found["spec"]["types"]["Workers"]
    assert (small["count"], large["count"], large["resources"]["cpus"]) == (2, 1, 3)


def test_an_empty_value_removes_a_field() -> None:
    assert "ramRatio" not in changed(JAX, "types.worker.resources.ramRatio=")["spec"]["types"]["worker"]["resources"]


@pytest.mark.parametrize(
    ("text", "assignment", "said"),
    [
        (JAX, "types.wroker.count=2", "spec.types.wroker: there is no such field, did you mean worker?"),
        (JAX, "timout=5m", "spec.timout: there is no such field, did you mean timeout?"),
        (JAX, "types.worker.resources.gpus=1", "spec.types.worker.resources.gpus: there is no such field"),
        (JAX, "types.worker[0].count=1", "spec.types.worker[0]: it is not a list, it has count, resources"),
        (JAX, "command.text=1", "spec.command: it is 'c' and holds no other fields"),
        (RAY, "types.Workers.lage.count=1", "spec.types.Workers.lage: no element has this name, did you mean large?"),
        (RAY, "types.Workers[2].count=1", "spec.types.Workers[2]: the list has 2 elements, counted from 0"),
        (JOBSET, "spec.replicatedJobs.worker.replicas=1", "no element has this name, did you mean workers?"),
        (JAX, "types.worker.count", "'types.worker.count' is not PATH=VALUE"),
        (JAX, "=2", "'=2' is not PATH=VALUE"),
        (JAX, "types..count=2", "is not PATH=VALUE"),
        (JAX, "command=[", "not YAML"),
        ("- a", "command=1", "the manifest is not a mapping"),
    ],
)
def test_a_path_that_leads_nowhere_names_the_field_and_the_nearest_names(text: str, assignment: str, said: str) -> None:
    with pytest.raises(ManifestError) as raised:
        changed(text, assignment)
    message = str(raised.value)
    assert said in message
    assert message.startswith("--set ")


def test_a_value_that_does_not_fit_is_named_by_its_field() -> None:
    node = tree(JAX)
    override(node, "types.worker.count=two")
    with pytest.raises(ManifestError, match=r"spec.types.worker.count: a whole number is expected, not the text 'two'"):
        load_node(node, filename="m.yaml")


@given(st.sampled_from([JAX, RAY, JOBSET]), st.text("ab.[]\"'=0 :{}-types", max_size=24))
def test_no_assignment_ends_in_another_exception(text: str, assignment: str) -> None:
    try:
        changed(text, assignment)
    except ManifestError as error:
        said = str(error)
        assert said
