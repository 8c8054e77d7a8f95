"""Which subject is read from which evidence."""

import pytest

from muster.api.causes import Cause
from muster.api.gang import NodeFailures
from muster.state.facts.causes.table import BY_NAME
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.classifier import Finding
from muster.state.facts.incidents.readings import Evidence
from muster.state.facts.incidents.signs import signs_of
from muster.state.facts.incidents.subjects import KINDS, NAME, OWNED, PATIENT, subjects_of
from muster.state.view.engine_facts import Refusal
from muster.state.vocabulary.plan import Queue
from muster.state.vocabulary.pod import Claim
from muster.state.vocabulary.record import Condition, ConditionType, Phase
from tests.builders import NOW, plan, pod, record, view
from tests.fleet_hours import messages as say

PULL = 'Back-off pulling image "registry.example:5000/team/train:1": '
CASES = [
    ("NodeNotReady", "node n7 is not ready", "node", "n7"),
    ("CoordinatorFrozen", "the port accepts a connection", "node", "n7"),
    ("ImagePull", f"{PULL}lookup registry.example on 10.96.0.10:53: no such host", "dns", "10.96.0.10"),
    ("ImagePull", f"{PULL}dial tcp: no such host", "dns", "cluster DNS"),
    ("ImagePull", f"{PULL}dial tcp 10.1.1.1:5000: i/o timeout", "registry", "registry.example:5000"),
    ("ImagePull", 'image "busybox:9": 429 Too Many Requests', "registry", "docker.io"),
    ("ImagePull", f"{PULL}not found", "image", "registry.example:5000/team/train:1"),
    ("AdmissionDenied", 'failed calling webhook "w.example.com"', "webhook", "w.example.com"),
    ("AdmissionDenied", "ValidatingAdmissionPolicy 'no-root' with binding 'b' denied", "policy", "no-root"),
    ("QuotaExceeded", "exceeded quota: gpus, requested: 8", "quota", "team/gpus"),
    ("RightsMissing", 'User "x" cannot create resource "pods" in API group', "right", 'create resource "pods"'),
    ("Refused", "no PriorityClass with name high was found", "priority class", "high"),
    ("Refused", "ApiServerBusy too many requests", "api server", "ApiServerBusy"),
    ("Queued", "waiting in a queue: ClusterQueue research is inactive", "queue", "research"),
    ("Queued", "waiting in a queue", "queue", "team/lq"),
    ("Unschedulable", 'storageclass.storage.k8s.io "fast" not found', "storage class", "fast"),
    ("Unschedulable", "pod has unbound immediate PersistentVolumeClaims", "storage class", "slow"),
    ("Unschedulable", "0/9 nodes are available: 9 Insufficient nvidia.com/gpu.", "device", "nvidia.com/gpu"),
    ("Unschedulable", "0/9 nodes are available: 9 node(s) had taint {maintenance: }.", "taint", "maintenance"),
    ("ContainerCannotStart", 'secret "token" not found', "config", 'team/secret "token"'),
    ("Sandbox", say.NO_SECRET.format(name="creds"), "config", 'team/secret "creds"'),
    ("DriverFails", say.MISMATCH, "device driver", "nvidia, driver/library version mismatch"),
    ("DriverFailed", say.NOT_LOADED, "device driver", "nvidia, driver not loaded"),
    ("DriverFailed", say.GPU_LOST, "node", "n7"),
    ("NetworkFails", say.SANDBOX.format(plugin="calico", why=say.UNAUTHORIZED), "network plugin", "calico"),
    ("NetworkFails", "failed to reserve sandbox name", "node", "n7"),
    ("VolumeFails", say.ATTACH.format(driver="ebs.csi.aws.com"), "volume driver", "ebs.csi.aws.com"),
    ("VolumeFails", say.UNREGISTERED.format(driver="pd.csi.example"), "volume driver", "pd.csi.example"),
    ("VolumeFails", say.NO_NFS.format(server="fs01.example"), "file server", "fs01.example"),
    ("VolumeFails", say.TOO_SLOW, "storage class", "slow"),
    ("NodePressure", say.LOW, "node", "n7"),
    ("NodeDiskFull", say.NO_SPACE, "node", "n7"),
    ("ImagePull", say.NO_SPACE_TO_PULL, "node", "n7"),
    ("Crashed", "exit code 139", "node", "n7"),
]


def seen(cause: str, text: str, nodes: dict[str, int] | None = None) -> Evidence:
    run = plan(queue=Queue("lq"), claims=(Claim("c", {"storageClassName": "slow"}),))
    there = view()
    there.engine.refusal = Refusal(text.partition(" ")[0], text, final=False)
    found = Finding(cause=BY_NAME[cause], ranks=(0,), count=1, what="", evidence=text, next_step="")
    return Evidence(Context.at(run, record(), there, NOW), found, text, {"n7": 1} if nodes is None else nodes)


def readings(cause: str, text: str, nodes: dict[str, int] | None = None) -> list[tuple[str, str]]:
    """Kind and name of each subject that may be meant, the first one first."""
    return [(row.kind, name) for row, name in subjects_of(BY_NAME[cause], seen(cause, text, nodes))]


@pytest.mark.parametrize(("cause", "text", "kind", "name"), CASES)
def test_the_subject_is_read_from_the_evidence(cause: str, text: str, kind: str, name: str) -> None:
    assert readings(cause, text)[0] == (kind, name)


def test_every_kind_that_is_read_from_a_finding_has_a_case() -> None:
    assert {kind for _, _, kind, _ in CASES} == set(KINDS) - {"rack", "pool", "zone", "nodes"}


def test_what_is_its_owners_to_mend_is_patient() -> None:
    assert set(PATIENT) >= OWNED, "a critical incident is the platform's"


def test_a_node_that_is_one_of_many_is_no_subject() -> None:
    two = {"n7": 1, "n8": 1}
    for cause, text in (("CoordinatorFrozen", ""), ("Crashed", ""), ("ImagePull", say.NO_SPACE_TO_PULL)):
        assert readings(cause, text, two) == []


def test_what_names_nothing_has_no_subject() -> None:
    assert readings("Refused", "the pod is too ugly") == []
    assert readings("ContainerCannotStart", "CreateContainerConfigError: couldn't find key x in Secret") == []


@pytest.mark.parametrize(
    ("cause", "text", "named"),
    [
        ("DriverFailed", say.MISMATCH, ["device driver", "node"]),
        ("NetworkFails", say.SANDBOX.format(plugin="calico", why=say.NO_ADDRESS), ["network plugin", "node"]),
        ("VolumeFails", say.TOO_SLOW, ["storage class", "node"]),
        ("Hung", "no step since", ["node", "storage class"]),
        ("ImagePull", PULL + say.DENIED.format(image="registry.example:5000/x", host="h"), ["image", "registry"]),
    ],
)
def test_a_finding_may_have_two_readings(cause: str, text: str, named: list[str]) -> None:
    assert [kind for kind, _ in readings(cause, text)] == named


@pytest.mark.parametrize(
    ("why", "registry"),
    [
        (say.DENIED, [True]),
        (say.FORBIDDEN, [True]),
        (say.EXPIRED, [False]),
        (say.ANONYMOUS, []),
        (say.NO_REPOSITORY, []),
        (say.NOT_FOUND, []),
    ],
)
def test_a_registry_refuses_where_credentials_may_have_been_sent(why: str, registry: list[bool]) -> None:
    words = PULL + why.format(image="registry.example:5000/team/train:1", host="registry.example:5000")
    found = subjects_of(BY_NAME["ImagePull"], seen("ImagePull", words))
    assert [row.weak for row, _ in found if row.kind == "registry"] == registry


def test_a_name_is_cut_and_printable() -> None:
    (_, name), *_ = readings("ImagePull", f'image "x/{"a" * 290}": not found')
    assert len(name) <= NAME


def test_a_run_without_pods_shows_that_it_may_follow_the_loss_of_its_nodes() -> None:
    stuck = Condition(ConditionType.STUCK, True, "PodsMissing", "", 1, NOW - 5)
    now = Context.at(plan(), record(phase=Phase.RUNNING, conditions=(stuck,)), view(), NOW)
    assert {(found.cause, found.kind, found.node) for found in signs_of(now)} == {("PodsMissing", "", False)}


def test_only_a_run_that_is_stuck_shows_signs() -> None:
    lost = [pod(rank, node="n7", ready=False, cut_off=True) for rank in range(4)]
    stuck = Condition(ConditionType.STUCK, True, "NodeNotReady", "", 1, NOW - 5)
    now = Context.at(plan(), record(phase=Phase.RUNNING, conditions=(stuck,)), view(*lost), NOW)
    (found,) = signs_of(now)
    assert (found.kind, found.subject, found.ranks, found.since, found.node) == ("node", "n7", 4, NOW - 5, True)
    assert signs_of(now.with_record(record(phase=Phase.RUNNING))) == ()


@pytest.mark.parametrize(("node", "subjects"), [("n7", ["n7"]), ("n8", [])])
def test_the_end_of_a_run_that_works_again_is_a_sign_only_where_it_failed_twice(node: str, subjects: list[str]) -> None:
    crash = Cause(0, "Error", "", NOW - 60, node="n7", exit_code=139)
    kept = record(phase=Phase.RUNNING, epoch=1, cause=crash, node_failures=(NodeFailures(node, 2),))
    assert [found.subject for found in signs_of(Context.at(plan(), kept, view(), NOW))] == subjects
