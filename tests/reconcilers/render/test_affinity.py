"""Nodes are left out in every alternative that the pod's template has."""

from typing import Any

from muster.reconcilers.render.pod import REQUIRED, kept_off

AWAY = [{"key": "metadata.name", "operator": "NotIn", "values": [node]} for node in ("a", "b")]
GPU = {"key": "gpu", "operator": "Exists"}


def pod(**spec: Any) -> dict[str, Any]:
    return {"spec": {"restartPolicy": "Never", **spec}}


def test_a_pod_without_avoided_nodes_is_as_it_was() -> None:
    assert kept_off(pod(), ()) == pod()


def test_a_pod_without_affinity_gets_one() -> None:
    wanted = {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [{"matchFields": AWAY}]}}}
    assert kept_off(pod(), ("a", "b")) == pod(affinity=wanted)


def test_every_term_of_a_template_gets_the_condition_and_the_rest_stays() -> None:
    terms: list[dict[str, Any]] = [
        {"matchExpressions": [GPU]},
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["c"]}]},
    ]
    given = {"podAntiAffinity": {"x": 1}, "nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}, "preferred": []}}
    before = repr(given)
    found = kept_off(pod(affinity=given), ("a", "b"))["spec"]["affinity"]
    assert found["podAntiAffinity"] == {"x": 1}
    assert found["nodeAffinity"]["preferred"] == []
    assert found["nodeAffinity"][REQUIRED]["nodeSelectorTerms"] == [
        {"matchExpressions": [GPU], "matchFields": AWAY},
        {"matchFields": [*terms[1]["matchFields"], *AWAY]},
    ]
    assert repr(given) == before
