"""A JAXJob is read with Kubeflow's defaults; what Muster does not do is refused with its place and a reason."""

from copy import deepcopy
from typing import Any

import pytest

from muster.api.manifest.problems import SpecError
from muster.api.manifest.yaml.reader import plain, read_yaml
from muster.kinds.jax.jaxjob import parse_jaxjob

TEXT = """\
apiVersion: kubeflow.org/v1
kind: JAXJob
metadata: {name: jaxjob-simple, namespace: team}
spec:
  runPolicy:
    schedulingPolicy: {minAvailable: 2}
  jaxReplicaSpecs:
    Worker:
      replicas: 2
      restartPolicy: Sometimes
      template:
        spec:
          containers:
            - name: jax-worker
              image: sandipanify/jaxgoogle
"""


def obj(**worker: Any) -> dict[str, Any]:
    """A JAXJob of one container; ``worker`` are fields of its replica spec."""
    spec = {"template": {"spec": {"containers": [{"name": "jax", "image": "x"}]}}} | worker
    return {"metadata": {"name": "train", "namespace": "team"}, "spec": {"jaxReplicaSpecs": {"Worker": spec}}}


def changed(place: str, value: Any) -> dict[str, Any]:
    """The JAXJob with one field set; ``place`` is dotted, under ``spec``."""
    made = deepcopy(obj())
    at: Any = made["spec"]
    *path, last = place.split(".")
    for part in path:
        at = at[int(part)] if part.isdigit() else at.setdefault(part, {})
    at[int(last) if last.isdigit() else last] = value
    return made


def test_the_defaults_are_kubeflows() -> None:
    job = parse_jaxjob(obj())
    assert (job.replicas, job.worker.restart_policy, job.port) == (1, "Never", 6666)
    spec = job.template["spec"]
    assert spec["restartPolicy"] == "Never", "a gang restarts as a whole"
    assert spec["containers"][0]["ports"] == [{"name": "jaxjob-port", "containerPort": 6666, "protocol": "TCP"}]


def test_the_named_port_is_the_coordinators() -> None:
    ports = [{"name": "jaxjob-port", "containerPort": 7777}]
    job = parse_jaxjob(changed("jaxReplicaSpecs.Worker.template.spec.containers.0.ports", ports))
    assert (job.port, job.template["spec"]["containers"][0]["ports"]) == (7777, ports)


def test_the_container_of_kubeflows_first_manifests_is_taken_for_the_program() -> None:
    containers = [{"name": "jax-worker", "image": "x", "ports": [{"containerPort": 6666}]}]
    job = parse_jaxjob(changed("jaxReplicaSpecs.Worker.template.spec.containers", containers))
    assert job.template["spec"]["containers"] == containers


@pytest.mark.parametrize("key", ["Worker", "worker", "WORKER"])
def test_the_replica_type_may_be_written_in_any_case(key: str) -> None:
    made = obj()
    made["spec"]["jaxReplicaSpecs"] = {key: made["spec"]["jaxReplicaSpecs"]["Worker"]}
    assert parse_jaxjob(made).replicas == 1


def test_a_refusal_names_line_column_and_field() -> None:
    node, _ = read_yaml(TEXT, filename="job.yaml")
    assert node is not None
    with pytest.raises(SpecError, match=r"job.yaml:10:22: spec.jaxReplicaSpecs.Worker.restartPolicy: .*OnFailure"):
        parse_jaxjob(plain(node), file="job.yaml", node=node)
    sound = TEXT.replace("Sometimes", "OnFailure")
    node, _ = read_yaml(sound, filename="job.yaml")
    assert node is not None
    with pytest.raises(SpecError, match=r"job.yaml:6:5: spec.runPolicy.schedulingPolicy: .* gang scheduler"):
        parse_jaxjob(plain(node), file="job.yaml", node=node)


@pytest.mark.parametrize(
    ("place", "value", "reason"),
    [
        ("jaxReplicaSpecs.Worker.template", {}, "a required field is missing"),
        ("jaxReplicaSpecs.Worker.template.kind", "Pod", "unknown field"),
        ("jaxReplicaSpecs.Worker.template.spec.containers.0.env", {"A": "b"}, "list of variables"),
        ("jaxReplicaSpecs.Worker.template.spec.initContainers", "x", "list of containers"),
    ],
)
def test_what_is_not_supported_is_refused_with_a_reason(place: str, value: Any, reason: str) -> None:
    """Beside the refusals in tests/compatibility/jaxjob.yaml."""
    with pytest.raises(SpecError, match=reason):
        parse_jaxjob(changed(place, value))


@pytest.mark.parametrize("name", ["Train", "1train", "t" * 60, ""])
def test_a_name_that_cannot_name_its_pods_is_refused(name: str) -> None:
    made = obj()
    made["metadata"]["name"] = name
    with pytest.raises(SpecError, match=r"metadata\.name"):
        parse_jaxjob(made)


BROKEN: list[object] = [
    None,
    [],
    "x",
    {},
    *({"jaxReplicaSpecs": each} for each in (None, {}, {"Worker": None}, {"Worker": {"template": 3}})),
]


@pytest.mark.parametrize("spec", BROKEN)
def test_a_spec_that_is_none_is_an_error_and_no_exception(spec: object) -> None:
    """``Worker: null`` makes Kubeflow's webhook panic."""
    with pytest.raises(SpecError):
        parse_jaxjob({"metadata": {"name": "train"}, "spec": spec})
