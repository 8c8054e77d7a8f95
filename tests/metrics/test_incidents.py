"""What a scrape says of incidents."""

from prometheus_client.openmetrics.parser import text_string_to_metric_families

from muster.api.values.accelerators import USUAL
from muster.metrics.exposition import OPENMETRICS, look, write
from muster.metrics.own_state import LABEL_SETS, IncidentCollector
from muster.state.facts.incidents.signs import Run, Sign
from muster.state.facts.incidents.tracking import MOST, Tracking
from muster.state.facts.nodes.suspects import Suspect
from tests.builders import NOW
from tests.state.facts.incidents.fleet import follow

GPUS = (("nvidia.com/gpu", 8), ("rdma/hca", 1))


def scrape(signs: list[Sign], lost: dict[tuple[str, str], float] | None = None) -> dict[str, list[tuple[dict, float]]]:  # type: ignore[type-arg]
    tracking = follow(follow(Tracking(), signs, NOW), signs, NOW + 60)
    body, _ = write(look(IncidentCollector(lambda: tracking, lambda: lost or {}, USUAL)), OPENMETRICS)
    found: dict[str, list[tuple[dict, float]]] = {}  # type: ignore[type-arg]
    for family in text_string_to_metric_families(body.decode()):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def test_an_incident_has_its_runs_ranks_accelerators_and_beginning() -> None:
    found = scrape([Sign(Run(f"t{n}", "run"), "NodeNotReady", "node", "n7", 2, NOW - n, GPUS) for n in range(4)])
    labels = {"kind": "node", "subject": "n7", "cause": "NodeNotReady", "scope": "cluster", "audience": "platform"}
    assert found["muster_incident_runs"] == [(labels, 4)]
    assert found["muster_incident_ranks"] == [(labels, 8)]
    assert found["muster_incident_accelerators"] == [(labels, 32)]
    assert found["muster_incident_begin_timestamp_seconds"] == [(labels, NOW - 3)]
    assert len(found["muster_experiment_explained"]) == 4


def test_an_incident_of_one_namespace_has_that_scope() -> None:
    found = scrape([Sign(Run("team", f"r{n}"), "ImagePull", "image", "x\ud800\n", 1, NOW) for n in range(3)])
    assert found["muster_incident_runs"][0][0]["scope"] == "namespace/team"
    assert found["muster_incident_runs"][0][0]["audience"] == "researcher"


def test_a_suspect_node_has_the_runs_that_failed_on_it() -> None:
    suspects = [Suspect("gpu-017\n", 7, 4, NOW, 0.1)]
    collector = IncidentCollector(Tracking, dict, USUAL, lambda: suspects)
    text = write(look(collector), "")[0].decode()
    assert 'muster_node_suspect_runs{node="gpu-017 "} 7.0' in text


def test_incidents_and_reasons_without_end_are_bounded() -> None:
    signs = [
        Sign(Run(f"t{k}", f"r{n}"), "ImagePull", "image", f"i{k}", 1, NOW) for k in range(MOST + 20) for n in range(3)
    ]
    found = scrape(signs, {("gpu", f"Reason{n}"): 1.0 for n in range(2 * LABEL_SETS)})
    assert len(found["muster_incident_runs"]) == MOST
    assert found["muster_incidents_hidden"] == [({}, 20)]
    assert len(found["muster_accelerator_stuck_seconds_total"]) == LABEL_SETS + 1
