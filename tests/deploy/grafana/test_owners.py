"""The tables of owners: a column for each label there is, and one row for each run, as promtool evaluates it."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.grafana.answers import interpolated
from tests.deploy.grafana.test_dashboards import panel_of
from tests.deploy.prometheus.promtool import answered

pytestmark = pytest.mark.slow

RUN = 'namespace="vision",experiment="a"'
INFO = f'muster_experiment_info{{{RUN},operator="jax",engine="native",label_team="nlp",'
SERIES = {
    f'{INFO}instance="10.0.0.1:8080",pod="musterd-x",job="musterd"}}': "1x9",
    f'{INFO}instance="10.0.0.2:8080",pod="musterd-y",job="musterd"}}': "_x4 1x5",
    f'muster_experiment_stuck_since_timestamp_seconds{{{RUN},instance="10.0.0.1:8080"}}': "0x9",
    'muster_experiment_info{namespace="vision",experiment="b",operator="jax",engine="native"}': "1x9",
}
CHOICE = {"namespace": "vision", "experiment": "a", "cluster": "", "shard": ""}
PANELS = [("muster-fleet", "Whose they are", 300), ("muster-experiment", "Whose it is", 1)]


def steps(panel: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = (one["options"] for one in panel["transformations"] if one["id"] == name)
    return dict(found)


@pytest.mark.parametrize(("board", "title", "value"), PANELS)
def test_a_run_has_one_row_with_its_owners_while_two_daemons_export_it(
    board: str, title: str, value: float, tmp_path: Path
) -> None:
    (target,) = panel_of(board, title)["targets"]
    labels = '{namespace="vision",experiment="a",operator="jax",engine="native",label_team="nlp"}'
    expected = {interpolated(target["expr"], CHOICE): {labels: value}}
    assert answered([], [], SERIES, expected, 300, tmp_path, "1m") == ""


@pytest.mark.parametrize(("board", "title"), [panel[:2] for panel in PANELS])
def test_every_label_of_owners_is_a_column_and_no_label_of_the_scrape_is(board: str, title: str) -> None:
    panel = panel_of(board, title)
    kept = re.compile(steps(panel, "filterFieldsByName")["include"]["pattern"])
    shown = [
        name for name in ("namespace", "experiment", "label_team", "label_cost_center", "Value") if kept.search(name)
    ]
    assert len(shown) == 5
    assert not [name for name in ("Time", "instance", "__name__", "pod", "job") if kept.search(name)]
    renamed = steps(panel, "renameByRegex")
    assert re.sub(renamed["regex"], renamed["renamePattern"].replace("$1", r"\1"), "label_cost_center") == "cost_center"
