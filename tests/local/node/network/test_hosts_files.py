"""Hosts files: their entries, and when they are written."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from muster.local.node.network.hosts_files import HostsFiles, PodNames, lines, names_of, render
from tests.local.node.harness import pod


def member(name: str, address: str, *, ready: bool = False, uid: str | None = None, **spec: Any) -> PodNames:
    made = pod(name, labels={"app": "ray"}, **spec)
    made["metadata"]["uid"] = uid or f"u-{name}"
    if ready:
        made["status"] = {"conditions": [{"type": "Ready", "status": "True"}]}
    return names_of(made, address)


def head() -> dict[str, Any]:
    """A Service."""
    return {"metadata": {"name": "head", "namespace": "default"}, "spec": {"selector": {"app": "ray"}}}


def test_a_pod_has_the_names_a_headless_service_gives_it() -> None:
    line, _ = lines("default", [member("w-0", "10.0.0.2", subdomain="exp")], [])
    assert line == "10.0.0.2 w-0.exp.default.svc.cluster.local w-0.exp.default.svc w-0.exp.default w-0.exp"
    line, _ = lines("other", [member("w-0", "10.0.0.2", subdomain="exp")], [])
    assert line.split()[-1] == "w-0.exp.default"


def test_a_pod_without_a_subdomain_has_a_short_name_for_itself_only() -> None:
    alone = member("alone", "10.0.0.2")
    assert lines("default", [alone], [])[0] == "10.0.0.2 10-0-0-2.default.pod.cluster.local"
    assert render(alone, []).splitlines()[0] == "10.0.0.2 alone"


def test_each_address_has_a_name_in_both_of_its_forms() -> None:
    alone, other = member("alone", "10.0.0.2"), member("w-1", "10.0.0.3", subdomain="exp")
    text = render(alone, lines("default", [alone, other], []), machine="10.0.0.1").splitlines()
    named = {line.split()[0] for line in text}
    for address in ("127.0.0.1", "10.0.0.1", "10.0.0.2", "10.0.0.3"):
        assert {address, f"::ffff:{address}"} <= named
    forward = [name for line in text if line.startswith("::ffff:") for name in line.split()[1:]]
    assert not {"localhost", "alone", "w-1", "w-1.exp", "machine.cluster.local"} & set(forward)


def test_a_hosts_file_has_its_own_name_then_aliases_then_other_pods() -> None:
    own = member("w-1", "10.0.0.3", hostname="rank1", subdomain="exp")
    text = render(own, ["10.0.0.2 w-0.exp"], [{"ip": "10.9.9.9", "hostnames": ["licence", "l"]}]).splitlines()
    assert text[0].startswith("10.0.0.3 ")
    assert text[0].endswith(" rank1.exp rank1")
    assert text.index("10.9.9.9 licence l") < text.index("10.0.0.2 w-0.exp")


def test_the_machine_has_a_name_where_its_address_has_none() -> None:
    alone = member("alone", "10.0.0.2")
    assert "10.0.0.1 machine.cluster.local" in render(alone, [], machine="10.0.0.1").splitlines()
    assert "machine" not in render(alone, [], machine="127.0.0.1")


def test_a_service_has_the_addresses_of_its_ready_pods_or_of_all_if_published() -> None:
    pods = [member("a", "10.0.0.2", ready=True), member("b", "10.0.0.3")]
    service = head()
    assert [line.split()[0] for line in lines("default", pods, [service]) if "head" in line] == ["10.0.0.2"]
    service["spec"]["publishNotReadyAddresses"] = True
    assert [line.split()[0] for line in lines("default", pods, [service]) if "head" in line] == ["10.0.0.2", "10.0.0.3"]
    service["spec"]["selector"] = {"app": "other"}
    assert not [line for line in lines("default", pods, [service]) if "head" in line]


async def written() -> None:
    """Let `HostsFiles.run` write pending changes."""
    for _ in range(5):
        await asyncio.sleep(0)


async def test_hosts_files_are_updated_in_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("muster.local.node.network.hosts_files.GATHER_SECONDS", 0)
    service = head()
    files = HostsFiles({"s": service}, "10.0.0.1")
    keeping = asyncio.create_task(files.run())
    first, second = tmp_path / "first", tmp_path / "second"
    files.add(member("w-0", "10.0.0.2", subdomain="exp"), first)
    inode = first.stat().st_ino
    files.add(member("w-1", "10.0.0.3", subdomain="exp"), second)
    assert "10.0.0.2 w-0.exp" in second.read_text()
    assert "10.0.0.1 machine.cluster.local\n" in second.read_text()
    assert files.address_of("default", "w-1.exp") == "10.0.0.3"
    await written()
    assert "10.0.0.3 w-1.exp" in first.read_text()
    assert first.stat().st_ino == inode
    files.update(member("w-1", "10.0.0.3", subdomain="exp", ready=True))
    await written()
    assert "10.0.0.3 head.default" in first.read_text()
    files.remove("u-w-1")
    await written()
    assert "10.0.0.3" not in first.read_text()
    assert files.address_of("default", "w-1.exp") is None
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
