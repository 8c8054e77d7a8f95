"""Values that do not exist, or that musterd would refuse, are refused by Helm with a text that names them."""

import subprocess
from pathlib import Path

import pytest
from pydantic import ValidationError

from deploy.helm.copies import CHART
from deploy.helm.manifests import KUBERNETES, SYSTEM, RenderFailed, render
from muster.daemon.settings import Settings

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]

BAD = {
    "replicaCount=3": "additional properties 'replicaCount' not allowed",
    "settings.logLevl=info": "at '/settings': additional properties 'logLevl' not allowed",
    "settings.writeConcurrency=0": "at '/settings/writeConcurrency': minimum: got 0, want 1",
    "settings.writeConcurrency=many": "at '/settings/writeConcurrency': got string, want null or integer",
    "settings.leaseDuration=0": "at '/settings/leaseDuration': exclusiveMinimum: got 0, want 0",
    "settings.healthPort=null": "at '/settings': missing property 'healthPort'",
    "settings.namespace=Team_A": "at '/settings/namespace': 'Team_A' does not match pattern",
    "settings.kubeconfig=/etc/x": "at '/settings': additional properties 'kubeconfig' not allowed",
    "fullnameOverride=Musterd": "at '/fullnameOverride': 'Musterd' does not match pattern",
    "image.digest=sha256:12": "at '/image/digest': 'sha256:12' does not match pattern",
    "serviceMonitor.interval=5": "at '/serviceMonitor/interval': got number, want string",
    "rbac.metricsReaders[0].namespace=monitoring": "at '/rbac/metricsReaders/0': missing property 'serviceAccount'",
    "settings.leaderElect=false": "replicas is 2 and settings.leaderElect is false",
    "settings.healthPort=8080": "settings.httpPort and settings.healthPort are both 8080",
    "settings.shutdownTimeout=30": "terminationGracePeriodSeconds (30) must be longer than settings.shutdown",
    "progress.secretName=p,rbac.reviews=false": "progress.secretName needs rbac.reviews",
    "progress.secretName=p,progress.port=8080": "progress.port is 8080, which is settings.httpPort or settings.health",
    "settings.leaseDuration=10": "settings.leaseDuration (10) must be longer than settings.renewDeadline (10)",
    "settings.ownerLabels=team\\,": "at '/settings/ownerLabels': 'team,' does not match pattern",
    "settings.ownerLabels=a.b\\,a-b": "two labels have one name in metrics: label_a_b, label_a_b",
    "settings.ownerLabels=a\\,b\\,c\\,d\\,e\\,f\\,g\\,h\\,i": "has 9 labels, and at most 8 are read",
    "settings.retention=30days": "at '/settings/retention': '30days' does not match pattern",
    "settings.retention=30s": 'settings.retention: "30s": from 1m to 522w 6d',
    "settings.retention=11w\\,ci=600w": 'settings.retention: "ci=600w": from 1m to 522w 6d',
    "settings.retention=1d\\,ci=1h\\,ci=2h": "a namespace, or the time of all others, is given twice",
    "settings.retryPeriod=6": "settings.renewDeadline (10) must be at least twice settings.retryPeriod (6)",
    "serviceMonitor.create=always,service.create=false": "serviceMonitor needs the Service",
    "watch.kinds=rayjob": "at '/watch/kinds': 'rayjob' does not match pattern",
    "watch.kinds=jobs\\,all\\,job": "at '/watch/kinds': 'jobs,all,job' does not match pattern",
    "serviceMonitor.create=always,serviceMonitor.interval=1m,serviceMonitor.scrapeTimeout=1m1s": "(1m1s) must not be",
    "serviceMonitor.scrapeTimeout=30s": "serviceMonitor.scrapeTimeout (30s) must not be longer than serviceMonitor",
    "podLabels.app\\.kubernetes\\.io/name=x": "cannot set app.kubernetes.io/name: it is a label of the chart",
    "ingress.host=Muster": "at '/ingress/host': 'Muster' does not match pattern",
    "externalUrl=muster.example.com": "at '/externalUrl': 'muster.example.com' does not match pattern",
    "externalUrl=https://example.com/muster": "at '/externalUrl': 'https://example.com/muster' does not match pattern",
    "replicas=1,settings.leaderElect=false,strategy.type=RollingUpdate": "strategy.type must be Recreate",
    "ingress.host=muster.example.com,service.create=false": "ingress.host needs the Service",
    "dashboards.links[0].title=Logs,dashboards.links[0].url=javascript:x": "'javascript:x' does not match pattern",
    "dashboards.links[0].title=Logs": "at '/dashboards/links/0': missing property 'url'",
    "prometheusRule.slo.objective=0": "at '/prometheusRule/slo/objective': exclusiveMinimum: got 0, want 0",
    "prometheusRule.slo.objective=95": "at '/prometheusRule/slo/objective': exclusiveMaximum: got 95, want 1",
    "prometheusRule.slo.objective=0%": "at '/prometheusRule/slo/objective': '0%' does not match pattern",
    "priorityClass.value=2000000000": "at '/priorityClass/value': maximum: got 2",
}
"""``--set``, and what Helm says."""


@pytest.mark.parametrize("values", BAD)
def test_a_bad_value_is_refused_by_its_name(helm: Path, values: str) -> None:
    with pytest.raises(RenderFailed) as refused:
        render(helm, "--set", values)
    assert BAD[values] in str(refused.value)


def test_as_a_part_of_another_chart_it_may_be_given_global_values(helm: Path) -> None:
    assert render(helm, "--set", "global.registry=registry.example.com") == render(helm)


@pytest.mark.parametrize(
    ("lease", "renew", "retry"),
    [("null", "null", "null"), (15, 15, "null"), ("null", 14, "null"), (11, "null", 5), ("null", 3, "null"), (9, 8, 4)],
)
def test_times_of_the_lease_are_refused_where_musterd_would_not_start(
    helm: Path, lease: object, renew: object, retry: object
) -> None:
    values = {"lease_duration": lease, "renew_deadline": renew, "retry_period": retry}
    starts = renders = True
    try:
        Settings.model_validate({name: value for name, value in values.items() if value != "null"})
    except ValidationError:
        starts = False
    try:
        render(
            helm, "--set", f"settings.leaseDuration={lease},settings.renewDeadline={renew},settings.retryPeriod={retry}"
        )
    except RenderFailed:
        renders = False
    assert renders is starts


def test_helm_lint_has_nothing_to_warn_of(helm: Path) -> None:
    done = subprocess.run([helm, "lint", "--strict", "--quiet", CHART], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_packaged_chart_has_the_files_that_its_templates_read(helm: Path, tmp_path: Path) -> None:
    subprocess.run([helm, "package", CHART, "--destination", tmp_path], capture_output=True, text=True, check=True)
    (archive,) = tmp_path.glob("*.tgz")
    command = [str(helm), "template", "muster", str(archive), "--namespace", SYSTEM, "--kube-version", KUBERNETES]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == render(helm)
