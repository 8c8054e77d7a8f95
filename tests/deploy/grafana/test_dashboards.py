"""What must hold of every dashboard, shown without Prometheus."""

import re
import tomllib
from typing import Any

import pytest
from prometheus_client import CollectorRegistry, ProcessCollector

from deploy.grafana.__main__ import BOARDS
from deploy.grafana.render import text
from deploy.prometheus.groups import ALERTS
from muster.metrics.catalogue import CATALOGUE
from muster.metrics.rows.row import Type
from muster.metrics.runbooks import PLACES, REASONS
from tests.deploy.grafana.dashboards import FILES, ROOT, Dashboard, dashboards
from tests.deploy.prometheus.test_names import LABELS
from tests.docs.test_links import anchors

ALL = dashboards()
UNITS = {"none", "short", "s", "dtdurations", "percentunit", "reqps", "ops", "bytes"}
"""Units of Grafana's own list that these dashboards use; Grafana shows one it does not know as a suffix."""

OF_THE_SCRAPE = {"cluster", "shard", "instance", "job", "le"}
OF_ALERTS = {"alertname", "alertstate", "severity"}

each_dashboard = pytest.mark.parametrize("dashboard", ALL, ids=lambda dashboard: dashboard.path.stem)


@pytest.mark.drift
def test_the_files_are_what_the_code_writes() -> None:
    written = {f"{board.name}.json": text(board) for board in BOARDS}
    assert {path.name: path.read_text(encoding="utf-8") for path in FILES} == written, "run: make docs"


def of_the_process() -> set[str]:
    """Metrics of the process, which prometheus_client exports."""
    families = ProcessCollector(registry=CollectorRegistry()).collect()
    return {sample.name for family in families for sample in family.samples}


@pytest.mark.drift
@each_dashboard
def test_every_metric_is_in_the_catalogue(dashboard: Dashboard) -> None:
    known = LABELS.keys() | of_the_process()
    unknown = {metric: str(query) for query in dashboard.queries for metric in query.metrics - known}
    assert not unknown


@pytest.mark.drift
@each_dashboard
def test_every_label_is_one_of_its_metric(dashboard: Dashboard) -> None:
    for query in dashboard.queries:
        for metric, label in query.labels:
            assert label in LABELS.get(metric, set()) | OF_THE_SCRAPE, f"{metric} has no label {label}: {query}"
        of_all = set[str]().union(*(LABELS.get(metric, set()) for metric in query.metrics))
        if "ALERTS{" in query.expr:
            of_all = OF_ALERTS.union(*LABELS.values())
        assert query.grouped <= of_all | OF_THE_SCRAPE, query


def test_every_metric_of_an_experiment_is_on_a_dashboard_or_in_the_text_of_an_alert() -> None:
    """A metric that neither shows needs a panel, or is not needed."""
    shown = {metric for dashboard in ALL for query in dashboard.queries for metric in query.metrics}
    per_experiment = {row.name for row in CATALOGUE if "experiment" in row.labels}
    said = " ".join(alert.summary for alert in ALERTS)
    assert {name for name in per_experiment - shown if name not in said} == set()


@each_dashboard
def test_every_panel_says_what_it_shows_in_which_unit(dashboard: Dashboard) -> None:
    for panel in dashboard.panels:
        where = f"{dashboard.path.name}: {panel['title']}"
        assert len(panel["description"]) > 20, where
        assert panel["fieldConfig"]["defaults"]["unit"] in UNITS, where
        assert all(column["value"] in UNITS for column in _properties(panel, "unit")), where
        assert panel["targets"], where


def _properties(panel: dict[str, Any], name: str) -> list[dict[str, Any]]:
    overrides = panel["fieldConfig"]["overrides"]
    return [one for override in overrides for one in override["properties"] if one["id"] == name]


@each_dashboard
def test_every_query_selects_the_chosen_cluster_and_keeps_it_beside_what_is_of_one(dashboard: Dashboard) -> None:
    """Two clusters in one Prometheus may have the same namespaces, names, instances and jobs.

    So may two shards of one cluster, where a dashboard is not of one experiment, which is of one shard.
    """
    several = "experiment" not in dashboard.variables
    chosen = r'\{cluster=~"\$cluster",shard=~"\$shard"[,}]' if several else r'\{cluster="\$cluster"[,}]'
    kept = {"cluster", "shard"} if several else {"cluster"}
    for query in dashboard.queries:
        named = re.findall(rf"\b((?:muster|process|python)_[a-z0-9_]+|ALERTS\w*)\b({chosen})?", query.expr)
        assert named, query
        assert all(selected for _, selected in named), query
        for listed in re.findall(r"\b(?:by|on) \(([^)]*)\)", query.expr):
            labels = set(listed.split(", "))
            assert kept <= labels or not labels & {"namespace", "experiment", "instance", "job"}, query
    assert dashboard.variables["cluster"]["query"]["query"] == "label_values(muster_build_info, cluster)"
    if several:
        shards = dashboard.variables["shard"]
        assert shards["query"]["query"] == 'label_values(muster_build_info{cluster=~"$cluster"}, shard)'
        assert shards["allValue"] == ".*", "a label that no series has has no values"
    assert several == ("shard" in dashboard.variables)
    for url in dashboard.links:
        if "${__data.fields.experiment}" in url:
            assert "cluster=${__data.fields.cluster}" in url


@each_dashboard
def test_the_label_of_the_cluster_can_have_another_name(dashboard: Dashboard) -> None:
    (board,) = (one for one in BOARDS if one.name == dashboard.path.stem)
    other = text(board, "k8s")
    assert "label_values(muster_build_info, k8s)" in other
    assert not re.search(r"cluster=~?\\|\(cluster\b|fields\.cluster|\{\{cluster|, cluster", other)
    assert other.replace("k8s", "") != other


@each_dashboard
def test_no_panel_covers_another(dashboard: Dashboard) -> None:
    cells: dict[tuple[int, int], str] = {}
    for panel in dashboard.content["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24, panel["title"]
        for x in range(place["x"], place["x"] + place["w"]):
            for y in range(place["y"], place["y"] + place["h"]):
                assert (x, y) not in cells, (panel["title"], cells[x, y])
                cells[x, y] = panel["title"]


@each_dashboard
def test_every_variable_that_a_query_reads_can_be_chosen(dashboard: Dashboard) -> None:
    used = {name for query in dashboard.queries for name in query.variables}
    assert used <= dashboard.variables.keys()
    assert "datasource" in dashboard.variables
    sources = {target["datasource"]["uid"] for panel in dashboard.panels for target in panel["targets"]}
    assert sources == {"${datasource}"}


def documentation() -> str:
    return str(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]["Documentation"])


@each_dashboard
def test_the_window_of_a_rate_is_the_time_between_two_points_or_the_hour_that_the_title_names(
    dashboard: Dashboard,
) -> None:
    for query in dashboard.queries:
        windows = set(re.findall(r"(?:rate|increase)\([^()]*\[([^\]]+)\]", query.expr))
        if query.over_time and "hour" not in query.panel:
            assert windows <= {"$__rate_interval"}, query
        else:
            assert "$__rate_interval" not in windows, query


@each_dashboard
def test_a_counter_of_the_daemon_is_drawn_as_what_it_rose(dashboard: Dashboard) -> None:
    counters = {row.name for row in CATALOGUE if row.type is Type.COUNTER and "experiment" not in row.labels}
    for query in dashboard.queries:
        raw = {name for name in counters & query.metrics if not re.search(rf"(rate|increase)\({name}\b", query.expr)}
        assert not raw, query


def board(name: str) -> Dashboard:
    return next(dashboard for dashboard in ALL if dashboard.path.stem == name)


def panel_of(name: str, title: str) -> dict[str, Any]:
    return next(panel for panel in board(name).panels if panel["title"] == title)


OF_MUSTERD = {"Changes of the leader": "muster_leader", "Versions of musterd": "muster_build_info"}
COLUMN, AROUND, LETTER = 52, 48, 6.6
"""Pixels of a column of the grid on a screen of 1,280, of what stands beside a title, and of an average letter."""


@each_dashboard
def test_no_title_is_cut_off_on_a_screen_of_1280_pixels(dashboard: Dashboard) -> None:
    for panel in dashboard.panels:
        assert LETTER * len(panel["title"]) <= COLUMN * panel["gridPos"]["w"] - AROUND, panel["title"]


@pytest.mark.parametrize(
    ("name", "marks"),
    [
        ("muster-experiment", {"Restarts": "muster_experiment_restarts_total", **OF_MUSTERD}),
        ("muster-fleet", OF_MUSTERD),
        ("muster-daemon", OF_MUSTERD),
    ],
)
def test_restarts_and_changes_of_the_leader_are_marked_and_can_be_switched_off(
    name: str, marks: dict[str, str]
) -> None:
    shown = {mark["name"]: mark for mark in board(name).marks}
    assert shown.keys() == marks.keys()
    for title, metric in marks.items():
        assert metric in shown[title]["expr"]
        assert (shown[title]["enable"], shown[title]["hide"]) == (True, False)
        assert shown[title]["datasource"]["uid"] == "${datasource}"


@each_dashboard
def test_a_column_of_reasons_or_alerts_holds_the_longest_of_them(dashboard: Dashboard) -> None:
    reasons = {reason for known in REASONS.values() for reason in known if reason.isalpha()}
    words = {"reason": reasons, "alertname": {alert.name for alert in ALERTS}}
    for panel in (panel for panel in dashboard.panels if panel["type"] == "table"):
        arranged = next(one for one in panel["transformations"] if one["id"] == "organize")["options"]
        for name in words.keys() & arranged["indexByName"].keys():
            overrides = [one for one in panel["fieldConfig"]["overrides"] if one["matcher"]["options"] == name]
            values = {one["id"]: one["value"] for override in overrides for one in override["properties"]}
            assert values["custom.cellOptions"]["wrapText"], panel["title"]
            assert values["custom.width"] >= 8 * max(map(len, words[name])), panel["title"]


@each_dashboard
def test_every_link_into_the_documentation_leads_somewhere(dashboard: Dashboard) -> None:
    inside = [url.removeprefix(documentation()) for url in dashboard.links if url.startswith(documentation())]
    assert any(path.startswith("/runbooks") for path in inside)
    for path in inside:
        file, _, heading = path.partition("#")
        assert (ROOT / "docs" / file.strip("/")).exists(), path
        assert not heading or heading in anchors(ROOT / "docs" / file.strip("/")), path


def test_every_runbook_is_linked_where_its_alert_is_explained() -> None:
    linked = {url.rpartition("/")[2] for dashboard in ALL for url in dashboard.links}
    assert set(PLACES.values()) <= linked


@each_dashboard
def test_a_dashboard_of_experiments_leads_to_their_roll_call(dashboard: Dashboard) -> None:
    selected = {label for query in dashboard.queries for _, label in query.labels}
    grouped = {label for query in dashboard.queries for label in query.grouped}
    leads = [url for url in dashboard.links if url.startswith("${musterd}/experiments/")]
    assert bool(leads) is ("experiment" in selected | grouped)


@each_dashboard
def test_every_link_elsewhere_leads_to_musterd_or_another_dashboard(dashboard: Dashboard) -> None:
    outside = [url for url in dashboard.links if url and not url.startswith(documentation())]
    targets = {f"/d/{one.path.stem}" for one in ALL}
    for url in outside:
        assert (
            url.startswith(("${musterd}/experiments/", "${musterd}/runbooks/")) or url.partition("?")[0] in targets
        ), url
