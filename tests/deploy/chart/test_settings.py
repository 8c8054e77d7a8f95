"""Every setting of musterd is a value of the chart, and what the chart passes on is what musterd reads."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pydantic.alias_generators import to_camel

from deploy.helm.schema import schema
from deploy.helm.values import NOT_IN_THE_CHART, SETTINGS
from muster.daemon.settings import Settings, from_command_line
from muster.daemon.web.readers import Refused, check_host
from muster.kube.authentication.credentials import is_loopback
from muster.metrics.runbooks import PLACES, SERVED
from tests.deploy.chart.conftest import Object, Rendered, arguments, one

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


def test_the_page_and_the_alerts_lead_to_the_same_runbooks(rendered: Rendered) -> None:
    objects = rendered("--set", "prometheusRule.create=always,prometheusRule.runbookUrl=https://wiki.example/runbooks")
    assert from_command_line(arguments(objects)).runbook_url == "https://wiki.example/runbooks"
    rules = json.dumps(one(objects, "PrometheusRule"))
    assert "https://wiki.example/runbooks/ranks.md#musterrankmissing" in rules


@pytest.mark.parametrize(("values", "place"), [
    ("fullnameOverride=second", "http://second.muster-system.svc:8080/runbooks"),
    ("tls.secretName=own", "https://musterd.muster-system.svc:8080/runbooks"),
    ("ingress.host=muster.example.com", "http://muster.example.com/runbooks"),
    ("ingress.host=muster.example.com,ingress.tls[0].secretName=own", "https://muster.example.com/runbooks"),
    ("externalUrl=https://muster.example.com", "https://muster.example.com/runbooks"),
    ("externalUrl=https://muster.example.com:8443/,ingress.host=other", "https://muster.example.com:8443/runbooks"),
])  # fmt: skip
def test_without_a_site_of_their_own_the_runbooks_are_those_that_musterd_serves(
    rendered: Rendered, values: str, place: str
) -> None:
    objects = rendered("--set", f"prometheusRule.create=always,{values}")
    groups = one(objects, "PrometheusRule")["spec"]["groups"]
    alerts = [rule for group in groups for rule in group["rules"] if "alert" in rule]
    urls = {each["alert"]: each["annotations"]["runbook_url"] for each in alerts}
    assert urls == {alert: f"{place}/{PLACES[alert]}" for alert in urls}
    settings = from_command_line(arguments(objects))
    assert settings.runbook_url == SERVED
    check_host([urlsplit(place).netloc], settings.http_names.split(","))


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
    named = rendered("--set", "fullnameOverride=second")
    assert from_command_line(arguments(named)).lease_name == "second"
    own = rendered("--set", "fullnameOverride=second,settings.leaseName=own,settings.leaseNamespace=leases")
    role = one(own, "Role")
    assert from_command_line(arguments(own)).lease_name == "own"
    assert [rule.get("resourceNames") for rule in role["rules"]] == [None, ["own"]]
    assert {each["metadata"]["namespace"] for each in (role, one(own, "RoleBinding"))} == {"leases"}
    (rule,) = one(own, "FlowSchema")["spec"]["rules"]
    assert rule["resourceRules"][0]["namespaces"] == ["leases"]
    assert from_command_line(arguments(own)).lease_namespace == "leases"


def test_the_page_answers_by_the_host_of_its_ingress(rendered: Rendered) -> None:
    objects = rendered("--set", "ingress.host=muster.example.com,ingress.tls[0].secretName=tls")
    check_host(["muster.example.com"], from_command_line(arguments(objects)).http_names.split(","))
    (rule,) = one(objects, "Ingress")["spec"]["rules"]
    backend = rule["http"]["paths"][0]["backend"]["service"]
    service = one(objects, "Service")
    assert (backend["name"], backend["port"]) == (service["metadata"]["name"], {"name": "http"})


@pytest.mark.parametrize(("values", "expected"), [
    ("tls[0].secretName=own", [{"hosts": ["muster.example.com"], "secretName": "own"}]),
    ("tls[0].hosts={*.example.com}", [{"hosts": ["*.example.com"]}]),
    ("tls[0].secretName=a,tls[1].secretName=b,tls[1].hosts={b.example.com}",
     [{"hosts": ["muster.example.com"], "secretName": "a"}, {"hosts": ["b.example.com"], "secretName": "b"}]),
])  # fmt: skip
def test_a_certificate_of_the_ingress_is_for_its_host_unless_it_names_others(
    rendered: Rendered, values: str, expected: list[Object]
) -> None:
    options = f"ingress.host=muster.example.com,{values.replace('tls[', 'ingress.tls[')}"
    assert one(rendered("--set", options), "Ingress")["spec"]["tls"] == expected


@pytest.mark.parametrize(("values", "release", "name"), [
    ("replicas=2", "muster", "musterd"),
    ("replicas=2", "other", "musterd"),
    ("fullnameOverride=second", "muster", "second"),
    ("nameOverride=roll", "muster", "muster-roll"),
    ("nameOverride=muster", "my-muster", "my-muster"),
    ("nameOverride=roll,fullnameOverride=second", "muster", "second"),
    ("nameOverride=roll", f"{'r' * 49}.a", "r" * 49),
])  # fmt: skip
def test_all_objects_have_the_name_that_the_overrides_make(
    rendered: Rendered, values: str, release: str, name: str
) -> None:
    objects = rendered("--set", f"prometheusRule.create=always,{values}", release=release)
    shared = {"experiments.muster.dev"}
    names = {each["metadata"]["name"] for each in objects} - shared
    assert {each for each in names if not each.startswith("muster-")} - {name, f"{name}-lease"} == set()
    deployment = one(objects, "Deployment")
    assert deployment["metadata"]["name"] == name
    assert deployment["spec"]["selector"]["matchLabels"] == {"app.kubernetes.io/name": name}
    assert from_command_line(arguments(objects)).lease_name == name
    assert f'job=\\"{name}\\"' in json.dumps(one(objects, "PrometheusRule")), (
        "the job of a scrape is its Service's name"
    )


@pytest.mark.parametrize(("values", "expected"), [
    ("replicas=2", None),
    ("replicas=1,settings.leaderElect=false", {"type": "Recreate", "rollingUpdate": None}),
    ("antiAffinity=required", {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}),
    ("hostNetwork=true", {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}),
    ("strategy.type=Recreate", {"type": "Recreate", "rollingUpdate": None}),
    ("strategy.rollingUpdate.maxUnavailable=50%,antiAffinity=required", {"rollingUpdate": {"maxUnavailable": "50%"}}),
])  # fmt: skip
def test_pods_are_replaced_as_the_values_ask_or_so_that_they_fit(
    rendered: Rendered, values: str, expected: Object | None
) -> None:
    assert one(rendered("--set", values), "Deployment")["spec"].get("strategy") == expected


@pytest.mark.parametrize(("values", "policy"), [
    ("hostNetwork=true", "ClusterFirstWithHostNet"), ("hostNetwork=true,dnsPolicy=Default", "Default")
])  # fmt: skip
def test_on_the_network_of_the_host_names_of_the_cluster_are_known(
    rendered: Rendered, values: str, policy: str
) -> None:
    spec = one(rendered("--set", values), "Deployment")["spec"]["template"]["spec"]
    assert (spec["hostNetwork"], spec["dnsPolicy"]) == (True, policy)


def test_more_flags_come_after_the_settings_and_win(rendered: Rendered) -> None:
    objects = rendered("--set", "settings.logLevel=info,extraArgs[0]=--log-level=debug")
    assert from_command_line(arguments(objects)).log_level == "debug"


def test_the_page_answers_by_every_name_of_its_service(rendered: Rendered) -> None:
    objects = rendered("--set", "fullnameOverride=second,settings.httpNames=rollcall.example.com", namespace="team-b")
    names = from_command_line(arguments(objects)).http_names.split(",")
    service = one(objects, "Service")
    name, port = service["metadata"]["name"], service["spec"]["ports"][0]["port"]
    for host in (name, f"{name}.team-b", f"{name}.team-b.svc", f"{name}.team-b.svc.cluster.local"):
        check_host([f"{host}:{port}"], names)
    check_host(["rollcall.example.com"], names)
    with pytest.raises(Refused):
        check_host([f"{name}.team-c"], names)
