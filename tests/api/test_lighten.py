"""``--ignore-resources``: what one machine does not have is dropped, the rest is cut, and each change is a sentence."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from muster.api.manifest.changes import Share, lighten
from muster.api.manifest.load import Loaded
from muster.api.manifest.yaml.reader import plain
from muster.kinds.manifests.load import load_any_node
from tests.api.test_overrides import tree
from tests.kinds.convert.test_corpus import AS_IT_IS

SHARE = Share(cpus=0.5, memory=2.0)
CORPORA = [Path(__file__).parent / "corpus" / "valid", Path(__file__).parents[1] / "kinds/convert/corpus"]
FILES = sorted(path for folder in CORPORA for path in folder.glob("*.yaml"))


def light(text: str) -> tuple[Any, list[str]]:
    node = tree(text)
    changes = lighten(node, SHARE)
    return plain(node), changes


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.parent.name}/{path.stem}")
def test_every_member_fits_and_what_is_left_can_be_loaded(path: Path) -> None:
    node = tree(path.read_text())
    lighten(node, SHARE)
    if path.stem in AS_IT_IS:
        assert "nvidia.com" not in str(plain(node))
        return
    loaded = load_any_node(node, filename=path.name)
    assert isinstance(loaded, Loaded)
    for group in loaded.spec.groups:
        resources = group.resources
        assert resources.cpus <= max(SHARE.cpus, 1.0)  # (1 where a container of another kind states none)
        assert (resources.gpus, resources.tpu, resources.rdma) == (0, None, None)
        assert not resources.extra_selectors
        assert not resources.extra_tolerations


def test_each_change_names_its_field_and_both_values() -> None:
    text = """
spec:
  types:
    worker:
      resources:
        cpus: 12
        ramRatio: 4
        accelerators: {gpu: {count: 8, product: H100}, tpu: null}
        extraTolerations: [{operator: Exists}]
        shmSizeGB: 0
      template: {spec: {priorityClassName: high, containers: []}}
"""
    found, changes = light(text)
    assert found["spec"]["types"]["worker"] == {
        "resources": {"cpus": 0.5, "memory": 2.0},
        "template": {"spec": {"containers": []}},
    }
    where = "spec.types.worker.resources"
    assert changes == [
        f"{where}.accelerators: dropped (gpu)",
        f"{where}.extraTolerations: dropped (1)",
        f"{where}.cpus: 0.5 in place of 12",
        f"{where}.memory: 2 GB in place of 48",
        "spec.types.worker.template.spec.priorityClassName: dropped ('high')",
    ]


def test_what_fits_stays_as_it_is() -> None:
    text = "spec: {types: {worker: {resources: {cpus: 0.25, ramRatio: 2}}}}"
    assert light(text) == (yaml.safe_load(text), [])


def test_containers_of_other_kinds_are_cut_in_their_own_units() -> None:
    text = """
spec:
  template:
    spec:
      nodeSelector: {gpu: a100}
      containers:
        - name: main
          resources:
            requests: {cpu: 4, memory: 16Gi, example.org/fpga: 1}
            limits: {cpu: 100m, memory: 1Gi, nvidia.com/gpu: 1}
"""
    found, changes = light(text)
    (container,) = found["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == {
        "requests": {"cpu": "0.5", "memory": "2000000000"},
        "limits": {"cpu": "100m", "memory": "1Gi"},
    }
    assert len(changes) == 5


def test_objects_that_only_the_large_cluster_has_are_not_waited_for() -> None:
    text = """
metadata: {name: a, labels: {kueue.x-k8s.io/queue-name: q, team: vision}}
spec:
  storage: {sharedVolume: {mountPoint: /s, sizeGB: 1}, attachExistingPVCs: [{name: d, mountPoint: /d}]}
  tensorboard: {enabled: true, usePVC: {enabled: true, name: boards}}
  template:
    spec:
      volumes:
        - {name: creds, secret: {secretName: creds}}
        - {name: all, projected: {sources: [{configMap: {name: b, optional: false}}]}}
        - {name: data, persistentVolumeClaim: {claimName: data}}
      containers:
        - name: main
          envFrom: [{secretRef: {name: c}}, {configMapRef: {name: d, optional: true}}]
          env: [{name: T, valueFrom: {secretKeyRef: {name: hf, key: token}}}]
"""
    found, changes = light(text)
    assert found["metadata"]["labels"] == {"team": "vision"}
    assert found["spec"]["storage"] == {"sharedVolume": {"mountPoint": "/s", "sizeGB": 1}}
    assert found["spec"]["tensorboard"] == {"enabled": True}
    pod = found["spec"]["template"]["spec"]
    assert pod["volumes"] == [
        {"name": "creds", "secret": {"secretName": "creds", "optional": True}},
        {"name": "all", "projected": {"sources": [{"configMap": {"name": "b", "optional": True}}]}},
        {"name": "data", "emptyDir": {}},
    ]
    (container,) = pod["containers"]
    assert [str(each).count("True") for each in (*container["envFrom"], *container["env"])] == [1, 1, 1]
    pod_at = "spec.template.spec"
    assert changes == [
        "metadata.labels['kueue.x-k8s.io/queue-name']: dropped (q)",
        "spec.storage.attachExistingPVCs: dropped (/d does not exist)",
        "spec.tensorboard.usePVC: dropped",
        f"{pod_at}.volumes[0].secret.optional: true, so that it may be missing here",
        f"{pod_at}.volumes[1].projected.sources[0].configMap.optional: true, so that it may be missing here",
        f"{pod_at}.volumes[2].persistentVolumeClaim: an empty folder in its place",
        f"{pod_at}.containers[0].envFrom[0].secretRef.optional: true, so that it may be missing here",
        f"{pod_at}.containers[0].env[0].valueFrom.secretKeyRef.optional: true, so that it may be missing here",
    ]
