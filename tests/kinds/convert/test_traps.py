"""A JobSet that is valid and does not do what its author expects is warned about, with its place."""

import pytest

from muster.api.manifest.problems import ManifestError
from muster.kinds.manifests.load import load_any

TEXT = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  managedBy: muster.dev/muster
  network: {subdomain: train}
  replicatedJobs:
    - name: w
      replicas: 2
      template:
        spec:
          template:
            spec:
              containers:
                - {name: m, image: i, command: [python, -c, "import jax; jax.distributed.initialize( )"]}
"""
POD = "spec.replicatedJobs[0].template.spec.template.spec"


def warned(text: str) -> dict[str, str]:
    return {each.field: each.message for each in load_any(text, filename="j.yaml").warnings}


def test_jax_that_finds_its_cluster_by_itself_is_warned_about() -> None:
    found = [str(each) for each in load_any(TEXT, filename="j.yaml").warnings]
    assert [each.partition(": jax")[0] for each in found] == [f"j.yaml:15:19: {POD}.containers[0]"] * 2
    assert "makes a cluster of each Job" in found[0]
    assert "looks in the domain of the JobSet's name" in found[1]
    assert "makes a cluster" not in str(warned(TEXT.replace("replicas: 2", "replicas: 1")))
    assert warned(TEXT.replace("initialize( )", "initialize(a)")) == {}


def test_a_jobset_that_never_completes_is_warned_about() -> None:
    text = TEXT[: TEXT.index("  replicatedJobs")]
    assert warned(text) == {"spec": "a JobSet without replicated jobs never completes"}


def test_a_negative_priority_is_warned_about() -> None:
    text = TEXT.replace("              containers:", "              priority: -1\n              containers:")
    assert "which makes its pods invalid" in warned(text)[f"{POD}.priority"]


@pytest.mark.parametrize("manager", ["  managedBy: muster.dev/muster\n", ""])
def test_a_jobset_is_warned_about_however_it_is_run(manager: str) -> None:
    assert warned(TEXT.replace("  managedBy: muster.dev/muster\n", manager))


MISSPELT = TEXT.replace("{name: m,", "{name: m, commandd: [a], env: [{name: A, valeu: b}],").replace(
    "              containers:", "              terminationGracePeriodSecond: 1\n              containers:"
)
JAXJOB = """\
apiVersion: kubeflow.org/v1
kind: JAXJob
metadata: {name: train}
spec:
  jaxReplicaSpecs:
    Worker:
      template:
        spec:
          containers:
            - {name: jax, image: i, imagePullPolice: Always, command: run}
"""


def test_a_field_that_no_pod_has_is_warned_about_with_the_nearest_name() -> None:
    found = {each.field: each for each in load_any(MISSPELT, filename="j.yaml").warnings}
    assert found[f"{POD}.terminationGracePeriodSecond"].hint == "did you mean terminationGracePeriodSeconds?"
    assert found[f"{POD}.containers[0].commandd"].hint == "did you mean command?"
    variable = found[f"{POD}.containers[0].env[0].valeu"]
    assert str(variable).startswith(f"j.yaml:16:60: {variable.field}: a variable has no such field, and it is dropped")


def test_a_pod_of_a_jaxjob_is_looked_at_too() -> None:
    assert warned(JAXJOB) == {
        "spec.jaxReplicaSpecs.Worker.template.spec.containers[0].imagePullPolice": (
            "a container has no such field, and it is dropped"
        ),
        "spec.jaxReplicaSpecs.Worker.template.spec.containers[0].command": "a list is expected",
    }


@pytest.mark.parametrize("text", [TEXT, JAXJOB])
@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("metadata: {name: train}\n", "", "metadata.name: "),
        ("{name: train}", "{name: [a]}", "metadata.name: "),
        ("image: i,", "image: i, env: [{name: [a]}],", "env"),
        ("image: i,", "image: i, env: {A: b},", "env"),
    ],
)
def test_a_name_that_is_no_text_is_refused_with_its_place(text: str, old: str, new: str, said: str) -> None:
    with pytest.raises(ManifestError, match=rf"j\.yaml:\d+:\d+: .*{said}"):
        load_any(text.replace(old, new, 1), filename="j.yaml")
