"""What is scraped is declared, what is declared is scraped, and the page in docs/ says the same."""

import re
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.openmetrics import exposition as openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as plain_families

from muster.api.goodput import Bucket, Goodput
from muster.api.manifest.operators import operators
from muster.api.values.accelerators import USUAL
from muster.daemon.web import progress
from muster.metrics import catalogue, own_state
from muster.metrics.catalogue import CATALOGUE, LABEL_SETS
from muster.metrics.collector import ExperimentCollector, Subject
from muster.metrics.exposition import OPENMETRICS, Seen, look, write
from muster.metrics.instruments import Instruments
from muster.metrics.own_state import IncidentCollector, LeadershipCollector, RightsCollector, WatchCollector
from muster.metrics.rows import experiment as each
from muster.metrics.rows import fleet
from muster.metrics.rows.row import Type
from muster.state.facts.incidents.signs import Run, Sign
from muster.state.facts.incidents.tracking import MOST, Tracking
from muster.state.facts.nodes.suspects import Suspect
from muster.state.policies.failures.restart_reasons import EXPORTED
from muster.state.view.progress import StepReport
from muster.state.view.roll import RankState
from muster.state.vocabulary.pod import PodSpec
from muster.state.vocabulary.record import Cause, Condition, ConditionType, Phase
from muster.state.vocabulary.rules import ClockAction, ClockName
from tests.builders import NOW, Clock, answer, plan, pod, record, view, worker_group
from tests.state.facts.incidents.fleet import follow
from tools import metrics_page

DECLARED = {row.family: row for row in CATALOGUE}
THE_LIBRARYS = ("process_", "python_")
"""How the names of the metrics begin that prometheus_client has of the process."""


def watch(synced: bool = True, age: float = 1.0) -> Any:
    """A reflector's figures."""
    counts = {"reconnects": Counter(ended=3, silent=1), "events": Counter(ADDED=10), "decode_errors": 2}
    feed = SimpleNamespace(synced=synced, relists=1)
    return SimpleNamespace(feed=feed, staleness=lambda now: now - NOW + age, **counts)


def leader(leading: bool = True, renewal_age: float | None = 1.5) -> Any:
    """An elector's figures."""
    return SimpleNamespace(
        identity="musterd-0_1f\ud800",
        leading=leading,
        sees_leader=not leading,
        transitions=Counter(acquired=2, expired=1),
        renewal_age=renewal_age,
    )


def everything() -> Instruments:
    """A daemon to which everything that is measured has happened once."""
    instruments = Instruments("1.2.3", tracked_pods=lambda: 4, queue_depth=lambda: 1, clock=lambda: NOW)
    cause = Cause(0, "Evicted", "", NOW, disruption=True)
    instruments.transition(plan(), record(), record(phase=Phase.RESTARTING, disruptions=1, cause=cause))
    instruments.transition(plan(), record(), record(phase=Phase.SUCCEEDED, reason="Completed"))
    assembled = record(phase=Phase.RUNNING, epoch_at=NOW, assembled_at=NOW + 40)
    instruments.transition(plan(), record(epoch_at=NOW, broken_at=NOW - 5), assembled)
    for n in range(LABEL_SETS + 100):
        instruments.probed("jax", f"state-{n}", 0.01)
    instruments.request("create", "pods", "ok", 0.02)
    instruments.refused("QuotaExceeded")
    instruments.failed("step")
    instruments.retried("create", "pods")
    instruments.decision(0.0002)
    instruments.queued(0.01)
    instruments.lagged(0.001)
    clocks = {ClockName.TOTAL: Clock(600, ClockAction.FAIL)}
    stuck = Condition(ConditionType.STUCK, True, "Hung", "no progress", 1, NOW)
    sums = Goodput(NOW - 60, Bucket.PRODUCTIVE)
    now = record(phase=Phase.ASSEMBLING, started_at=NOW, conditions=(stuck,), goodput=sums)
    waits = record(phase=Phase.QUEUED, goodput=Goodput(NOW, Bucket.QUEUED))
    queued = Subject(plan(name="later"), waits, view())
    gpus = (worker_group(4, pod=PodSpec(limits={"nvidia.com/gpu": "8"})),)
    subject = Subject(
        plan(clocks=clocks, groups=gpus), now, view(pod(), heard=answer(*[RankState.ARRIVED] * 3, RankState.MISSING))
    )
    for step in (1, 2):
        said = (StepReport(0, step, step, float(step)),)
        subject.view.observe_probe(answer(*[RankState.ARRIVED] * 3, RankState.MISSING, reports=said), 0)
    collector = ExperimentCollector(lambda: [subject, queued], lambda: NOW, labels=("label_team",))
    collector.changed(subject.plan, None, now)
    instruments.registry.register(collector)
    node = [Sign(Run("team", f"r{n}"), "NodeNotReady", "node", "n7", 1, NOW) for n in range(3)]
    incidents = follow(follow(Tracking(), node, NOW), node, NOW + 60)
    lost, suspects = {("nvidia.com/gpu", "Hung"): 80.0}, [Suspect("n7", 7, 4, NOW, 0.1)]
    instruments.registry.register(IncidentCollector(lambda: incidents, lambda: lost, USUAL, lambda: suspects))
    instruments.registry.register(WatchCollector(lambda: [("pods", watch())], lambda: NOW, lambda: {"identity": 1}))
    instruments.registry.register(LeadershipCollector(leader()))
    instruments.registry.register(RightsCollector(lambda: [(("create", "pods"), "no")]))
    return instruments


def test_every_series_is_declared_with_exactly_its_labels_and_every_row_is_scraped() -> None:
    body, content_type = write(look(everything().registry), f"text/html, {OPENMETRICS};version=1.0.0;q=0.6")
    assert content_type.startswith(OPENMETRICS)
    sampled = set()
    for family in text_string_to_metric_families(body.decode()):
        if family.name.startswith(THE_LIBRARYS):
            continue
        row = DECLARED[family.name]
        assert (family.type, family.documentation, family.unit) == (row.type, row.help, row.unit)
        for sample in family.samples:
            labels = set(sample.labels) - ({"le"} if row.type is Type.HISTOGRAM else set())
            assert labels == set(row.labels), sample
            suffixes = ("_bucket", "_sum", "_count") if row.type is Type.HISTOGRAM else ("",)
            assert sample.name in {row.name + suffix for suffix in suffixes}
            sampled.add(row.name)
    assert sampled == {row.name for row in CATALOGUE}


@pytest.mark.parametrize("accept", [OPENMETRICS, "", "text/plain; version=nonsense, */*"])
def test_our_writer_writes_what_prometheus_client_would(accept: str) -> None:
    ours = accept == OPENMETRICS
    body, content_type = write(look(everything().registry), accept)
    assert content_type.startswith(OPENMETRICS if ours else "text/plain; version=0.0.4; charset=utf-8")
    text = body.decode()
    families = list((text_string_to_metric_families if ours else plain_families)(text))
    for family in families:  # the plain format has no units, and no kind for constants
        family.unit = DECLARED[family.name].unit if ours and family.name in DECLARED else ""
    theirs = (openmetrics.generate_latest if ours else generate_latest)(Seen(families, [])).decode()
    assert values(text) == values(theirs)


def values(text: str) -> list[tuple[str, float | str]]:
    """Every line, with its value as a number, and with its labels in order, which has no meaning in either format."""
    lines = (line.rpartition(" ") for line in text.splitlines())
    return [(head, last) if head.startswith("#") else (_in_order(head), float(last)) for head, _, last in lines]


def _in_order(series: str) -> str:
    return series.partition("{")[0] + ",".join(sorted(re.findall(r'\w+="(?:[^"\\]|\\.)*"', series)))


def test_the_metrics_of_the_process_are_there() -> None:
    text = write(look(everything().registry), "")[0].decode()
    for name in re.findall(r"`((?:process|python)_\w+)`", metrics_page.page()):
        assert f"\n{name}" in text


OF_NAMESPACES = (
    fleet.NAMESPACE_OUTCOMES,
    fleet.NAMESPACE_SECONDS,
    fleet.NAMESPACE_ACCELERATOR_SECONDS,
    fleet.NAMESPACE_ACCELERATOR_LOST,
)


def test_names_follow_the_conventions() -> None:
    assert len(DECLARED) == len(CATALOGUE)
    for row in CATALOGUE:
        assert re.fullmatch(r"muster_[a-z_]+", row.name)
        assert (row.unit == "seconds") is ("_seconds" in row.name), "OpenMetrics: a unit is the end of the name"
        assert row.buckets == tuple(sorted(row.buckets))
        assert row.help.endswith(".")
        if row.type in (Type.COUNTER, Type.HISTOGRAM) and row not in each.ROWS:
            assert not {"experiment", "pod"} & set(row.labels), "a series per experiment would never end"
            assert "namespace" not in row.labels or row in OF_NAMESPACES, "NAMESPACES limits them"


def test_two_watches_of_one_resource_report_the_worse() -> None:
    watches = [("pods", watch()), ("pods", watch(synced=False, age=50.0)), ("services", watch())]
    seen = look(WatchCollector(lambda: watches, lambda: NOW))
    samples = {(s.name, *s.labels.values()): s.value for family in seen.collect() for s in family.samples}
    assert samples["muster_watch_staleness_seconds", "pods"] == 50
    assert samples["muster_watch_synced", "pods"] == 0
    assert samples["muster_watch_synced", "services"] == 1
    assert samples["muster_watch_reconnects_total", "pods", "ended"] == 6
    assert samples["muster_watch_decode_errors_total", "pods"] == 4


def test_a_standby_reports_0_and_no_renewal() -> None:
    standby = leader(leading=False, renewal_age=None)
    samples = {s.name: s.value for family in LeadershipCollector(standby).collect() for s in family.samples}
    assert samples == {"muster_leader": 0, "muster_leader_seen": 1, "muster_leader_transitions_total": 1}


def test_a_right_that_is_missing_is_1_and_0_once_it_is_there() -> None:
    denied = [(("update", "experiments/status"), "no"), (("create", "pods"), "no")]
    collector = RightsCollector(lambda: denied)

    def seen() -> dict[tuple[str, ...], float]:
        return {tuple(s.labels.values()): s.value for family in collector.collect() for s in family.samples}

    assert seen() == {("create", "pods"): 1, ("update", "experiments/status"): 1}
    denied.pop()
    assert seen() == {("create", "pods"): 0, ("update", "experiments/status"): 1}


@pytest.mark.drift
def test_the_page_in_docs_is_the_catalogues() -> None:
    path = Path(__file__).parents[2] / "docs" / "metrics.md"
    assert path.read_text() == metrics_page.page(), "run `python -m tools.metrics_page > docs/metrics.md`"


def test_every_operator_that_can_be_planned_is_one_that_a_manifest_may_name() -> None:
    assert set(catalogue.OPERATORS) == set(operators())


def test_a_restart_counts_under_the_same_reason_for_one_experiment_as_for_all() -> None:
    assert {reason for _, reason in catalogue.RESTARTS} < set(EXPORTED)


def test_every_answer_of_the_progress_endpoint_begins_at_0() -> None:
    outcomes = {"refused", *progress._OUTCOMES.values()}  # noqa: SLF001
    assert {outcome for (outcome,) in catalogue.POSTS} == outcomes


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
    found = scrape(signs, {("gpu", f"Reason{n}"): 1.0 for n in range(2 * own_state.PAIRS)})
    assert len(found["muster_incident_runs"]) == MOST
    assert found["muster_incidents_hidden"] == [({}, 20)]
    assert len(found["muster_accelerator_stuck_seconds_total"]) == own_state.PAIRS + 1
