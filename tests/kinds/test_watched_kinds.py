"""The kinds that can be watched over, as a table."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.client.errors import CannotCancel
from muster.client.subjects import refuse_to_ask
from muster.kinds.declaration import Claim, PlanError, PodFacts, every
from muster.kinds.manifests.converters import CONVERTERS
from muster.kinds.planning.watched_plan import MOST, Framework, state_of, watched_plan
from muster.kinds.registry import WATCHED_KINDS
from muster.state.view.own import OwnVerdict
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.pod import PodSpec
from muster.state.vocabulary.subject import title
from tests.watched_kinds_page import with_table
from tests.watched_samples import SAMPLES

ROOT = Path(__file__).parents[2]
KUBEFLOW = {"Succeeded": OwnVerdict.SUCCEEDED, "Failed": OwnVerdict.FAILED}
JOBS = {"Complete": OwnVerdict.SUCCEEDED, "Failed": OwnVerdict.FAILED, "Suspended": OwnVerdict.SUSPENDED}
VERDICTS = {
    "jobs": JOBS,
    "trainjobs": JOBS,
    "jobsets": {"Completed": OwnVerdict.SUCCEEDED, "Failed": OwnVerdict.FAILED},
    "jaxjobs": KUBEFLOW,
    "pytorchjobs": KUBEFLOW,
    "mpijobs": KUBEFLOW,
}
"""By the type of a condition that is True, the verdict of a kind's own controller."""


def run_of(name: str, spec: Any = None, status: Any = None) -> dict[str, Any]:
    """The run of the sample with three members, as the API server has it."""
    kind, sample = WATCHED_KINDS[name], SAMPLES[name]
    metadata = {"name": "train", "namespace": "team", "uid": "u", "annotations": dict(sample.annotations)}
    given = sample.spec(3) if spec is None else spec
    status = dict(sample.status) if status is None else status
    return {"kind": kind.subject.kind, "metadata": metadata, "spec": given, "status": status}


def test_each_kind_is_listed_by_its_plural_and_labelled_pods_alone_have_no_object() -> None:
    assert {name for name, kind in WATCHED_KINDS.items() if kind.virtual} == {"pods"}
    own = {name: kind.subject for name, kind in WATCHED_KINDS.items() if not kind.virtual}
    assert all(name == subject.words for name, subject in own.items())
    assert [name for name, subject in own.items() if name != subject.plural] == ["vcjobs"], "Jobs are of batch/v1, too"


@pytest.mark.parametrize(
    ("outer", "inner"),
    [("trainjobs", "jobsets"), ("jobsets", "jobs"), ("rayjobs", "rayclusters"), ("mpijobs", "jobs"), ("jobs", "pods")],
)
def test_the_kind_that_makes_objects_of_another_comes_before_it(outer: str, inner: str) -> None:
    names = list(WATCHED_KINDS)
    assert names.index(outer) < names.index(inner)


def test_an_object_claims_the_pods_with_its_kind_and_name_and_each_is_watched_over() -> None:
    obj = {"metadata": {"name": "rc"}}
    assert WATCHED_KINDS["rayclusters"].claims(obj) == (Claim("raycluster/rc"),)
    assert WATCHED_KINDS["rayclusters"].wanted(obj)
    assert WATCHED_KINDS["rayclusters"].wanted is every


def test_an_object_with_too_many_pods_is_refused() -> None:
    subject = WATCHED_KINDS["jobs"].subject
    fitting = watched_plan({}, subject, [Group("worker", 1, MOST, PodSpec(), 0)], framework=Framework())
    assert (fitting.size, fitting.engine) == (MOST, Engine.WATCH)
    with pytest.raises(PlanError, match="it asks for 100001 pods, and at most 100000 are watched over"):
        watched_plan({}, subject, [Group("worker", 1, MOST + 1, PodSpec(), 0)], framework=Framework())


@pytest.mark.drift
def test_the_page_has_a_row_for_each_kind() -> None:
    page = (ROOT / "docs/watched-runs.md").read_text(encoding="utf-8")
    assert page == with_table(page), "run: make docs"


@pytest.mark.parametrize("name", WATCHED_KINDS)
def test_each_kind_has_a_sample_and_plans_it(name: str) -> None:
    assert WATCHED_KINDS[name].plan_of(run_of(name)).size == 3


@pytest.mark.parametrize(
    ("name", "example", "groups"),
    [
        ("pytorchjobs", "pytorchjob", {"master": 1, "worker": 3}),
        ("mpijobs", "mpijob", {"worker": 2, "launcher": 1}),
        ("leaderworkersets", "leaderworkerset", {"group": 6}),
        ("vcjobs", "volcano", {"master": 1, "worker": 2}),
    ],
)
def test_the_example_of_a_kind_is_planned(name: str, example: str, groups: dict[str, int]) -> None:
    text = (ROOT / f"examples/watched/{example}.yaml").read_text(encoding="utf-8")
    plan = WATCHED_KINDS[name].plan_of(yaml.safe_load(text))
    assert {group.name: group.size for group in plan.groups} == groups
    assert (plan.asked is None) == (name in ("mpijobs", "leaderworkersets"))


@pytest.mark.parametrize(
    ("name", "condition", "verdict"), [(name, *row) for name, verdicts in VERDICTS.items() for row in verdicts.items()]
)
def test_a_true_condition_is_the_verdict_of_a_kind_with_its_words_and_the_time_of_the_end(
    name: str, condition: str, verdict: OwnVerdict
) -> None:
    def own_state(status: str, at: object) -> Any:
        words = {"reason": "Why", "message": "its own words", "lastTransitionTime": at}
        stated = {"type": condition, "status": status, **words}
        return WATCHED_KINDS[name].own_state(run_of(name, status={"conditions": [stated]}))

    found = own_state("True", "2026-01-01T00:01:00Z")
    assert (found.verdict, found.reason, found.message) == (verdict, "Why", "its own words")
    assert found.finished_at == (1767225660.0 if verdict.over else None)
    assert own_state("True", "yesterday").finished_at is own_state("True", 3).finished_at is None
    assert own_state("False", "2026-01-01T00:01:00Z").verdict is OwnVerdict.NOTHING


@pytest.mark.parametrize(
    "status",
    ["x", 7, [], {"conditions": "x"}, {"conditions": {}}, {"conditions": [None, 7, {"type": 1}]}, {"jobStatus": 7}],
    ids=str,
)
@pytest.mark.parametrize("name", [name for name, kind in WATCHED_KINDS.items() if not kind.virtual])
def test_a_status_of_any_shape_is_no_verdict_and_no_complaint(name: str, status: object) -> None:
    state = state_of(WATCHED_KINDS[name], run_of(name, status=status))
    assert (state.verdict, state.reason, state.remark) == (OwnVerdict.NOTHING, "", None)
    assert WATCHED_KINDS[name].claims(run_of(name, status=status))


@pytest.mark.parametrize("name", ["jobs", "trainjobs", "jobsets", "jaxjobs", "pytorchjobs", "mpijobs"])
def test_a_kind_is_suspended_by_the_field_that_its_declaration_names(name: str) -> None:
    kind = WATCHED_KINDS[name]
    assert kind.suspend is not None
    suspended = run_of(name, {**SAMPLES[name].spec(3), **kind.suspend["spec"]})
    assert kind.plan_of(suspended).lifecycle.suspend
    assert not kind.plan_of(run_of(name)).lifecycle.suspend
    at_once = OwnVerdict.NOTHING if name in ("jobs", "trainjobs") else OwnVerdict.SUSPENDED
    assert kind.own_state(suspended).verdict is at_once, "those two have a condition for it"
    assert kind.own_state(run_of(name, "nonsense")).verdict is OwnVerdict.NOTHING


@pytest.mark.parametrize("name", WATCHED_KINDS)
def test_the_pods_of_a_kind_are_its_own_though_every_kind_is_watched(name: str) -> None:
    """Pods of several kinds bear the same labels. The first watch that has a place for one keeps it."""
    kind, sample = WATCHED_KINDS[name], SAMPLES[name]
    sources = [source for each in WATCHED_KINDS.values() for source in each.pods]
    for labels in sample.pods:
        given = {**labels, sample.uid_label: "u"}
        facts = PodFacts("train-0", "team", given, {}, kind=sample.controller, owner="train", owner_uid="u")
        place = next(place for source in sources if (place := source.place_of(facts)) is not None)
        assert place.owner in {claim.owner for claim in kind.claims(run_of(name))}


@pytest.mark.parametrize("name", WATCHED_KINDS)
def test_what_cannot_be_asked_of_an_object_names_only_what_its_kind_has(name: str) -> None:
    kind = WATCHED_KINDS[name]
    with pytest.raises(CannotCancel) as refused:
        refuse_to_ask(title(kind.subject.word, "train"), "cancelled")
    assert " to true with kubectl" in str(refused.value) or kind.suspend is None
    assert "set  to" not in str(refused.value)


@pytest.mark.parametrize("name", WATCHED_KINDS)
def test_only_a_kind_that_is_converted_is_advised_to_be_submitted(name: str) -> None:
    kind = WATCHED_KINDS[name]
    assert ("muster submit" in kind.handed) == (kind.subject.word in CONVERTERS)
