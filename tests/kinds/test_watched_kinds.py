"""The table of the kinds that can be observed."""

import pytest

from muster.kinds.declaration.plan_error import PlanError
from muster.kinds.declaration.watched_kind import Claim, every
from muster.kinds.planning.watched_plan import MOST, Framework, observed_plan
from muster.kinds.watched import OBSERVED
from muster.state.vocabulary.group import Group
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.pod_spec import PodSpec


def test_each_kind_is_listed_by_its_plural_and_labelled_pods_alone_have_no_object() -> None:
    assert {name for name, kind in OBSERVED.items() if kind.virtual} == {"pods"}
    assert all(name == kind.subject.plural for name, kind in OBSERVED.items() if not kind.virtual)


@pytest.mark.parametrize(
    ("outer", "inner"),
    [("trainjobs", "jobsets"), ("jobsets", "jobs"), ("rayjobs", "rayclusters"), ("rayjobs", "jobs"), ("jobs", "pods")],
)
def test_the_kind_that_makes_objects_of_another_comes_before_it(outer: str, inner: str) -> None:
    names = list(OBSERVED)
    assert names.index(outer) < names.index(inner)


def test_an_object_claims_the_pods_with_its_kind_and_name_and_each_is_watched_over() -> None:
    obj = {"metadata": {"name": "rc"}}
    assert OBSERVED["rayclusters"].claims(obj) == (Claim("raycluster/rc"),)
    assert OBSERVED["rayclusters"].wanted(obj)
    assert OBSERVED["rayclusters"].wanted is every


def test_an_object_with_too_many_pods_is_refused() -> None:
    subject = OBSERVED["jobs"].subject
    fitting = observed_plan({}, subject, [Group("worker", 1, MOST, PodSpec(), 0)], framework=Framework())
    assert (fitting.size, fitting.engine) == (MOST, Engine.OBSERVE)
    with pytest.raises(PlanError, match="it asks for 100001 pods, and at most 100000 are watched over"):
        observed_plan({}, subject, [Group("worker", 1, MOST + 1, PodSpec(), 0)], framework=Framework())
