"""Everything generated of the chart is as its source makes it; `python -m deploy.helm` writes it anew."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from deploy.helm import pages, rights
from deploy.helm.__main__ import PAGE, PLATFORM
from deploy.helm.bounds import bounds_template
from deploy.helm.copies import CHART, CRD, ROOT, copies
from deploy.helm.kinds import kinds_template
from deploy.helm.manifests import HEADS, MUSTERD, READERS, RELEASE_LABELS, manifests, render
from deploy.helm.pages import values_file, with_table
from deploy.helm.schema import schema
from muster import __version__
from tests.deploy.chart.conftest import Rendered, one

pytestmark = [pytest.mark.slow, pytest.mark.drift, pytest.mark.timeout(1200)]
IMAGE = {"name": "musterd", "newName": "registry.example.com/team/musterd", "newTag": "1"}
WRITE = "run: python -m deploy.helm"


def test_the_values_and_their_schema_are_those_of_the_models() -> None:
    assert (CHART / "values.yaml").read_text(encoding="utf-8") == values_file(), WRITE
    assert json.loads((CHART / "values.schema.json").read_text(encoding="utf-8")) == schema(), WRITE


def test_the_api_groups_of_the_kinds_are_those_of_the_declarations() -> None:
    assert (CHART / "templates/_kinds.tpl").read_text(encoding="utf-8") == kinds_template(), WRITE


def test_the_bounds_that_templates_compare_with_are_those_of_musterd() -> None:
    assert (CHART / "templates/_bounds.tpl").read_text(encoding="utf-8") == bounds_template(), WRITE


def test_the_table_of_rights_is_what_the_chart_grants(helm: Path) -> None:
    page = PLATFORM.read_text(encoding="utf-8")
    assert page == with_table(page, rights.BEGIN, rights.table(helm)), WRITE


def test_the_page_has_the_values_of_now() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_table(page, pages.BEGIN, pages.table()), WRITE


def test_the_copies_are_those_of_their_sources() -> None:
    expected = copies()
    assert {path: path.read_text(encoding="utf-8") for path in expected} == expected, WRITE
    found = {path for path in (CHART / "files").rglob("*") if path.is_file()}
    assert found == set(expected), f"a copy without a source; {WRITE}"


def test_the_version_of_the_chart_is_that_of_the_program() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text(encoding="utf-8"))
    assert chart["appVersion"] == chart["version"] == __version__


def test_the_manifests_in_deploy_are_the_chart_with_its_default_values(helm: Path) -> None:
    expected = manifests(render(helm))
    for path in (MUSTERD, READERS):
        assert path.read_text(encoding="utf-8") == expected[path], WRITE


def test_the_manifests_and_the_kind_are_all_that_the_chart_renders(rendered: Rendered) -> None:
    files = [
        each
        for path in (CRD, MUSTERD, READERS)
        for each in yaml.safe_load_all(path.read_text(encoding="utf-8"))
        if each
    ]
    namespace = yaml.safe_load(HEADS[MUSTERD])
    assert namespace in files
    files.remove(namespace)
    (kind,) = (each for each in files if each["kind"] == "CustomResourceDefinition")
    kind["metadata"]["annotations"] = {"helm.sh/resource-policy": "keep"}
    chart = rendered()
    for each in chart:
        of_release = [each["metadata"].get("labels", {}).pop(label, None) for label in RELEASE_LABELS]
        shared = each["kind"] == "CustomResourceDefinition" or each["metadata"]["name"].startswith("muster-")
        assert shared or of_release == ["muster", "Helm", "muster-0.1.0"]
    assert len(chart) == len(files)
    assert all(each in chart for each in files)


def test_kustomize_builds_them_and_an_overlay_can_name_the_image(tmp_path: Path) -> None:
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("there is no kubectl here, which has kustomize built in")
    overlay = {"resources": [os.path.relpath(ROOT / "deploy", tmp_path.resolve())], "images": [IMAGE]}
    (tmp_path / "kustomization.yaml").write_text(yaml.safe_dump(overlay))
    done = subprocess.run([kubectl, "kustomize", str(tmp_path)], capture_output=True, text=True, check=True)
    objects = list(yaml.safe_load_all(done.stdout))
    files = [each for path in (CRD, MUSTERD, READERS) for each in yaml.safe_load_all(path.read_text(encoding="utf-8"))]
    deployment = one(files, "Deployment")
    deployment["spec"]["template"]["spec"]["containers"][0]["image"] = "registry.example.com/team/musterd:1"
    assert len(objects) == len(files)
    assert all(each in objects for each in files)
