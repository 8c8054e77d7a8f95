"""``muster doctor``: every check can pass, warn and fail, and says what to do."""

import json
import os
import re
import shutil
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from email.utils import formatdate
from pathlib import Path
from typing import Any

import msgspec
import pytest

from muster import extras
from muster.api.errors import ApiError, error_of
from muster.api.names import API_VERSION
from muster.api.schema.crd import custom_resource_definition
from muster.api.values.timestamps import micro_time, whole_time
from muster.cli.doctor import machine
from muster.cli.doctor.server import Check
from muster.cli.options import ClusterChoice
from muster.client import Client, Explanation
from muster.client.snapshot import snapshot_of
from muster.kube.transport import Answer
from muster.local.node.isolation.levels import Choice, Isolation
from tests.cli.conftest import Call
from tests.cli.test_foreign_text import EVIL, harmless
from tests.client.localserver import LocalServer

Json = dict[str, Any]
HOUR = 3600.0
Doctor = Callable[..., dict[str, list[Json]]]

CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/experiments.muster.dev"
EXPERIMENTS = f"/apis/{API_VERSION}/experiments"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/muster-system/leases/musterd"
OUTSIDE = LEASE.replace("muster-system", "default")
MONITORS = "/apis/monitoring.coreos.com/v1/namespaces/muster-system/servicemonitors"


def forbidden(path: str) -> ApiError:
    return error_of(403, "Forbidden", f'User "ann" cannot get {path}\n{EVIL}')


def pod(name: str = "musterd-0", *, ready: bool = True, args: tuple[str, ...] = ("--leader-elect",)) -> Json:
    condition = {"type": "Ready", "status": str(ready), "reason": "" if ready else f"ContainersNotReady{EVIL}"}
    ports = [{"name": "http", "containerPort": 8080}]
    return {
        "metadata": {"name": name, "namespace": "muster-system"},
        "spec": {"serviceAccountName": "m", "containers": [{"name": "musterd", "args": list(args), "ports": ports}]},
        "status": {"conditions": [condition]},
    }


def experiment(name: str, age: float = 60.0, **status: Any) -> Json:
    created = whole_time(time.time() - age)
    return {
        "metadata": {"name": name, "namespace": "team", "uid": name, "creationTimestamp": created},
        "status": status,
    }


def serving(name: str = "train") -> Json:
    condition = {"type": "CoordinatorReady", "status": "True", "reason": "Serving", "message": "serving"}
    roll = {"expected": 2, "arrived": 2}
    return experiment(name, phase="Running", coordinator="10.1.1.1:1234", roll=roll, conditions=[condition])


def stuck(reason: str) -> Json:
    condition = {"type": "Stuck", "status": "True", "reason": reason, "message": f"waiting for port 1234{EVIL}"}
    return experiment("train", phase="Assembling", coordinator="10.1.1.1:1234", conditions=[condition])


def lease(age: float = 2.0, holder: str = "musterd-0_x") -> Json:
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": micro_time(time.time() - age)}
    return {"metadata": {"name": "musterd"}, "spec": spec}


def established() -> Json:
    crd = msgspec.json.decode(msgspec.json.encode(custom_resource_definition()))
    assert isinstance(crd, dict)
    return {**crd, "status": {"conditions": [{"type": "Established", "status": "True"}]}}


class Cluster:
    """An API server of answers. A path without one is not found; an ``ApiError`` is raised."""

    def __init__(self) -> None:
        self.skew = 0.0
        self.denied: set[tuple[str, str]] = set()
        self.denied_to_musterd: set[tuple[str, str, str]] | None = set()
        """Verb, group and resource; None: nobody may ask."""
        self.answers: dict[str, Json | list[Json] | ApiError] = {
            "/version": {"gitVersion": "v1.36.0"},
            CRD: established(),
            EXPERIMENTS: [serving()],
            "/api/v1/pods": [pod("musterd-0"), pod("musterd-1")],
            LEASE: lease(),
            "/apis/monitoring.coreos.com/v1": {"resources": [{"name": "servicemonitors"}]},
            MONITORS: [{"metadata": {"name": "musterd"}}],
        }

    async def request(
        self, method: str, path: str, *, body: bytes | None = None, timeout: float | None = None, **_: Any
    ) -> Answer:
        assert timeout is not None, "every request has a short limit"
        date = formatdate(time.time() + self.skew, usegmt=True)
        if method == "POST":
            return Answer(201, msgspec.json.encode(self._review(path, msgspec.json.decode(body or b"{}"))), date)
        found = self.answers.get(path, error_of(404, "NotFound", "the server could not find the requested resource"))
        if isinstance(found, ApiError):
            raise found
        return Answer(200, msgspec.json.encode({"items": found} if isinstance(found, list) else found), date)

    def _review(self, path: str, asked: Json) -> Json:
        if path.endswith("selfsubjectreviews"):
            return {"status": {"userInfo": {"username": f"ann{EVIL}"}}}
        wanted = asked["spec"]["resourceAttributes"]
        if path.endswith("/subjectaccessreviews"):
            assert asked["spec"]["user"] == "system:serviceaccount:muster-system:m"
            assert "system:serviceaccounts:muster-system" in asked["spec"]["groups"]
            if self.denied_to_musterd is None:
                raise forbidden(path)
            what = (wanted["verb"], wanted["group"], wanted["resource"])
            return {"status": {"allowed": what not in self.denied_to_musterd}}
        resource = "/".join(filter(None, (wanted["resource"], wanted["subresource"])))
        return {"status": {"allowed": (wanted["verb"], resource) not in self.denied}}

    def lines(self, path: str, *, params: Mapping[str, str], silence: float) -> Any:
        raise AssertionError("doctor watches nothing")


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    """A healthy cluster, and a machine that is not checked."""
    made = Cluster()
    monkeypatch.setattr(
        ClusterChoice, "client", lambda chosen: Client(transport=made, namespace=chosen.namespace or "team")
    )
    monkeypatch.setattr(machine, "machine", lambda: iter(()))
    return made


@pytest.fixture
def check(call: Call) -> Doctor:
    """The findings of a run by check; the exit status is that of the findings, and everything is printable."""

    def run(*words: str) -> dict[str, list[Json]]:
        shown, document = call("doctor", *words), call("doctor", *words, "-o", "json")
        assert harmless(shown.output), ascii(shown.output)
        found: list[Json] = json.loads(document.stdout)["findings"]
        failed = any(finding["state"] == "failed" for finding in found)
        assert shown.exit_code == document.exit_code == int(failed)
        assert all(finding["next"] for finding in found if finding["state"] == "failed"), "what to do is said"
        by_check: dict[str, list[Json]] = {}
        for finding in found:
            assert without_numbers(finding["found"][:20]) in without_numbers(shown.stdout)
            by_check.setdefault(finding["check"], []).append(finding)
        return by_check

    return run


def without_numbers(text: str) -> str:
    """The two runs that are compared may see different ages."""
    return re.sub(r"\d+", "N", text)


def states(found: dict[str, list[Json]]) -> dict[str, list[str]]:
    return {name: [finding["state"] for finding in findings] for name, findings in found.items()}


def test_a_healthy_cluster_passes_every_check(cluster: Cluster, check: Doctor) -> None:
    found = check()
    names = ["API server", "clocks", "CRD", "rights", "daemon", "leader", "metrics", "Prometheus"]
    names += ["watched runs", "pod network"]
    assert states(found) == {name: ["ok"] for name in names}
    assert "Kubernetes v1.36.0" in found["API server"][0]["found"]
    assert "musterd-0_x renewed the Lease muster-system/musterd" in found["leader"][0]["found"]
    assert "2 of 2 pods are ready" in found["daemon"][0]["found"]
    assert "team/train" in found["pod network"][0]["found"]


@pytest.mark.parametrize(
    ("skew", "state", "words"), [(0, "ok", "agree"), (30, "warning", "s behind"), (-3600, "failed", "ahead of")]
)
def test_the_clocks_are_compared(cluster: Cluster, check: Doctor, skew: float, state: str, words: str) -> None:
    cluster.skew = skew
    cluster.answers[LEASE] = lease(age=2.0 - skew)
    found = check()
    assert found["clocks"][0]["state"] == state
    assert words in found["clocks"][0]["found"]
    assert found["leader"][0]["state"] == "ok", "the age of the Lease is by the server's clock"


def with_version(**changes: Any) -> Json:
    found = established()
    found["spec"]["versions"][0] |= changes
    return found


NOT_FOUND = error_of(404, "NotFound", "not found")


@pytest.mark.parametrize(
    ("path", "answer", "name", "state", "words"),
    [
        (CRD, NOT_FOUND, "CRD", "failed", "is not installed"),
        (CRD, {**established(), "status": {}}, "CRD", "failed", "is not established"),
        (CRD, with_version(name="v1"), "CRD", "failed", "v1alpha1 is not served, but v1"),
        (
            CRD,
            with_version(schema={"openAPIV3Schema": {"type": "object"}}),
            "CRD",
            "warning",
            "that of another version",
        ),
        ("/api/v1/pods", [pod(ready=False), pod("musterd-1")], "daemon", "warning", "1 of 2 pods are ready"),
        ("/api/v1/pods", [pod(ready=False)], "daemon", "failed", "0 of 1 pods are ready"),
        (EXPERIMENTS, [experiment("new", age=9 * HOUR)], "daemon", "failed", "team/new was created 9h ago"),
        (LEASE, lease(age=9 * HOUR), "leader", "failed", "was renewed 9h ago; it lasts 15 s"),
        (LEASE, lease(holder=""), "leader", "failed", "no daemon holds the Lease"),
        (LEASE, NOT_FOUND, "leader", "failed", "2 daemons run, and no Lease"),
        (LEASE, error_of(403, "Forbidden", "no"), "leader", "ok", "may not read the Lease"),
        (LEASE, error_of(500, "", "etcd is down"), "daemon", "warning", "could not be checked"),
        (LEASE, error_of(500, "", "etcd is down"), "pod network", "ok", "team/train"),
        (MONITORS, [], "Prometheus", "warning", "no monitor for musterd"),
        ("/apis/monitoring.coreos.com/v1", NOT_FOUND, "Prometheus", "ok", "are not in this cluster"),
        (EXPERIMENTS, [], "pod network", "warning", "nothing is known"),
        (EXPERIMENTS, [stuck("CoordinatorNotServing")], "pod network", "warning", "waiting for port 1234"),
        (EXPERIMENTS, [stuck("RanksMissing")], "pod network", "warning", "nothing is known"),
    ],
)
def test_what_is_wrong_with_the_cluster_is_named(
    cluster: Cluster, check: Doctor, path: str, answer: Any, name: str, state: str, words: str
) -> None:
    cluster.answers[path] = answer
    findings = check()[name]
    assert any(words in f["found"] and f["state"] == state for f in findings), findings


def test_an_experiment_that_another_manager_runs_is_not_called_unprocessed(cluster: Cluster, check: Doctor) -> None:
    theirs = experiment("new", age=9 * HOUR) | {"spec": {"managedBy": "kueue.x-k8s.io/multikueue"}}
    cluster.answers[EXPERIMENTS] = [theirs]
    assert [f["state"] for f in check()["daemon"]] == ["ok"]
    assert Explanation(snapshot_of(theirs), (), ()).waits_for == ""


@pytest.fixture
def outside(cluster: Cluster) -> Cluster:
    """Daemons that are no pods: their Lease is in the namespace default, and experiments have what they wrote last."""
    cluster.answers |= {"/api/v1/pods": [], LEASE: NOT_FOUND, OUTSIDE: lease()}
    return cluster


def test_daemons_outside_of_the_cluster_that_were_killed_are_missed(outside: Cluster, check: Doctor) -> None:
    outside.answers[OUTSIDE] = lease(age=600)
    found = check()
    assert states(found)["leader"] == ["failed"]
    assert "the Lease default/musterd of musterd-0_x was renewed" in found["leader"][0]["found"]
    (network,) = found["pod network"]
    assert (network["state"], "out of date" in network["found"]) == ("warning", True)


def test_a_daemon_outside_of_the_cluster_is_known_by_its_lease(outside: Cluster, check: Doctor) -> None:
    assert states(check())["pod network"] == ["ok"]
    outside.answers[EXPERIMENTS] = []
    found = check()
    assert states(found)["daemon"] == states(found)["leader"] == ["ok"]
    assert "musterd-0_x leads" in found["daemon"][0]["found"]


def test_without_a_lease_experiments_with_a_status_show_that_a_daemon_has_run(outside: Cluster, check: Doctor) -> None:
    outside.answers[OUTSIDE] = NOT_FOUND
    finding = check()["daemon"][0]
    assert (finding["state"], "experiments have a status" in finding["found"]) == ("warning", True)
    outside.answers[EXPERIMENTS] = []
    finding = check()["daemon"][0]
    assert (finding["state"], "docs/platform.md" in finding["next"]) == ("failed", True)


def of_release(name: str, watched: str = "") -> Json:
    """A pod of the release ``ops/NAME``, which looks after the namespace ``NAME`` alone."""
    made = pod(f"{name}-0", args=(f"--lease-name={name}", f"--namespace={name}", f"--watch-kinds={watched}"))
    return made | {"metadata": {**made["metadata"], "namespace": "ops", "labels": {"app.kubernetes.io/instance": name}}}


@pytest.fixture
def releases(cluster: Cluster) -> Cluster:
    """Two releases: that of ``prod`` has no leader, and that of ``team`` leads."""
    cluster.answers["/api/v1/pods"] = [of_release("team"), of_release("prod", "all")]
    leases = LEASE.removesuffix("muster-system/leases/musterd") + "ops/leases/"
    cluster.answers[f"{leases}team"] = lease(holder="team-0_x")
    cluster.answers[f"{leases}prod"] = lease(age=600, holder="prod-0_x")
    return cluster


def test_each_of_several_releases_is_checked_by_its_own_lease_and_experiments(releases: Cluster, check: Doctor) -> None:
    found = {
        (each["area"], each["check"]): (each["state"], each["found"]) for every in check().values() for each in every
    }
    assert found["musterd ops/prod", "leader"][0] == "failed"
    assert "the Lease ops/prod of prod-0_x was renewed" in found["musterd ops/prod", "leader"][1]
    assert "statuses are out of date" in found["musterd ops/prod", "pod network"][1]
    assert found["musterd ops/team", "leader"][0] == "ok"
    assert "team/train" in found["musterd ops/team", "pod network"][1]


def test_the_rights_for_watched_runs_are_those_of_the_release_of_the_namespace(
    releases: Cluster, check: Doctor
) -> None:
    (mine,) = check("-n", "team")["watched runs"]
    assert (mine["area"], "not asked for" in mine["found"]) == ("musterd ops/team", True)


def test_a_namespace_that_no_release_looks_after_is_named(releases: Cluster, check: Doctor) -> None:
    (nobody,) = check("-n", "other")["namespace"]
    assert nobody["state"] == "warning"
    assert "no musterd looks after the namespace other: they look after prod, team" in nobody["found"]


def observing(kinds: str) -> list[Json]:
    return [pod(args=("--leader-elect", f"--watch-kinds={kinds}"))]


def test_rights_are_asked_for_on_the_kinds_that_musterd_observes_alone(cluster: Cluster, check: Doctor) -> None:
    cluster.denied_to_musterd, cluster.denied = {("list", "ray.io", "rayjobs")}, {("list", "rayjobs")}
    (finding,) = check()["watched runs"]
    assert (finding["state"], "not asked for" in finding["found"]) == ("ok", True)
    cluster.answers["/api/v1/pods"] = observing("jobs")
    assert states(check())["watched runs"] == ["ok"]


@pytest.mark.parametrize(
    ("asked", "verb", "group", "kind"),
    [
        ("pods,jobs", "watch", "batch", "jobs"),
        ("all", "list", "ray.io", "rayjobs"),
        ("trainjobs", "get", "trainer.kubeflow.org", "trainjobs"),
        ("jaxjobs,jobsets", "list", "jobset.x-k8s.io", "jobsets"),
        ("pods", "list", "", "pods"),
    ],
)
def test_a_right_on_a_watched_kind_that_musterd_lacks_is_named(
    cluster: Cluster, check: Doctor, asked: str, verb: str, group: str, kind: str
) -> None:
    cluster.answers["/api/v1/pods"] = observing(asked)
    (fine,) = check()["watched runs"]
    assert (fine["state"], kind in fine["found"]) == ("ok", True)
    cluster.denied_to_musterd = {(verb, group, kind)}
    (finding,) = check()["watched runs"]
    assert finding["state"] == "failed"
    full = f"{kind}.{group}" if group else kind
    assert f"musterd (system:serviceaccount:muster-system:m) may not {verb} {full}" in finding["found"]
    assert "watch.kinds" in finding["next"]


@pytest.mark.parametrize("verb", ["patch", "delete"])
def test_a_deadline_that_musterd_could_not_keep_is_reported_and_is_no_failure(
    cluster: Cluster, check: Doctor, verb: str
) -> None:
    cluster.answers["/api/v1/pods"] = observing("pods,jobs,rayjobs")
    (fine,) = check()["watched runs"]
    assert "may not" not in fine["found"]
    cluster.denied_to_musterd = {(verb, "batch", "jobs"), (verb, "", "pods")}
    (finding,) = check()["watched runs"]
    assert finding["state"] == "ok", "deadlines are a choice"
    what = f"it may not {verb} jobs.batch, so there muster.dev/on-deadline ends nothing (the chart's watch.deadlines)"
    assert finding["found"].endswith(what), "pods have a role of their own"


def test_a_reader_who_may_not_ask_for_musterds_rights_learns_of_his_own(cluster: Cluster, check: Doctor) -> None:
    cluster.answers["/api/v1/pods"] = observing("rayjobs")
    cluster.denied_to_musterd, cluster.denied = None, {("list", "rayjobs")}
    theirs, own = check()["watched runs"]
    assert (theirs["state"], "you may not ask" in theirs["found"]) == ("ok", True)
    assert (own["state"], own["found"]) == ("warning", "in namespace team you may not list rayjobs.ray.io")
    cluster.answers["/api/v1/pods"] = cluster.answers["/api/v1/namespaces/muster-system/pods"] = forbidden("pods")
    (unseen,) = check()["watched runs"]
    assert "you may not see the flags of musterd" in unseen["found"]


def test_what_readyz_says_is_quoted_where_it_may_be_asked(cluster: Cluster, check: Doctor) -> None:
    unready = pod(ready=False)
    unready["status"]["phase"] = "Running"
    cluster.answers["/api/v1/pods"] = [unready]
    assert "ContainersNotReady" in check()["daemon"][0]["found"]
    problem = f"requests to update experiments/status: forbidden{EVIL}"
    cluster.answers["/api/v1/namespaces/muster-system/pods/musterd-0:8080/proxy/readyz"] = error_of(503, "", problem)
    assert "requests to update experiments/status: forbidden" in check()["daemon"][0]["found"]


def test_a_user_with_few_rights_learns_what_they_are_and_what_cannot_be_seen(cluster: Cluster, check: Doctor) -> None:
    for path in (CRD, "/api/v1/pods", "/api/v1/namespaces/muster-system/pods", LEASE, EXPERIMENTS):
        cluster.answers[path] = forbidden(path)
    cluster.answers[f"/apis/{API_VERSION}"] = {"resources": [{"name": "experiments"}]}
    cluster.answers[f"/apis/{API_VERSION}/namespaces/team/experiments"] = [serving()]
    cluster.denied = {("create", "experiments"), ("get", "pods/log"), ("delete", "experiments")}
    found = check()
    assert "you may not read the definition" in found["CRD"][0]["found"]
    granted, *denied = found["rights"]
    verbs = (
        "list, get, explain, wait, cancel, restart, members in get and explain, stacks, port-forward, Events in explain"
    )
    assert verbs in granted["found"]
    view, edit = denied
    assert (view["state"], edit["state"]) == ("warning", "warning")
    assert "you may not get pods/log (needed for: logs)" in view["found"]
    missing = "create experiments.muster.dev; delete experiments.muster.dev (needed for: submit, delete, prune)"
    assert missing in edit["found"]
    assert "--clusterrole=view" in view["next"]
    assert "--clusterrole=edit" in edit["next"]
    assert "you may not list its pods" in found["daemon"][0]["found"]
    assert states(found)["daemon"] == states(found)["pod network"] == ["ok"]


def test_a_coordinator_that_was_reached_before_leads_to_its_process(cluster: Cluster, check: Doctor) -> None:
    for reason, words in (("CoordinatorUnreachable", "`muster explain "), ("CoordinatorNotServing", "NetworkPolicy")):
        cluster.answers[EXPERIMENTS] = [stuck(reason)]
        assert words in check()["pod network"][0]["next"]


def test_without_the_right_to_read_experiments_it_fails(cluster: Cluster, check: Doctor) -> None:
    cluster.denied = {("list", "experiments")}
    found = check()
    assert found["rights"][-1]["state"] == "failed"
    assert "as ann" in found["rights"][-1]["found"]
    assert "--clusterrole=view" in found["rights"][-1]["next"]


def test_an_api_server_that_does_not_answer_is_a_failure(cluster: Cluster, check: Doctor) -> None:
    cluster.answers["/version"] = ApiError(f"connection refused{EVIL}")
    found = check()
    assert list(found) == ["API server"]
    assert "connection refused" in found["API server"][0]["found"]


def test_no_cluster_at_all_is_a_warning(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "machine", lambda: iter(()))
    result = call("doctor")
    assert result.exit_code == 0
    assert "no cluster to talk to" in result.stdout


def test_a_real_api_server_without_a_daemon(
    check: Doctor, server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "machine", lambda: iter(()))
    fine = {name: ["ok"] for name in ("API server", "clocks", "CRD", "rights")}
    assert states(check()) == fine | {"daemon": ["failed"], "pod network": ["warning"]}
    server.uninstall()
    assert states(check()) == {"API server": ["ok"], "clocks": ["ok"], "CRD": ["failed"]}


def findings_of_this_machine() -> dict[str, Check]:
    return {finding.check: finding for finding in machine.machine()}


def test_what_this_machine_lacks_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(machine, "choose_isolation", lambda: Choice(Isolation.REWRITE, {}))

    def none_left(_: object) -> Iterator[socket.socket]:
        raise OSError("Address already in use")

    monkeypatch.setattr(socket, "create_server", none_left)
    found = findings_of_this_machine()
    assert {name for name, finding in found.items() if finding.state == "warning"} == {"make", "kubectl", "namespaces"}
    assert found["ports"].state == "failed"
    assert "only 0 ports" in found["ports"].found
    assert all(finding.next for finding in found.values() if finding.state != "ok")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "problem", lambda _: "not installed: celpy; run: pip install 'musterd[local]'")
    found = findings_of_this_machine()
    assert "pip install 'musterd[local]'" in found["local cluster"].found


def test_a_home_that_cannot_be_written_fails(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)
    found = findings_of_this_machine()["local cluster"]
    assert (found.state, "MUSTER_HOME" in found.next) == ("failed", True)
    assert str(tmp_path) in found.found
