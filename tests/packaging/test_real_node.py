"""What `make real-node` needs, makes and leaves, as far as it can be seen without root."""

import os
import sys
from collections import defaultdict
from pathlib import Path

import pytest
import yaml

from tests.real.binaries import CACHE_VARIABLE
from tests.real_node import leftovers, requirements
from tests.real_node.addresses import PLACES, Place, next_place
from tests.real_node.images import build
from tests.real_node.machine import boot, cgroups, configuration
from tests.real_node.machine.machine import PREFIX
from tests.real_node.machine.plan import Plan
from tests.real_node.programs import Programs, modules
from tests.real_node.scrape import with_targets

PLAN = Plan("node-1", "/disk", "10.89.0.11", "10.244.1.0/24", {}, "pause:1", "a", "b", "c", "ca", "crt", "key")
NO_PROCESS = 99_999_999
"""A process id that the kernel does not give."""


def test_without_root_only_packages_are_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setattr(requirements, "CNI", Path("/no/such/folder"))
    monkeypatch.setattr("shutil.which", lambda program: program)
    said, packages = requirements.missing()
    assert "run by root" in said
    assert packages.endswith("containernetworking-plugins")


def test_missing_packages_are_named_in_one_command(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(requirements, "CNI", tmp_path)
    monkeypatch.setattr("shutil.which", lambda program: None if program in ("runc", "nft") else program)
    said = "\n".join(requirements.missing()).splitlines()
    assert "apt-get install --yes --no-install-recommends containernetworking-plugins nftables runc" in said


def test_too_little_memory_is_said_with_both_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(requirements, "MEMORY", 1 << 60)
    said = "\n".join(requirements.missing())
    assert "GB are available, and 1152921505 GB are needed" in said


def test_each_image_is_announced_with_how_many_there_are(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path))
    present: set[str] = set()
    monkeypatch.setattr(build, "_present", lambda: present)
    monkeypatch.setattr(build, "_build", lambda name, *_: sys.stdout.write(f"  buildah builds {name}\n"))
    monkeypatch.setattr(build, "_forget_old", lambda *_: None)
    programs = Programs(defaultdict(lambda: "program"), "v1")
    tags = build.images(programs).tags
    expected: list[str] = []
    for number, name in enumerate(tags, 1):
        expected += [f"building image {number} of {len(tags)}: {name} (a minute or two)", f"  buildah builds {name}"]
        expected.append(f"  {name}: built in 0 s")
    assert capfd.readouterr().out.splitlines() == expected
    present |= {f"localhost/{name}:{tag}" for name, tag in tags.items() if name != "train"}
    build.images(programs)
    assert capfd.readouterr().out.startswith("building image 1 of 1: train (")


def test_a_run_that_was_killed_leaves_nothing_after_the_next_begins(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hierarchy = tmp_path / "groups" / "memory"
    hierarchy.mkdir(parents=True)
    (hierarchy / "tasks").touch()
    dead, living, foreign = f"{PREFIX}{NO_PROCESS}-node-1", f"{PREFIX}{os.getpid()}-node-1", "kubepods"
    for name in (dead, living, foreign):
        (hierarchy / name / "kubepods" / "pod1").mkdir(parents=True)
        (tmp_path / name).mkdir()
    monkeypatch.setattr(cgroups, "ROOT", tmp_path / "groups")
    monkeypatch.setattr("tempfile.gettempdir", lambda: str(tmp_path))
    leftovers.remove()
    assert sorted(each.name for each in hierarchy.iterdir() if each.is_dir()) == sorted((living, foreign))
    assert sorted(each.name for each in tmp_path.iterdir()) == sorted((living, foreign, "groups"))


def test_every_machine_of_a_run_has_a_place_of_its_own(tmp_path: Path) -> None:
    places = [next_place(tmp_path) for _ in range(PLACES)]
    assert len({each.address for each in places}) == len({each.pods for each in places}) == PLACES
    with pytest.raises(RuntimeError, match="machines in one run"):
        next_place(tmp_path)
    assert Place(1).name == "node-1"


def test_a_kubelet_sees_the_memory_of_its_machine() -> None:
    real = "MemTotal:       24684084 kB\nMemFree:  1 kB\nBuffers:  7 kB\nSwapTotal:  9 kB\n"
    assert boot.meminfo(real, 2 << 30) == "MemTotal: 2097152 kB\nMemFree: 2097152 kB\nBuffers:  7 kB\nSwapTotal: 0 kB\n"


def test_fields_of_a_plan_replace_those_of_every_kubelet() -> None:
    changed = Plan(**{**{name: getattr(PLAN, name) for name in PLAN.__slots__}, "kubelet": {"failSwapOn": True}})
    assert yaml.safe_load(configuration.kubelet(PLAN))["failSwapOn"] is False
    assert yaml.safe_load(configuration.kubelet(changed))["failSwapOn"] is True


def test_kubelet_and_control_plane_are_of_one_release() -> None:
    kubelet = next(each for each in modules() if "kubelet" in each.packages)
    plane = Path("tests/real/control_plane/go.mod").read_text(encoding="utf-8")
    assert f"k8s.io/kubernetes {kubelet.pinned('k8s.io/kubernetes')}\n" in plane


def test_discovery_becomes_targets_with_the_labels_that_the_operators_rules_read() -> None:
    discovery = [{"role": "endpointslice", "namespaces": {"names": ["system"]}}]
    rules = [{"action": "keep", "source_labels": ["__tmp_hash"], "regex": "$(SHARD);|.+;.+"}]
    job = {"job_name": "serviceMonitor/system/musterd/0", "relabel_configs": rules, "kubernetes_sd_configs": discovery}
    services = [
        {"metadata": {"name": "musterd", "namespace": where, "labels": {"a.io/b": "c"}}} for where in ("system", "lab")
    ]
    references = [{"kind": "Pod", "name": f"musterd-{n}"} for n in (1, 2)]
    behind = [{"addresses": [f"10.244.1.{n}"], "targetRef": each} for n, each in enumerate(references, 1)]
    groups = [
        {
            "metadata": {"namespace": where, "labels": {"kubernetes.io/service-name": of}},
            "ports": [{"name": "http", "port": 8080}],
            "endpoints": behind,
        }
        for where in ("system", "lab")
        for of in ("musterd", "dns")
    ]
    (made,) = with_targets({"scrape_configs": [job]}, services, groups)["scrape_configs"]
    assert [each["targets"] for each in made["static_configs"]] == [["10.244.1.1:8080"], ["10.244.1.2:8080"]]
    assert made["static_configs"][0]["labels"] == {
        "__meta_kubernetes_namespace": "system",
        "__meta_kubernetes_service_name": "musterd",
        "__meta_kubernetes_service_label_a_io_b": "c",
        "__meta_kubernetes_service_labelpresent_a_io_b": "true",
        "__meta_kubernetes_endpointslice_port_name": "http",
        "__meta_kubernetes_endpointslice_address_target_kind": "Pod",
        "__meta_kubernetes_endpointslice_address_target_name": "musterd-1",
        "__meta_kubernetes_pod_name": "musterd-1",
    }
    assert made["relabel_configs"] == [{"action": "keep", "source_labels": ["__tmp_hash"], "regex": "0;|.+;.+"}]
    assert "kubernetes_sd_configs" not in made
