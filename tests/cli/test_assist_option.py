"""``spec.assist`` is on where the run is on this machine, unless the manifest or the command line says otherwise."""

from pathlib import Path

import pytest
import yaml

from muster.api.manifest.experiment import ExperimentSpec
from muster.api.manifest.load import Loaded
from muster.api.manifest.problems import ManifestError
from muster.cli.manifests import Manifest, read_manifest
from muster.local.home import Announcement, Home
from tests.cli.conftest import Call
from tests.client.localserver import MANIFEST, LocalServer
from tests.examples.table import BY_NAME

STATED = """
apiVersion: muster.dev/v1alpha1
kind: Experiment
metadata: {name: stated}
spec:
  operator: jax
  image: none
  command: "true"
  assist: false
  types: {worker: {count: 2, resources: {cpus: 1, ramRatio: 2}}}
"""


def spec_of(manifest: Manifest) -> ExperimentSpec:
    assert isinstance(manifest.loaded, Loaded)
    return manifest.loaded.spec


@pytest.mark.parametrize(
    ("text", "wanted", "default", "assist"),
    [
        (MANIFEST, None, True, True),
        (MANIFEST, None, False, False),
        (MANIFEST, True, False, True),
        (MANIFEST, False, True, False),
        (STATED, None, True, False),
        (STATED, True, False, True),
    ],
)
def test_a_wish_goes_before_the_manifest_and_that_before_the_default(
    tmp_path: Path, text: str, wanted: bool | None, default: bool, assist: bool
) -> None:
    file = tmp_path / "train.yaml"
    file.write_text(text)
    assert spec_of(read_manifest(str(file)).assisted(wanted, default=default)).assist is assist


def test_an_object_of_another_kind_stays_as_it_is_and_a_wish_for_it_is_refused() -> None:
    manifest = read_manifest(str(BY_NAME["jobset-object"].path))
    assert manifest.assisted(None, default=True) is manifest
    with pytest.raises(ManifestError, match=r"JobSet has no spec\.assist"):
        manifest.assisted(True, default=False)


def test_submit_writes_what_is_wished(call: Call, manifest: Path) -> None:
    shown = [call("submit", manifest, "--dry-run", *more).stdout for more in ((), ("--assist",), ("--no-assist",))]
    assert [yaml.safe_load(each)["spec"].get("assist") for each in shown] == [None, True, False]


def test_submit_to_the_local_cluster_has_it_on(call: Call, server: LocalServer, manifest: Path, tmp_path: Path) -> None:
    def assist() -> object:
        return yaml.safe_load(call("submit", manifest, "-o", "yaml").stdout)["spec"].get("assist")

    assert assist() is False, "a cluster that is named by $KUBECONFIG alone"
    home = Home(tmp_path / "muster")
    kubeconfig = yaml.safe_load(server.kubeconfig.read_text())
    url = kubeconfig["clusters"][0]["cluster"]["server"]
    with home.acquire():
        home.announce(
            Announcement(pid=1, url=url, kubeconfig=str(server.kubeconfig), state="", isolation="", started=0)
        )
        assert assist() is True
