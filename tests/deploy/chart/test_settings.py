"""Every setting of musterd is a value of the chart, and what the chart passes on is what musterd reads."""

import json
from pathlib import Path
from typing import Any

import pytest
from pydantic.alias_generators import to_camel

from deploy.helm.schema import schema
from deploy.helm.values import NOT_IN_THE_CHART, SETTINGS
from muster.daemon.settings import Settings, from_command_line
from muster.daemon.web.readers import Refused, check_host, is_loopback
from muster.metrics.runbooks import SERVED
from tests.deploy.chart.conftest import Object, Rendered, one

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

OTHER: dict[str, Any] = {
    "namespace": "lab",
    "shard": "vision",
    "http_host": "10.0.0.1",
    "http_port": 9000,
    "http_authentication": "always",
    "http_names": "rollcall.example.com",
    "health_host": "127.0.0.1",
    "health_port": 9001,
    "node_labels": True,
    "node_history": True,
    "log_format": "pretty",
    "log_level": "debug",
    "write_concurrency": 1000,
    "watch_silence": 120.5,
    "shutdown_timeout": 25,
    "leader_elect": False,
    "lease_name": "other",
    "lease_namespace": "leases",
    "lease_duration": 60,
    "renew_deadline": 12,
    "retry_period": 0.5,
    "run_kinds": "jaxjobs,jobsets",
    "otlp_endpoint": "http://collector.monitoring:4318",
    "accelerators": "nvidia.com/gpu",
    "owner_labels": "team,example.com/cost-center",
    "retention": "30d,ci=12h,archive=keep",
    "uvloop": False,
}
"""A value of each setting that is neither its default nor the chart's."""


def arguments(objects: list[Object]) -> list[str]:
    found: list[str] = one(objects, "Deployment")["spec"]["template"]["spec"]["containers"][0]["args"]
    return found


def test_every_setting_is_a_value_or_has_a_reason_why_not() -> None:
    values = schema()["properties"]["settings"]["properties"]
    missing = {name for name in Settings.model_fields if to_camel(name) not in values}
    assert missing == set(NOT_IN_THE_CHART)
    assert all(NOT_IN_THE_CHART.values())
    assert set(values) <= {to_camel(name) for name in Settings.model_fields}


def test_by_default_only_what_the_chart_needs_differs_from_the_program(rendered: Rendered) -> None:
    settings = from_command_line(arguments(rendered()))
    names = "musterd,musterd.muster-system,musterd.muster-system.svc,musterd.muster-system.svc.cluster.local"
    assert settings.model_dump() == {**Settings().model_dump(), **SETTINGS, "http_names": names}
    assert settings.leader_elect
    assert not is_loopback(settings.http_host)


@pytest.mark.parametrize("name", [name for name in Settings.model_fields if name not in NOT_IN_THE_CHART])
def test_a_value_reaches_musterd_as_it_is(rendered: Rendered, name: str) -> None:
    assert OTHER[name] != SETTINGS.get(name, Settings.model_fields[name].get_default())
    more = ("--set", "replicas=1") if name == "leader_elect" else ()
    value = json.dumps(OTHER[name])
    objects = rendered("--set-json", f"settings.{to_camel(name)}={value}", *more)
    read = getattr(from_command_line(arguments(objects)), name)
    assert (read.split(",")[-1] if name == "http_names" else read) == OTHER[name]


def test_all_settings_together_reach_musterd(rendered: Rendered) -> None:
    values = {to_camel(name): value for name, value in OTHER.items()}
    objects = rendered("--set-json", f"settings={json.dumps(values)}", "--set", "replicas=1,service.create=false")
    expected = {**OTHER, "kubeconfig": None, "context": None, "kueue": False, "watch_kinds": "", "alone": False}
    expected |= {"runbook_url": SERVED, "http_tls_cert": None, "http_tls_key": None}
    unset = ("progress_port", "progress_tls_cert", "progress_tls_key", "progress_ca")
    expected |= {"progress_host": "0.0.0.0", "progress_url": "", "progress_address": "", **dict.fromkeys(unset)}
    assert from_command_line(arguments(objects)).model_dump() == expected


def test_the_page_and_the_alerts_lead_to_the_same_runbooks(rendered: Rendered) -> None:
    objects = rendered("--set", "prometheusRule.create=always,prometheusRule.runbookUrl=https://wiki.example/runbooks")
    assert from_command_line(arguments(objects)).runbook_url == "https://wiki.example/runbooks"
    rules = json.dumps(one(objects, "PrometheusRule"))
    assert "https://wiki.example/runbooks/MusterRankMissing.md" in rules


@pytest.mark.parametrize(("values", "place"), [
    ("name=second", "http://second.muster-system.svc:8080/runbooks"),
    ("tls.secretName=own", "https://musterd.muster-system.svc:8080/runbooks"),
    ("ingress.host=muster.example.com,ingress.tlsSecretName=own", "https://muster.example.com/runbooks"),
])  # fmt: skip
def test_without_a_site_of_their_own_the_runbooks_are_those_that_musterd_serves(
    rendered: Rendered, values: str, place: str
) -> None:
    objects = rendered("--set", f"prometheusRule.create=always,{values}")
    assert f"{place}/MusterRankMissing.md" in json.dumps(one(objects, "PrometheusRule"))
    assert from_command_line(arguments(objects)).runbook_url == SERVED


def test_https_is_served_from_the_secret_and_asked_for_by_the_service_monitor(rendered: Rendered) -> None:
    volume = '[{"name":"ca","configMap":{"name":"ca"}}]'
    options = ("--set", "tls.secretName=own,serviceMonitor.create=always", "--set-json", f"extraVolumes={volume}")
    objects = rendered(*options, namespace="team-b")
    spec = one(objects, "Deployment")["spec"]["template"]["spec"]
    assert [each["name"] for each in spec["volumes"]] == ["tls", "ca"]
    assert spec["volumes"][0]["secret"] == {"secretName": "own"}
    (mount,) = spec["containers"][0]["volumeMounts"]
    settings = from_command_line(arguments(objects))
    assert (settings.http_tls_cert, settings.http_tls_key) == tuple(
        Path(mount["mountPath"], name) for name in ("tls.crt", "tls.key")
    )
    assert mount["readOnly"]
    probes = [spec["containers"][0][probe]["httpGet"] for probe in ("livenessProbe", "readinessProbe")]
    assert not [probe for probe in probes if "scheme" in probe], "the listener for the kubelet has no certificate"
    (endpoint,) = one(objects, "ServiceMonitor")["spec"]["endpoints"]
    assert endpoint["scheme"] == "https"
    assert endpoint["tlsConfig"] == {
        "ca": {"secret": {"name": "own", "key": "ca.crt"}},
        "serverName": "musterd.team-b.svc",
    }
    check_host([endpoint["tlsConfig"]["serverName"]], settings.http_names.split(","))


def test_the_lease_has_the_name_of_all_objects_unless_it_has_its_own(rendered: Rendered) -> None:
    named = rendered("--set", "name=second")
    assert from_command_line(arguments(named)).lease_name == "second"
    own = rendered("--set", "name=second,settings.leaseName=own,settings.leaseNamespace=leases")
    role = one(own, "Role")
    assert from_command_line(arguments(own)).lease_name == "own"
    assert [rule.get("resourceNames") for rule in role["rules"]] == [None, ["own"]]
    assert {each["metadata"]["namespace"] for each in (role, one(own, "RoleBinding"))} == {"leases"}
    (rule,) = one(own, "FlowSchema")["spec"]["rules"]
    assert rule["resourceRules"][0]["namespaces"] == ["leases"]
    assert from_command_line(arguments(own)).lease_namespace == "leases"


def test_the_page_answers_by_the_host_of_its_ingress(rendered: Rendered) -> None:
    objects = rendered("--set", "ingress.host=muster.example.com,ingress.tlsSecretName=tls")
    check_host(["muster.example.com"], from_command_line(arguments(objects)).http_names.split(","))
    (rule,) = one(objects, "Ingress")["spec"]["rules"]
    backend = rule["http"]["paths"][0]["backend"]["service"]
    service = one(objects, "Service")
    assert (backend["name"], backend["port"]) == (service["metadata"]["name"], {"name": "http"})


def test_more_flags_come_after_the_settings_and_win(rendered: Rendered) -> None:
    objects = rendered("--set", "settings.logLevel=info,extraArgs[0]=--log-level=debug")
    assert from_command_line(arguments(objects)).log_level == "debug"


def test_the_page_answers_by_every_name_of_its_service(rendered: Rendered) -> None:
    objects = rendered("--set", "name=second,settings.httpNames=rollcall.example.com", namespace="team-b")
    names = from_command_line(arguments(objects)).http_names.split(",")
    service = one(objects, "Service")
    name, port = service["metadata"]["name"], service["spec"]["ports"][0]["port"]
    for host in (name, f"{name}.team-b", f"{name}.team-b.svc", f"{name}.team-b.svc.cluster.local"):
        check_host([f"{host}:{port}"], names)
    check_host(["rollcall.example.com"], names)
    with pytest.raises(Refused):
        check_host([f"{name}.team-c"], names)
