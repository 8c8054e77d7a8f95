"""Objects of the API server are read exactly or refused with ``SpecError``."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.manifest.experiment import parse_experiment
from muster.api.manifest.problems import SpecError

GOOD: dict[str, Any] = {
    "apiVersion": "muster.dev/v1alpha1",
    "kind": "Experiment",
    "metadata": {
        "name": "fold",
        "namespace": "research",
        "uid": "5c3f6a34",
        "resourceVersion": "42",
        "generation": 3,
        "creationTimestamp": "2026-01-31T12:00:00Z",
        "deletionTimestamp": "2026-01-31T13:00:00Z",
        "labels": {"team": "a", "odd": 7},
        "managedFields": [{}],
    },
    "spec": {
        "operator": "jax",
        "image": "demo",
        "command": "python main.py",
        "types": {"worker": {"count": 4, "resources": {"cpus": 1, "cpuLimitRatio": 2, "ramRatio": 2.5}}},
        "startup": {"order": "AllAtOnce"},
        "clocks": {},
    },
    "status": {"phase": "Running"},
}


def changed(path: str, value: Any) -> dict[str, Any]:
    """``GOOD`` with another value at a dotted path."""
    obj = copy.deepcopy(GOOD)
    *parents, last = path.split(".")
    node = obj
    for part in parents:
        node = node[part]
    node[last] = value
    return obj


def test_a_valid_object_is_read() -> None:
    experiment = parse_experiment(GOOD)
    assert (experiment.name, experiment.namespace, experiment.uid) == ("fold", "research", "5c3f6a34")
    assert experiment.generation == 3
    assert experiment.deletion_timestamp == "2026-01-31T13:00:00Z"
    assert experiment.labels == {"team": "a"}
    assert experiment.spec.groups[0].resources.memory_request == "2500M"


@pytest.mark.parametrize(
    ("path", "value", "says"),
    [
        ("spec", None, "spec: a mapping is expected, not nothing"),
        ("spec", "x", "spec: a mapping is expected, not the text 'x'"),
        ("spec.operator", "tf", "spec.operator: Muster does not run the operator tf"),
        ("spec.operator", 7, "spec.operator: 7 is not allowed here"),
        ("spec.types", {"workers": 1}, "spec.types.workers: unknown field, did you mean worker?"),
        ("spec.command", "a\x00b", "spec.command: 'a\\x00b' is not text without control characters"),
        ("spec.command", "a\ud800", "cannot be used"),
        ("spec.clocks", {"runs": {"after": "1h"}}, "spec.clocks.runs: unknown field"),
        ("spec.restartPolicy", {"backoff": {"initial": "1h", "max": "1m"}}, "initial (1h) is longer than max (1m)"),
        ("spec.restart_policy", {}, "spec.restart_policy: unknown field, did you mean restartPolicy?"),
        ("metadata", [], "metadata: a mapping is expected"),
        ("metadata.uid", None, "metadata.uid: up to 128 printable characters are expected"),
        ("metadata.name", "x" * 60, "metadata.name: the longest pod name"),
        ("metadata.name", "a.b", "metadata.name: 'a.b' is not a name"),
        ("metadata.generation", "3", "metadata.generation: a whole number is expected"),
    ],
)
def test_an_invalid_object_is_a_spec_error_that_names_the_field(path: str, value: Any, says: str) -> None:
    with pytest.raises(SpecError) as raised:
        parse_experiment(changed(path, value))
    assert says in str(raised.value)


@pytest.mark.parametrize("obj", [None, 7, [], "x", {}])
def test_what_is_not_an_object_is_a_spec_error(obj: Any) -> None:
    with pytest.raises(SpecError):
        parse_experiment(obj)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=10,
)
PATHS = """metadata metadata.labels metadata.name metadata.uid spec spec.operator spec.types spec.types.worker
spec.types.worker.count spec.types.worker.resources spec.types.worker.resources.cpus spec.clocks spec.startup
spec.restartPolicy spec.timeout spec.storage spec.debug status"""
paths = st.sampled_from(PATHS.split())


@given(paths, json_values)
def test_any_object_is_read_or_raises_a_spec_error(path: str, value: Any) -> None:
    problems = ""
    try:
        assert parse_experiment(changed(path, value)).uid
    except SpecError as error:
        problems = str(error)
    assert problems.replace("\n", " ").isprintable()
