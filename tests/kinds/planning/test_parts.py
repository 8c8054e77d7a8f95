"""Which objects are asked why a watched run has no pods."""

import pytest

from muster.kinds.planning.parts import MOST, Part, parts_of
from muster.kinds.registry import WATCHED_KINDS
from tests.watched_samples import SAMPLES

EXPECTED = {
    "rayjobs": ("rayjob/run", "raycluster/train-aaaaa", "job/run"),
    "trainjobs": ("trainjob/run", "jobset/run", "job/run-node-0", "podgroup/run"),
    "jaxjobs": ("jaxjob/run", "podgroup/run"),
    "jobsets": ("jobset/run", "job/run-w-0"),
    "leaderworkersets": ("leaderworkerset/run", "statefulset/run", "statefulset/run-0", "podgroup/run-0"),
    "mpijobs": ("mpijob/run", "podgroup/run", "job/run-launcher"),
    "pytorchjobs": ("pytorchjob/run", "podgroup/run"),
    "rayclusters": ("raycluster/run", "podgroup/ray-run-pg"),
    "vcjobs": ("job/run", "podgroup/run-u"),
    "jobs": ("job/run",),
    "pods": (),
}


def parts(name: str, *claims: str) -> tuple[Part, ...]:
    kind, sample = WATCHED_KINDS[name], SAMPLES[name]
    metadata = {"name": "run", "namespace": "team", "uid": "u", "annotations": dict(sample.annotations)}
    obj = {"kind": kind.subject.kind, "metadata": metadata, "spec": sample.spec(3), "status": sample.status}
    owners = claims or tuple(each.owner for each in kind.claims(obj))
    return parts_of(kind, kind.plan_of(obj), owners, 0)


@pytest.mark.parametrize("name", WATCHED_KINDS)
def test_each_kind_names_the_object_and_what_is_made_of_it_before_its_pods(name: str) -> None:
    found = parts(name)
    assert tuple(f"{each.kind}/{each.name}" for each in found) == EXPECTED[name]
    assert [each.uid for each in found] == ["u", *[""] * (len(found) - 1)][: len(found)]


@pytest.mark.parametrize(
    "claim", ["raycluster/x,type=Normal", "raycluster/", "raycluster/X y", "raycluster/" + "a" * 254]
)
def test_what_can_be_no_name_is_not_asked_for(claim: str) -> None:
    assert [each.name for each in parts("rayjobs", claim)] == ["run", "run"]


def test_a_run_is_asked_about_with_a_few_requests_only() -> None:
    assert len(parts("rayjobs", *(f"raycluster/c{n}" for n in range(99)))) == MOST
