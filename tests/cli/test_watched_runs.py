"""Runs of other controllers on the command line: what their objects and their pods say."""

import io
import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

import pytest
from rich.console import Console

from muster.api.errors import ApiError, Forbidden, Throttled
from muster.api.names import ANNOTATION_ABOUT
from muster.cli.commands.contexts import ClusterAnswer, Listed
from muster.cli.commands.several.top import Screen
from muster.client import watching
from muster.kube.resources import ResourceClient
from muster.state.vocabulary.subject import JOBSET
from tests.cli.conftest import Call, stderr_of
from tests.cli.diagnosed import INDEX, jobset
from tests.cli.test_top import drawn
from tests.client.localserver import LocalServer, ended, running

RUNS: dict[str, Any] = {"kind": "Event", "source": {"component": "muster"}, "reportingComponent": "muster"}
RUNS |= {"type": "Warning", "reason": "Stuck", "message": "1/3 ranks have arrived; missing 1, 2"}
TEMPLATE: dict[str, Any] = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}}
PLAIN: dict[str, Any] = {"kind": "Job", "metadata": {"name": "plain"}, "spec": {"template": TEMPLATE}}


@pytest.fixture
def pods(server: LocalServer) -> Callable[..., None]:
    """Makes a pod of each status, by index."""

    def make(name: str, labels: dict[str, str], *statuses: dict[str, Any], **meta: Any) -> None:
        for number, status in enumerate(statuses):
            server.pod(f"{name}-{number}", labels | {INDEX: str(number)}, meta=meta, **status)

    return make


@pytest.fixture
def job(server: LocalServer, pods: Callable[..., None], diagnosable: None) -> str:
    """An indexed Job of three, of which one member fails and one has no pod."""
    metadata = {"name": "train", "labels": {"muster.dev/observe": "train"}}
    spec = {"completions": 3, "parallelism": 3, "completionMode": "Indexed", "template": TEMPLATE}
    made = server.put("batch/v1", "jobs", "default", {"metadata": metadata, "kind": "Job", "spec": spec})
    uid = made["metadata"]["uid"]
    labels = {"batch.kubernetes.io/controller-uid": uid, "batch.kubernetes.io/job-name": "train"}
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "train", "uid": uid, "controller": True}
    pods("train", labels, running(), ended(3, "no such file"), ownerReferences=[owner])
    pods("other", {**labels, "batch.kubernetes.io/controller-uid": "another"}, running())
    return "job/train"


def event(
    server: LocalServer, uid: str, kind: str, at: str, annotations: Mapping[str, str] | None = None, **fields: Any
) -> None:
    version = {"Job": "batch/v1", "Pod": "v1"}[kind]
    about = {"apiVersion": version, "kind": kind, "namespace": "default", "name": "train", "uid": uid}
    metadata = {"name": f"e{at[:4]}", "annotations": annotations or {}}
    name = {"metadata": metadata, "involvedObject": about, "firstTimestamp": at, "lastTimestamp": at}
    server.put("v1", "events", "default", {**RUNS, **name, **fields})


def end(server: LocalServer, condition: str, reason: str, message: str = "", at: str = "", **status: Any) -> str:
    """Its own controller has ended the Job; its uid."""
    done = {"type": condition, "status": "True", "reason": reason, "message": message}
    known = {**status, "conditions": [done | ({"lastTransitionTime": at} if at else {})]}
    body = {"kind": "Job", "metadata": {"name": "train"}, "status": known}
    return str(server.put("batch/v1", "jobs", "default", body, "status")["metadata"]["uid"])


def uid_of(call: Call, name: str) -> str:
    return str(json.loads(call("get", name, "-o", "json").stdout)["metadata"]["uid"])


def test_get_shows_the_members_of_a_job(call: Call, job: str) -> None:
    shown = call("get", job).stdout
    assert "1  train-1  Error" in shown
    assert "rank 1 (train-1) ended with exit code 3" in shown
    assert "other-0" not in shown
    assert "Watched, not run, by Muster" in shown
    assert json.loads(call("get", "jobs/train", "-o", "json").stdout)["kind"] == "Job"


def test_the_verdict_of_its_own_controller_stands(call: Call, server: LocalServer, job: str) -> None:
    uid = end(server, "Failed", "BackoffLimitExceeded", "limit reached")
    event(server, uid, "Job", "2099-01-01T00:00:00Z")
    shown = call("get", job).stdout
    assert "Failed" in shown
    assert "limit reached" in shown
    assert "ranks have arrived" not in shown


def test_what_musterd_said_after_the_last_change_of_a_pod_is_the_sentence(
    call: Call, server: LocalServer, job: str
) -> None:
    uid = uid_of(call, job)
    event(server, uid, "Job", "2020-01-01T00:00:00Z", message="said long before")
    assert "said long before" not in call("get", job).stdout
    assert "Stuck: said long before" in call("explain", job).stdout
    event(server, uid, "Job", "2098-01-01T00:00:00Z", message="said by another", source={"component": "kubelet"})
    assert "said by another" not in call("get", job).stdout
    event(server, uid, "Job", "2099-01-01T00:00:00Z")
    assert "1/3 ranks have arrived; missing 1, 2 (musterd's last Event)" in call("get", job).stdout


def test_a_pod_that_runs_after_the_end_of_its_run_is_not_reported_to_stop(
    call: Call, server: LocalServer, job: str
) -> None:
    times = {"at": "2026-01-01T00:01:00Z", "startTime": "2026-01-01T00:00:00Z"}
    end(server, "Failed", "DeadlineExceeded", "too late", **times)
    shown = call("get", job).stdout
    assert "too late; 1 pod still runs (train-0), and what it holds is not free" in shown
    assert "0  train-0  Running  on local  the run has ended, and its pod runs on and holds what it asked for" in shown
    assert "Stopping" not in shown
    assert "grace period" not in shown


def test_a_run_that_is_being_deleted_is_what_its_pods_are(call: Call, server: LocalServer) -> None:
    name = jobset(server, finalizers=["example.org/keeps"])
    server.drop(JOBSET.api_version, JOBSET.plural, "default", "train")
    shown = call("get", name).stdout
    assert "default/jobset/train  Running" in shown
    left = "3 pods still run (first: train-workers-0-0), and what they hold is not free"
    assert f"being deleted; held by the finalizer example.org/keeps; {left}" in shown


def test_who_has_arrived_at_the_coordinator_of_a_jobset_is_left_to_diagnose(call: Call, server: LocalServer) -> None:
    shown = call("get", jobset(server, 1)).stdout
    assert "default/jobset/train  Running  JobSet, epoch 0, 3/3 ready" in shown
    assert "; muster diagnose jobset/train -n default asks its coordinator who has arrived" in shown


@pytest.mark.parametrize("reason", ["MemberFailed", "FailedDeleteHeadPod", "NotStuck", "Running"])
def test_what_happened_once_is_not_the_sentence_of_a_run_that_has_moved_on(
    call: Call, server: LocalServer, job: str, reason: str
) -> None:
    uid = uid_of(call, job)
    event(server, uid, "Job", "2098-01-01T00:00:00Z")
    event(server, uid, "Job", "2099-01-01T00:00:00Z", reason=reason, message="said of something that is over")
    shown = call("get", job).stdout
    assert "musterd's last Event" not in shown
    assert "rank 1 (train-1) ended with exit code 3" in shown
    assert f"{reason}: said of something that is over" in call("explain", job).stdout


def test_list_shows_jobs_with_the_label(call: Call, server: LocalServer, job: str) -> None:
    server.put("batch/v1", "jobs", "default", PLAIN)
    listed = call("list", "--kind", "job")
    assert listed.exit_code == 0, listed.stderr
    assert "job/train" in listed.stdout
    assert "1/3" in listed.stdout
    assert "plain" not in listed.stdout
    assert "a Job needs the label muster.dev/observe" in call("get", "job/plain").stdout


def test_labelled_pods_are_one_run(call: Call, pods: Callable[..., None]) -> None:
    note = {"muster.dev/size": "4"}
    pods("mine", {"muster.dev/observe": "mine"}, running(), running(), annotations=note)
    shown = call("get", "pods/mine")
    assert shown.exit_code == 0, shown.stderr
    assert "2/4 ready" in shown.stdout
    assert "ranks 2-3 have no pod" in shown.stdout
    assert call("list", "--kind", "pods", "-o", "name").stdout == "pods/mine\n"
    none = "no pod of namespace default has the label muster.dev/observe=none"
    assert none in stderr_of(call, 1, "get", "pods/none")


def test_what_is_not_there_is_reported(call: Call, server: LocalServer, job: str) -> None:
    assert "Job default/gone does not exist" in stderr_of(call, 1, "explain", "job/gone")
    unknown = "does not know RayJob objects: its CRD is not installed"
    assert unknown in stderr_of(call, 1, "get", "rayjob/train")


def test_what_would_change_or_follow_it_names_the_command_that_does(call: Call, server: LocalServer, job: str) -> None:
    for words, instead in (
        (("wait", job), "kubectl wait"),
        (("delete", job, "--yes"), "delete it with kubectl"),
        (("get", job, "--watch"), "`muster get` shows it once"),
        (("get", jobset(server), "--watch"), "`muster get` shows it once"),
        (("logs", job, "-f"), "follow it with kubectl"),
    ):
        refused = call(*words)
        assert (refused.exit_code != 0, instead in refused.stderr) == (True, True), words
    assert call("get", job).exit_code == 0


def test_a_stuck_run_of_another_controller_is_in_the_table_of_the_experiments(
    call: Call, server: LocalServer, job: str, mine: str
) -> None:
    assert "job/train" not in call("list").stdout
    uid = uid_of(call, job)
    event(server, uid, "Job", "2099-01-01T00:00:00Z", message="PodsMissing: 2/3 pods exist")
    for line in (["list"], ["list", "-A", "-o", "wide"], ["get"], ["top"], ["top", "-A"]):
        shown = call(*line)
        assert shown.exit_code == 0, shown.stderr
        (row,) = [row for row in shown.stdout.splitlines() if "job/train" in row]
        assert "PodsMissing: 2/3 pods exist" in row
        assert " mine " in shown.stdout or "\nmine " in shown.stdout
    table = call("top").stdout.splitlines()
    assert table[0] == "2 experiments, 1 with a problem"
    assert table[2].split()[:2] == ["job/train", "stuck"]


@pytest.mark.parametrize(
    ("error", "status"), [(Forbidden("jobs is forbidden"), 0), (Throttled("etcdserver: request timed out"), 1)]
)
def test_stuck_runs_that_the_server_fails_to_list_are_an_error_and_forbidden_ones_are_left_out(
    error: ApiError, status: int, call: Call, server: LocalServer, job: str, mine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    event(server, uid_of(call, job), "Job", "2099-01-01T00:00:00Z")

    async def fails(*_: object) -> NoReturn:
        raise error

    monkeypatch.setattr(watching, "list_all", fails)
    listed = call("list")
    assert listed.exit_code == status
    assert (str(error) in listed.stderr) == bool(status)


@pytest.mark.parametrize("output", ["name", "json", "yaml"])
@pytest.mark.parametrize("verb", ["list", "top"])
def test_what_other_commands_read_has_experiments_alone(
    verb: str, output: str, call: Call, server: LocalServer, job: str, mine: str
) -> None:
    """``muster list -o name`` may be the list of what is deleted."""
    uid = uid_of(call, job)
    event(server, uid, "Job", "2099-01-01T00:00:00Z")
    shown = call(verb, "-o", output).stdout
    assert "mine" in shown
    assert "Job" not in shown
    assert "job/train" not in shown


def test_a_run_that_goes_on_or_has_ended_is_in_no_table_of_experiments(
    call: Call, server: LocalServer, job: str, mine: str
) -> None:
    uid = uid_of(call, job)
    event(server, uid, "Job", "2098-01-01T00:00:00Z")
    event(server, uid, "Job", "2099-01-01T00:00:00Z", reason="NotStuck", message="it goes on")
    assert "job/train" not in call("list").stdout + call("top").stdout
    event(server, uid, "Job", "2100-01-01T00:00:00Z")
    assert "job/train" in call("list").stdout
    end(server, "Complete", "CompletionsReached")
    assert "job/train" not in call("list").stdout + call("top").stdout


def test_stuck_labelled_pods_are_found_by_the_events_of_their_pods_and_are_part_of_incidents(
    call: Call, server: LocalServer, pods: Callable[..., None]
) -> None:
    pods("loose", {"muster.dev/observe": "loose"}, running(), running())
    found = json.loads(call("explain", "pods/loose", "-o", "json").stdout)["members"][0]["uid"]
    event(server, found, "Pod", "2098-01-01T00:00:00Z")
    assert "pods/loose" in call("list").stdout
    event(server, found, "Pod", "2099-01-01T00:00:00Z", reason="Incident", annotations={ANNOTATION_ABOUT: "node=n7"})
    (found_incident,) = json.loads(call("incidents", "-o", "json").stdout)["incidents"]
    assert found_incident["runs"] == ["default/pods/loose"]
    assert call("top").stdout.startswith("incident: node n7 blocks 1 run of namespace default, since ")
    assert "(musterd's last Event)" in call("get", "pods/loose").stdout, "the incident takes nothing back"


@pytest.mark.parametrize("verb", ["logs", "stacks", "port-forward"])
def test_pods_that_may_not_be_read_are_not_called_absent(
    verb: str, call: Call, job: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuses(*_: object) -> NoReturn:
        raise Forbidden('pods is forbidden: User "ann" cannot list resource "pods"', status=403)

    monkeypatch.setattr(watching, "_read", refuses)
    error = stderr_of(call, 1, verb, job, *(["8080"] if verb == "port-forward" else []))
    assert 'User "ann" cannot list resource "pods"; `muster doctor` lists your rights' in error
    assert "has no pod" not in error


def test_a_watch_of_a_kind_that_the_cluster_lacks_names_that_kind(call: Call, server: LocalServer) -> None:
    server.remove_kind("jobsets.jobset.x-k8s.io")
    assert "does not know JobSet objects" in stderr_of(call, 1, "list", "--watch", "--kind", "jobset")


LEFT_OUT = "runs of other controllers that are Stuck are not shown"


@pytest.fixture
def denied(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Refuses to list the objects of a kind."""
    allowed = ResourceClient.list

    def deny(kind: str) -> None:
        async def refusing(self: ResourceClient, path: str, params: Mapping[str, str] | None = None) -> Any:
            if path.endswith(f"/{kind}"):
                raise Forbidden(f'{kind} is forbidden: User "ann" cannot list resource "{kind}"', status=403)
            return await allowed(self, path, params)

        monkeypatch.setattr(ResourceClient, "list", refusing)

    return deny


@pytest.mark.parametrize("kind", ["events", "jobs"])
@pytest.mark.parametrize("verb", ["list", "get", "top"])
def test_a_table_without_them_names_the_right_once(
    call: Call, server: LocalServer, job: str, mine: str, denied: Callable[[str], None], verb: str, kind: str
) -> None:
    event(server, uid_of(call, job), "Job", "2099-01-01T00:00:00Z")
    allowed = call(verb)
    assert job in allowed.stdout
    assert "without list" not in allowed.stderr
    denied(kind)
    shown = call(verb)
    assert (shown.exit_code, shown.stderr) == (0, f"without list of {kind}: {LEFT_OUT}\n")
    assert "mine" in shown.stdout
    assert "without list" not in call(verb, "-o", "name").stderr, "it lists none of them"


def test_a_cluster_is_named_with_what_may_not_be_read_of_it(
    call: Call, server: LocalServer, mine: str, denied: Callable[[str], None]
) -> None:
    denied("events")
    assert f"muster-local: without list of events: {LEFT_OUT}\n" in call("list", "--contexts", "muster-local").stderr


def test_a_screen_has_the_line_above_its_table() -> None:
    screen = Screen(Console(file=io.StringIO(), width=100, height=24), (), over=False)
    screen.take("", ClusterAnswer("", Listed((), (), (f"without list of events: {LEFT_OUT}",))))
    assert drawn(screen).startswith(f"without list of events: {LEFT_OUT}\n")
