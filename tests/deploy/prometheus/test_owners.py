"""Labels of owners on the alerts about runs, by promtool."""

from pathlib import Path

import pytest
import yaml

from deploy.prometheus.groups import ALERTS, GROUPS
from deploy.prometheus.text import plain
from muster.api.values.owners import OwnerLabels
from tests.deploy.prometheus.promtool import answered

pytestmark = pytest.mark.slow

LABELS = OwnerLabels.of_list("team,example.com/cost-center").names
RUN = 'namespace="vision",experiment="llama"'
OF_RUN = {"namespace": "vision", "experiment": "llama"}
OWNED = {"label_team": "vision", "label_example_com_cost_center": "a1"}
STUCK = f'muster_experiment_stuck_reason{{{RUN},reason="Hung",audience="researcher"}}'


def info(labels: str, instance: str = "a") -> str:
    return f'muster_experiment_info{{{RUN},operator="jax",engine="native",instance="{instance}"{labels}}}'


BOTH = ',label_team="vision",label_example_com_cost_center="a1"'
CASES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "a run has both labels": ({info(BOTH): "1x400", STUCK: "1x400"}, OWNED),
    "a run has none": ({info(""): "1x400", STUCK: "1x400"}, {}),
    "the label was changed, which is looked back at": (
        {info(',label_team="nlp"'): "1x3 stale", info(BOTH): "_x4 1x300", STUCK: "1x400"},
        OWNED,
    ),
    "two daemons export the run while the lead changes": (
        {info(BOTH): "1x400", info(BOTH, "b"): "1x400", STUCK: "1x400"},
        OWNED,
    ),
    "scrapes fail for a while": ({info(BOTH): "1x115 _x3 1x300", STUCK: "1x115 _x3 1x300"}, OWNED),
}


@pytest.mark.parametrize("situation", CASES)
def test_an_alert_about_a_run_has_the_labels_of_its_owner(situation: str, tmp_path: Path) -> None:
    series, labels = CASES[situation]
    rules = yaml.safe_load(plain(GROUPS, LABELS))
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rules))
    fired = {"alertname": "MusterHung", "severity": "critical", "audience": "researcher", "reason": "Hung"}
    words = ",".join(f'{name}="{value}"' for name, value in (fired | OF_RUN | labels).items())
    expected = {'ALERTS{alertname="MusterHung",alertstate="firing"}': {f'ALERTS{{alertstate="firing",{words}}}': 1.0}}
    order = [group["name"] for group in rules["groups"]]
    for at in (625, 640):
        assert answered([tmp_path / "rules.yaml"], order, series, expected, at, tmp_path) == ""


def test_every_alert_about_a_run_is_joined_and_no_other() -> None:
    groups = yaml.safe_load(plain(GROUPS, LABELS))["groups"]
    rules = [rule for group in groups for rule in group["rules"] if "alert" in rule]
    joined = {
        rule["alert"] for rule in rules if "group_left (label_example_com_cost_center, label_team)" in rule["expr"]
    }
    assert joined == {alert.name for alert in ALERTS if alert.about_run}


def test_without_labels_nothing_is_recorded_or_joined() -> None:
    assert "muster_owners" not in plain(GROUPS)
