"""Objects of other kinds that Muster runs, on the command line: by kind and name."""

import json
from typing import Any

import pytest

from muster.kinds.planning.run_object import with_record
from muster.state.vocabulary.record import Phase, Record
from muster.state.vocabulary.subject import JAXJOB, JOBSET
from tests.cli.conftest import Call, stderr_of
from tests.client.localserver import LocalServer

JOB: dict[str, Any] = {
    "apiVersion": JAXJOB.api_version,
    "kind": JAXJOB.kind,
    "metadata": {"name": "train"},
    "spec": {"jaxReplicaSpecs": {"Worker": {"template": {"spec": {"containers": [{"name": "jax", "image": "x"}]}}}}},
}
RECORD = Record(generation=1, phase=Phase.RUNNING, message="all 2 ranks have arrived", ready=2, size=2, restarts=1)


@pytest.fixture
def job(server: LocalServer) -> str:
    """A JAXJob that runs, beside a JobSet that another controller has."""
    server.put(JAXJOB.api_version, JAXJOB.plural, "default", JOB)
    status = with_record({"conditions": []}, RECORD)
    server.put(JAXJOB.api_version, JAXJOB.plural, "default", {**JOB, "status": status}, "status")
    other = {"apiVersion": JOBSET.api_version, "kind": JOBSET.kind, "metadata": {"name": "theirs"}, "spec": {}}
    server.put(JOBSET.api_version, JOBSET.plural, "default", other)
    return "jaxjob/train"


def test_get_and_explain_show_it_by_kind(call: Call, server: LocalServer, job: str) -> None:
    shown = call("get", job)
    assert shown.exit_code == 0
    assert "default/jaxjob/train  Running  JAXJob, epoch 0, 1 restart, 2/2 ready" in shown.stdout
    assert "all 2 ranks have arrived" in shown.stdout
    assert "default/jaxjob/train" in call("explain", "jaxjobs/train").stdout
    assert json.loads(call("get", job, "-o", "json").stdout)["kind"] == "JAXJob"


def test_list_shows_them_by_kind(call: Call, server: LocalServer, job: str) -> None:
    assert call("list", "--kind", "jaxjob", "-o", "name").stdout == "jaxjob/train\n"
    assert "jaxjob/train" not in call("list").stdout
    assert call("list", "--kind", "jobset", "-o", "name").stdout == "jobset/theirs\n"


def test_delete_deletes_it_by_kind(call: Call, server: LocalServer, job: str) -> None:
    assert call("delete", job, "--yes").exit_code == 0
    assert "JAXJob default/train does not exist; `muster list -A --kind jaxjob`" in stderr_of(call, 1, "get", job)


def test_what_cannot_be_done_says_what_can(call: Call, server: LocalServer, job: str) -> None:
    assert "or delete it" in stderr_of(call, 1, "cancel", job)
    unknown = stderr_of(call, 1, "get", "cronjob/train")
    assert "the kinds are experiment, jaxjob, jobset" in unknown
    assert "mpijob, pytorchjob, raycluster, vcjob, job, pods" in unknown
    server.remove_kind("jaxjobs.kubeflow.org")
    assert "does not know JAXJob objects: its CRD is not installed" in call("get", job).stderr


@pytest.mark.usefixtures("server")
@pytest.mark.parametrize(
    ("arguments", "instead"),
    [
        (("restart", "jobset/train"), "set spec.suspend to true with kubectl, and to false when its pods have ended"),
        (("restart", "rayjob/train"), "set spec.suspend to true with kubectl, and to false when its pods have ended"),
        (("restart", "jaxjob/train"), "set spec.runPolicy.suspend to true with kubectl, and to false when its pods"),
        (("restart", "pods/train"), "its pods are made by another program, which has to do it"),
        (("restart", "--rerun", "jobset/train"), "create it with kubectl under another name"),
        (("cancel", "jobset/train"), "set spec.suspend to true with kubectl, or delete it"),
    ],
)
def test_what_only_experiments_can_do_says_what_to_do_with_another_kind(
    call: Call, arguments: tuple[str, ...], instead: str
) -> None:
    error = stderr_of(call, 1, *arguments)
    assert f"{arguments[-1]} is not an Experiment" in error
    assert instead in error
