"""The Helm chart on a real API server: what it renders is accepted and runs, is upgraded, and leaves experiments alone.

Skipped, with the reason, where helm cannot be built.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from deploy.helm.copies import CHART, CRD
from deploy.helm.manifests import SYSTEM, render
from tests.deploy.chart.matrix import MATRIX
from tests.deploy.chart.release import NAME, Release
from tests.deploy.chart.shapes import OPERATOR
from tests.real.core import with_core
from tests.real.namespace import SLOW, WITHIN, Object, Refused, eventually
from tests.real.site import Site
from tests.real.situations.test_readers import read

pytestmark = [pytest.mark.alone, pytest.mark.timeout(1200)]
KIND = "experiments.muster.dev"
NEW = "chart-system"
RELEASE = "PROMETHEUS_OPERATOR_CRDS"
OF_A_RELEASE = "of a release"
NAMESPACES = (NEW, "lab", "monitoring", "grafana")
"""That of the release, without a musterd so far, and those that the matrix names."""
APPLY = "application/apply-patch+yaml"
STRICTLY = {"fieldManager": "chart", "force": "true", "fieldValidation": "Strict", "dryRun": "All"}
"""Server-side apply of which nothing is kept; a field that the kind does not have is an error."""
PEOPLE = {
    "view": ({"get", "list", "watch"}, {"create", "patch", "delete", "deletecollection"}),
    "edit": ({"get", "create", "update", "patch", "delete"}, {"deletecollection"}),
    "admin": ({"get", "create", "update", "patch", "delete", "deletecollection"}, set()),
}
"""What each role may do with experiments, and what it may not."""
SCRAPER = "rbac.metricsReaders[0].namespace={0},rbac.metricsReaders[0].serviceAccount=scraper"


@pytest.fixture
async def operator(here: Site, request: pytest.FixtureRequest) -> AsyncIterator[None]:
    """The kinds of the Prometheus operator: with the fields that the chart uses, or of a release of the operator."""
    files = definitions() if getattr(request, "param", "") == OF_A_RELEASE else [OPERATOR]
    options = [part for file in files for part in ("--filename", str(file))]
    await here.kubectl("apply", "--server-side", *options)
    await here.kubectl("wait", "--for=condition=Established", *options, WITHIN)
    yield
    await here.kubectl("delete", *options)


def definitions() -> list[Path]:
    """The files of a release of the operator. Skips the test where no folder is named."""
    folder = os.environ.get(RELEASE)
    if not folder:
        pytest.skip(f"{RELEASE} names no folder with the definitions of a release (example/prometheus-operator-crd)")
    return [Path(folder) / f"monitoring.coreos.com_{plural}.yaml" for plural in ("servicemonitors", "prometheusrules")]


@pytest.mark.parametrize("operator", with_core(["with our fields", OF_A_RELEASE], "with our fields"), indirect=True)
@pytest.mark.usefixtures("operator")
async def test_the_api_server_accepts_every_rendering_strictly(here: Site, helm: Path) -> None:
    names = [each for each in NAMESPACES if await here.get(f"/api/v1/namespaces/{each}") is None]
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    for name in names:
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
        await here.request("POST", "/api/v1/namespaces", body)
    count = 0
    here.row.happens(
        f"{len(MATRIX)} sets of values of the chart, applied server-side with strict validation; deploy/ by kustomize"
    )
    try:
        for case in MATRIX.values():
            text = await asyncio.to_thread(render, helm, *case.options(), namespace=NEW)
            items = [each for each in yaml.safe_load_all(text) if each]
            count += len(items)
            for each in items:
                await here.request("PATCH", path(each), each, APPLY, STRICTLY)
            if not case.privileged:
                await admitted(here, items)
    finally:
        for name in names:
            await here.request("DELETE", f"/api/v1/namespaces/{name}")
    await here.kubectl("apply", "--dry-run=server", "-k", str(CRD.parents[1]), "--namespace", SYSTEM)
    here.row.says(
        f"{count} objects accepted, {sum(not case.privileged for case in MATRIX.values())} pods admitted as restricted"
    )


def path(each: Object) -> str:
    group = "api" if each["apiVersion"] == "v1" else "apis"
    singular = each["kind"].lower()
    plural = f"{singular[:-1]}ies" if singular.endswith("y") else f"{singular}{'es' if singular.endswith('s') else 's'}"
    namespace = each["metadata"].get("namespace")
    where = f"namespaces/{namespace}/" if namespace else ""
    return f"/{group}/{each['apiVersion']}/{where}{plural}/{each['metadata']['name']}"


async def admitted(here: Site, items: list[Object]) -> None:
    """The pod of the Deployment passes admission in a namespace that enforces the profile restricted."""
    (deployment,) = (each for each in items if each["kind"] == "Deployment")
    template = deployment["spec"]["template"]
    spec = {**template["spec"], "serviceAccountName": "default", "priorityClassName": ""}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "namespace": NEW}, "spec": spec}
    await here.kubectl("create", "--dry-run=server", "--namespace", NEW, "--filename", "-", body=pod)


@pytest.mark.parametrize("scope", with_core(["all namespaces", "one namespace"], "one namespace"))
@pytest.mark.usefixtures("operator")
async def test_a_release_runs_an_experiment_under_its_rights(here: Site, ours: Release, scope: str) -> None:
    namespace = f",settings.namespace={here.namespace}" if scope == "one namespace" else ""
    here.row.happens(f"helm install for {scope}; musterd as its service account, with its flags; an experiment")
    said = await ours.install("--set", SCRAPER.format(ours.namespace) + namespace)
    assert (f"looks after the namespace {here.namespace}" if namespace else "looks after all namespaces") in said
    for kind in (
        "servicemonitor",
        "prometheusrule",
        "networkpolicy",
        "poddisruptionbudget",
        "service",
        "serviceaccount",
    ):
        assert await ours.get(kind), kind
    assert await ours.get("clusterrole")
    async with ours.musterd() as running:
        await running.until_leading()
        await here.submit("run", "*: run 1, exit 0")
        seen = await here.phase("run", "Succeeded")
        await here.screen.shows("run", "^Succeeded AllMembersSucceeded", SLOW)
        lease = await ours.get("lease")
        assert lease is not None
        assert lease["spec"]["holderIdentity"]
        await here.kubectl("create", "serviceaccount", "scraper", "--namespace", ours.namespace)
        scraped = await asyncio.to_thread(read, f"{running.url}/metrics", await ours.token("scraper"))
        assert scraped[0] == 200
        assert 'muster_experiment_info{engine="native",experiment="run"' in scraped[1]
        assert (await asyncio.to_thread(read, f"{running.url}/metrics"))[0] == 401
        assert running.refused() == []
    here.row.says(f"Succeeded {seen.reason}; no right was missing; /metrics answered the account of the values only")


@pytest.mark.core
async def test_view_edit_and_admin_reach_experiments(here: Site, ours: Release) -> None:
    here.row.happens("people with the roles view, edit and admin in a namespace, after helm install")
    await ours.install()

    async def can(person: str, verb: str, *more: str) -> bool:
        try:
            return (await here.kubectl("auth", "can-i", verb, KIND, f"--as={person}", *more)).strip() == "yes"
        except Refused:  # kubectl's exit status 1 is "no"
            return False

    for role, (may, may_not) in PEOPLE.items():
        await here.kubectl("create", "rolebinding", role, f"--clusterrole={role}", f"--user={role}")

        async def added(role: str = role, verbs: set[str] = may) -> bool:
            return all([await can(role, verb) for verb in verbs])

        await eventually(added)  # the controller manager adds the rules to the role
        assert [verb for verb in may_not if await can(role, verb)] == []
        assert [verb for verb in ("update", "patch") if await can(role, verb, "--subresource=status")] == []
    here.row.says("; ".join(f"{role}: {', '.join(sorted(may))}" for role, (may, _) in PEOPLE.items()))


async def test_an_upgrade_changes_the_kind_and_uninstalling_keeps_it(here: Site, ours: Release, tmp_path: Path) -> None:
    await here.submit("run")
    here.row.happens("helm install over a kind of kubectl's, upgrade to another kind, rollback, uninstall")
    with pytest.raises(Refused, match="invalid ownership metadata"):
        await ours.helm("install", str(CHART), "--set", f"fullnameOverride={NAME},replicas=0")
    await ours.install()
    async with ours.musterd() as running:
        await running.until_leading()
        await here.says("run", "^Running RollComplete")
        before = await ours.get("lease")

        chart = tmp_path / "muster"
        shutil.copytree(CHART, chart)
        file = chart / "files" / CRD.name
        file.write_text(file.read_text().replace("Summary of the conditions.", "Summary, in a new release."))
        await ours.helm("upgrade", str(chart), "--reset-then-reuse-values")
        assert await described(ours) == "Summary, in a new release."
        after = await ours.get("lease")
        assert before is not None
        assert after is not None
        assert after["spec"]["holderIdentity"] == before["spec"]["holderIdentity"]
        await ours.helm("rollback", "1")
        assert await described(ours) == "Summary of the conditions."

    await ours.install("--set", "settings.leaderElect=false")
    assert await strategy(ours) == {"type": "Recreate"}
    await ours.install("--set", "antiAffinity=required")
    assert await strategy(ours) == {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0, "maxUnavailable": 1}}

    said = await ours.helm("uninstall")
    assert "kept due to the resource policy" in said
    kept = await here.client.get("run", namespace=here.namespace)
    assert kept.phase == "Running"
    for kind in ("deployment", "clusterrole", "clusterrolebinding", "serviceaccount", "networkpolicy"):
        assert await ours.get(kind) is None, kind
    here.row.says(
        "the kind followed the upgrade and the rollback; the leader stayed; kind and experiment are still there"
    )


async def strategy(ours: Release) -> Any:
    """How the Deployment replaces its pods."""
    deployment = await ours.get("deployment")
    assert deployment is not None
    return deployment["spec"]["strategy"]


async def described(ours: Release) -> Any:
    """The description of the first printer column of the kind, as the server has it."""
    kind = await ours.get("crd", KIND)
    assert kind is not None
    return kind["spec"]["versions"][0]["additionalPrinterColumns"][0]["description"]
