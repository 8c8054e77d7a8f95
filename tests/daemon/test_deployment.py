"""deploy/musterd.yaml fits the program: its flags, its ports, and the probes of the kubelet."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.api.names import GROUP, LABEL_UID, PLURAL
from muster.daemon.settings import Settings, from_command_line
from muster.daemon.web.reviews import ACCESS_REVIEWS, METRICS, TOKEN_REVIEWS
from muster.kube.authentication.credentials import is_loopback

DEPLOY = Path(__file__).parents[2] / "deploy"


@pytest.fixture(scope="module")
def objects() -> dict[str, dict[str, Any]]:
    """Return the objects by kind; for kinds that come twice, the last."""
    documents = yaml.safe_load_all((DEPLOY / "musterd.yaml").read_text(encoding="utf-8"))
    return {each["kind"]: each for each in documents if each}


def container(objects: dict[str, dict[str, Any]]) -> Any:
    return objects["Deployment"]["spec"]["template"]["spec"]["containers"][0]


def test_its_flags_are_settings_and_name_its_ports(objects: dict[str, dict[str, Any]]) -> None:
    settings = from_command_line(container(objects)["args"])
    ports = {port["name"]: port["containerPort"] for port in container(objects)["ports"]}
    assert settings.leader_elect
    assert ports == {"http": settings.http_port, "health": settings.health_port}


def test_it_asks_its_readers_for_tokens_and_has_the_rights_to_review_them(objects: dict[str, dict[str, Any]]) -> None:
    settings = from_command_line(container(objects)["args"])
    assert not is_loopback(settings.http_host)
    assert settings.http_authentication == "auto"
    granted = [(rule["apiGroups"], rule["resources"], rule["verbs"]) for rule in objects["ClusterRole"]["rules"]]
    for path in (TOKEN_REVIEWS, ACCESS_REVIEWS):
        _, _, group, _, resource = path.split("/")
        assert ([group], [resource], ["create"]) in granted


def test_without_flags_only_this_machine_can_read() -> None:
    assert is_loopback(Settings().http_host)
    assert Settings().health_port is None


def test_the_readers_roles_grant_what_the_server_asks_for() -> None:
    roles = {each["metadata"]["name"]: each for each in yaml.safe_load_all((DEPLOY / "readers.yaml").read_text())}
    metrics, experiments = roles["muster-metrics-reader"], roles["muster-experiments-reader"]
    assert METRICS == {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}
    assert metrics["rules"] == [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    assert experiments["rules"] == [{"apiGroups": [GROUP], "resources": [PLURAL], "verbs": ["get", "list", "watch"]}]


def test_the_network_policy_selects_its_pods_and_admits_no_one_to_the_health_port(
    objects: dict[str, dict[str, Any]],
) -> None:
    policy = objects["NetworkPolicy"]["spec"]
    assert policy["podSelector"] == objects["Deployment"]["spec"]["selector"]
    for rule in policy["ingress"]:
        assert [port["port"] for port in rule["ports"]] == [from_command_line(container(objects)["args"]).http_port]
        assert rule["from"]
    coordinators = policy["egress"][-1]["to"][0]["podSelector"]["matchExpressions"]
    assert coordinators == [{"key": LABEL_UID, "operator": "Exists"}]
