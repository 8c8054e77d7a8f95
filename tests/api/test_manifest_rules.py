"""The rules of a manifest, one by one; any other document is a ``ManifestError``."""

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from muster.api.manifest.load import experiment_object, load_manifest
from muster.api.manifest.operators import operators
from muster.api.manifest.problems import MAX_PROBLEMS, ManifestError

RESOURCES = {"ramRatio": 2}


class Written(yaml.SafeDumper):
    """Writes YAML without anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def dump(document: Any) -> str:
    return yaml.dump(document, Dumper=Written, sort_keys=False, allow_unicode=True)


def types_of(operator: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The smallest types of an operator, with ``fields`` in the type that can be counted."""
    counted = {**fields, "resources": RESOURCES}
    if operator == "kuberay":
        return {"Head": {"resources": RESOURCES}, "Workers": [{"name": "w", **counted}]}
    return {"worker": counted}


def manifest(operator: str = "jax", types: Any = None, name: str | None = None, **spec: Any) -> str:
    body: dict[str, Any] = {"operator": operator, "image": "demo", "command": "python main.py"}
    body |= {"types": types_of(operator, {}) if types is None else types, **spec}
    return dump({**({"name": name} if name else {}), "spec": body})


def complaint(text: str) -> str:
    with pytest.raises(ManifestError) as raised:
        load_manifest(text, filename="m.yaml")
    return str(raised.value)


OPERATORS = [*operators()]


@pytest.mark.parametrize("operator", OPERATORS)
@pytest.mark.parametrize("count", [0, 1])
def test_a_count_may_be_zero_or_one(operator: str, count: int) -> None:
    loaded = load_manifest(manifest(operator, types_of(operator, {"count": count})))
    assert loaded.spec.groups[-1].members == count


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_missing_count_is_one_and_zero_for_ray_workers(operator: str) -> None:
    loaded = load_manifest(manifest(operator))
    assert loaded.spec.groups[-1].members == (0 if operator == "kuberay" else 1)
    assert sum(group.members for group in loaded.spec.groups) == 1


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_negative_count_is_refused(operator: str) -> None:
    message = complaint(manifest(operator, types_of(operator, {"count": -1})))
    assert "count: -1 is out of range, write at least 0" in message


@pytest.mark.parametrize(
    ("written", "advice"),
    [
        ("010", "write 10"),
        ("1_000", "without underscores: 1000"),
        ("0x10", "write it in decimal"),
        ("190:20:30", "base 60"),
        ("'2'", "remove the quotes: 2"),
        ("2.0", "write 2"),
        ("1e3", "write 1000"),
        ("yes", "not the text 'yes'"),
        ("true", "not true"),
        ("", "not nothing"),
        ("[2]", "not a list"),
        ("{a: 2}", "not a mapping"),
    ],
)
def test_only_decimal_numbers_are_accepted(written: str, advice: str) -> None:
    text = manifest(types={"worker": {"count": 7, "resources": RESOURCES}}).replace("count: 7", f"count: {written}")
    message = complaint(text)
    assert "spec.types.worker.count: a whole number is expected" in message
    assert advice in message
    assert message.count("\n") == 0


def test_a_core_tag_that_fits_its_value_is_accepted() -> None:
    text = manifest(types={"worker": {"count": 7, "resources": RESOURCES}}).replace("count: 7", "count: !!int 7")
    assert load_manifest(text).spec.groups[0].members == 7


@pytest.mark.parametrize("word", ["yes", "no", "on", "off", "'true'"])
def test_only_true_and_false_are_booleans(word: str) -> None:
    message = complaint(manifest(tensorboard={"enabled": 7}).replace("enabled: 7", f"enabled: {word}"))
    assert "true or false is expected, not the text" in message
    assert "write true or false" in message


@pytest.mark.parametrize(
    ("resources", "says"),
    [
        ({}, "neither ramRatio nor memory is given"),
        ({"ramRatio": 0}, "ramRatio: 0 is out of range, write more than 0"),
        ({"ramRatio": "2"}, "ramRatio: a number is expected, not the text '2', remove the quotes: 2"),
        ({"memory": "64Gi"}, "memory: a number is expected, not the text '64Gi'"),
        ({"memory": 2, "cpus": 0}, "cpus: 0 is out of range"),
        ({"memory": 2, "cpus": 0.0001}, "cpus: 0.0001 CPUs is finer than a thousandth"),
        ({"memory": 2, "cpuLimitRatio": 0.5}, "cpuLimitRatio: 0.5 is out of range, write at least 1"),
        ({"memory": 2, "shmSizeGB": 1.5}, "shmSizeGB: a whole number is expected, not 1.5"),
        ({"memory": 2, "shmSizeGb": 1}, "shmSizeGb: unknown field, did you mean shmSizeGB?"),
        ({"memory": 2, "shm_size_gb": 1}, "shm_size_gb: unknown field, did you mean shmSizeGB?"),
        (
            {"memory": 2, "accelerators": {"gpu": {"type": "cpu"}}},
            "gpu.type: the text 'cpu' is not allowed here, it is gpu",
        ),
        ({"memory": 2, "accelerators": {"npu": {}}}, "npu: unknown field, did you mean tpu?"),
        (
            {"memory": 1, "accelerators": {"gpu": {f"field{number}": 1 for number in range(9)}}},
            "gpu.field8: unknown field",
        ),
        ({"memory": 2, "rdma": {"devices": []}}, "rdma.devices: it is empty, write at least 1"),
        ({"memory": 2, "extraSelectors": {"a b": "c"}}, "'a b' is not a Kubernetes label key"),
        ({"memory": 2, "extraTolerations": [{"operator": "Exists", "value": "x"}]}, "operator Exists ignores value"),
        ({"memory": 2, "extraTolerations": [{"value": "x"}]}, "a toleration without key matches nothing"),
    ],
)
def test_every_field_of_resources_is_checked(resources: dict[str, Any], says: str) -> None:
    assert says in complaint(manifest(types={"worker": {"resources": resources}}))


NAMED = {"name": "w", "resources": RESOURCES}


def beside_a_worker(master: Any) -> dict[str, Any]:
    return {"Master": master, "Worker": {"resources": RESOURCES}}


@pytest.mark.parametrize(
    ("operator", "types", "says"),
    [
        ("jax", {"worker": {"resources": RESOURCES}, "trainer": {}}, "trainer: unknown field, known here: worker"),
        (
            "jax",
            {"Master": {"resources": RESOURCES}},
            "spec.types.worker: a required field is missing, write worker: the JAX",
        ),
        ("jax", {}, "spec.types.worker: a required field is missing"),
        ("jax", [], "spec.types: a mapping is expected, not a list"),
        ("kuberay", {"Workers": []}, "spec.types.Head: a required field is missing"),
        ("kuberay", {"Head": {"resources": RESOURCES}, "Workers": {}}, "Workers: a list is expected, not a mapping"),
        ("kuberay", {"Head": {"resources": RESOURCES, "count": 1}, "Workers": []}, "Head.count: unknown field"),
        ("jobset", {}, "spec.types: it is empty, write at least 1 entry"),
        ("jobset", {"2x": {"resources": RESOURCES}}, "spec.types.2x: '2x' is not lower-case letters"),
        ("jobset", {"w": {"resources": RESOURCES, "parallelism": 2}}, "did you mean parallelisms?"),
        (
            "jobset",
            {"w": {"resources": RESOURCES, "completions": 0}},
            "completions: 0 is out of range, write at least 1",
        ),
        ("jobset", {"w": {"resources": RESOURCES, "count": 9_000, "completions": 90}}, "810000 members"),
        (
            "jax",
            {"worker": {"resources": RESOURCES}, "Worker": {}},
            "types.Worker: unknown field, did you mean worker?",
        ),
        ("kuberay", {"Head": {"resources": RESOURCES}, "Workers": [NAMED, NAMED]}, "group name w is used twice"),
        ("pytorch", beside_a_worker({}), "spec.types.master.resources: a required field is missing"),
        ("pytorch", beside_a_worker({"resources": {}}), "types.master.resources.memory: neither ramRatio nor memory"),
        ("pytorch", beside_a_worker({**NAMED, "count": -1}), "spec.types.master.count: -1 is out of range"),
        ("pytorch", beside_a_worker({**NAMED, "image": "x"}), "spec.types.master.image: unknown field"),
        ("pytorch", beside_a_worker([]), "spec.types.master: a mapping is expected, not a list"),
    ],
)
def test_each_operator_has_its_types(operator: str, types: Any, says: str) -> None:
    assert says in complaint(manifest(operator, types))


SHARED = {"mountPoint": "/data", "sizeGB": 5}
ONE_POD = {**SHARED, "accessMode": "ReadWriteOncePod"}


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ({"timeout": 60}, "timeout: text is expected, not 60, put it in quotes"),
        ({"timeout": "0s"}, "timeout: a duration of zero"),
        ({"activeDeadlineSeconds": 0}, "activeDeadlineSeconds: 0 is out of range, write at least 1"),
        ({"command": ""}, "command: it is empty"),
        ({"command": ["python", "main.py"]}, "command: text is expected, not a list"),
        ({"image": "my image"}, "image: 'my image' is not a container image"),
        ({"storage": {"attachExistingPVCs": [{"name": "a", "mountPoint": "mnt"}]}}, "is not an absolute path"),
        ({"storage": {"attachExistingPVCs": [{"name": "a", "mountPoint": "/mnt/../etc"}]}}, "a path with '..'"),
        ({"debug": {"vscode": {}}}, "vscode.enabled: a required field is missing"),
        ({"env": []}, "env: unknown field, in kind: Experiment, write it for container main in spec.template"),
        ({"restartPolicy": {"backoff": {}}}, "backoff: unknown field, did you mean backoffLimit?"),
        ({"command": "x" * 70_000}, "spec.command: longer than 65536 characters, shorten it"),
        ({"operator": "kuberay", "debug": {"vscode": {"enabled": True}}}, "vscode is for every operator but kuberay"),
        (
            {"storage": {"sharedVolume": SHARED, "attachExistingPVCs": [{"name": "a", "mountPoint": "/data"}]}},
            "spec.storage.attachExistingPVCs[0].mountPoint: another volume is mounted at /data, choose another path",
        ),
        (
            {"storage": {"attachExistingPVCs": [{"name": name, "mountPoint": "/x"} for name in "ab"]}},
            "spec.storage.attachExistingPVCs[1].mountPoint: another volume is mounted at /x",
        ),
        (
            {"types": {"worker": {"count": 2, "resources": RESOURCES}}, "storage": {"sharedVolume": ONE_POD}},
            "spec.storage.sharedVolume.accessMode: ReadWriteOncePod lets one pod mount the volume, and 2 members would",
        ),
        (
            {"storage": {"sharedVolume": {"mountPoint": "/data"}}},
            "spec.storage.sharedVolume.sizeGB: a required field is missing",
        ),
    ],
)
def test_the_spec_is_checked_field_by_field(spec: dict[str, Any], says: str) -> None:
    assert says in complaint(manifest(**spec))


def test_timeout_wins_over_the_deadline_in_seconds() -> None:
    loaded = load_manifest(manifest(timeout="1h", activeDeadlineSeconds=60))
    assert loaded.spec.deadline_seconds == 3_600
    assert "timeout (1h) wins over activeDeadlineSeconds" in str(loaded.warnings[0])
    assert load_manifest(manifest(activeDeadlineSeconds=60)).spec.deadline_seconds == 60
    assert load_manifest(manifest()).spec.deadline_seconds is None


def test_an_invalid_name_is_replaced_by_the_nearest_valid_one_with_a_warning() -> None:
    loaded = load_manifest(manifest(name="My run #3"))
    assert loaded.name == "my-run-3"
    assert "it is read as my-run-3" in str(loaded.warnings[0])
    loaded = load_manifest(manifest(name="実験"))
    assert loaded.name is None
    assert "name the experiment when you submit it" in str(loaded.warnings[0])
    assert load_manifest(manifest(name="plain-name")).warnings == ()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("Capital", "write capital"),
        ("1st", "write st"),
        ("x" * 64, "is not a name of at most 63"),
        ("x" * 47, "has 64 characters, Kubernetes allows 63, cut 1 character from"),
        ("", "is not a name"),
        ("a\n", "is not a name"),
    ],
)
def test_the_longest_pod_name_must_fit(name: str, says: str) -> None:
    loaded = load_manifest(manifest(types={"worker": {"count": 10, "resources": RESOURCES}}))
    with pytest.raises(ManifestError) as raised:
        experiment_object(loaded, name=name, namespace="default")
    assert says in str(raised.value)


def test_the_object_has_only_the_fields_of_the_manifest() -> None:
    loaded = load_manifest(manifest(timeout="1h"))
    assert experiment_object(loaded, name="e", namespace="n") == {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "Experiment",
        "metadata": {"name": "e", "namespace": "n"},
        "spec": {
            "operator": "jax",
            "image": "demo",
            "command": "python main.py",
            "types": {"worker": {"resources": {"ramRatio": 2}}},
            "timeout": "1h",
        },
    }


def test_problems_beyond_the_limit_are_counted() -> None:
    text = manifest() + "".join(f"field{i}: 1\n" for i in range(1_000))
    with pytest.raises(ManifestError) as raised:
        load_manifest(text)
    assert len(raised.value.problems) == MAX_PROBLEMS
    assert "969 more problems follow" in str(raised.value)


def test_fields_of_aichors_build_service_are_checked_and_ignored() -> None:
    text = (
        manifest() + "engineName: lab\nclone: {depth: 2}\nbuilder: {image: demo, buildArgs: {CUDA: true, V: '3.1'}}\n"
    )
    assert [warning.field for warning in load_manifest(text).warnings] == ["engineName", "clone", "builder"]
    assert "buildArgs.V: a build argument is text or true or false, not 3.1" in complaint(text.replace("'3.1'", "3.1"))
    assert "clone.depth: 0 is out of range, write at least 1" in complaint(text.replace("depth: 2", "depth: 0"))


@pytest.mark.parametrize(
    ("kind", "version"), [("JobSet", "jobset.x-k8s.io/v1alpha2"), ("TFJob", "kubeflow.org/v1"), ("Pod", "v1")]
)
def test_a_kind_of_another_api_is_refused_by_name(kind: str, version: str) -> None:
    text = f"apiVersion: {version}\nkind: {kind}\nspec: {{}}\n"
    assert f"{kind} objects are not supported by this release" in complaint(text)


@pytest.mark.parametrize(
    "text", ["[]", "7", "text", "kind: 7", "kind: [a]", "spec: 7", "spec:", "metadata: 3\nkind: Experiment"]
)
def test_what_is_not_a_manifest_is_refused(text: str) -> None:
    assert complaint(text)


leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
WORDS = """spec kind types worker Worker Master Head Workers resources count accelerators gpu tpu operator name
metadata builder image debug jupyter clocks pending"""
keys = st.text(max_size=8) | st.sampled_from(WORDS.split())
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5), max_leaves=25
)


@given(st.sampled_from([*OPERATORS, "tf", "x"]), trees, st.sampled_from(["AIchorManifest", "Experiment", "Pod"]), trees)
def test_any_document_is_loaded_or_a_manifest_error(operator: str, types: Any, kind: str, rest: Any) -> None:
    spec = {"operator": operator, "image": "i", "command": "c", "types": types, "debug": rest}
    document = {"kind": kind, "spec": spec if rest != 0 else types, "metadata": rest, "builder": rest}
    assert all(line.isprintable() for line in complaints(dump(document)))


@given(st.text(max_size=100))
def test_any_text_is_a_manifest_or_a_manifest_error(text: str) -> None:
    assert all(complaints(text))


def complaints(text: str) -> list[str]:
    try:
        load_manifest(text)
    except ManifestError as error:
        return str(error).split("\n")
    return []
