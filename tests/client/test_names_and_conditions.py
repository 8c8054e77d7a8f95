"""Generated names, conditions to wait for, and the state of a member."""

import random
from typing import Any

import pytest

from muster.api.gang import MAX_MEMBERS
from muster.api.manifest.load import load_manifest
from muster.api.manifest.naming import check_name
from muster.client import Until
from muster.client.member import member_of
from muster.client.snapshot import snapshot_of
from muster.client.submitting import generated_name, name_for
from tests.client.localserver import MANIFEST, ended, labels, running

SPEC = load_manifest(MANIFEST).spec


@pytest.mark.parametrize(
    ("hint", "base"),
    [
        ("path/to/Big Run.yaml", "big-run"),
        ("manifest.yaml", "jax"),
        ("<stdin>", "jax"),
        ("", "jax"),
        ("42.yaml", "jax"),
        ("v" * 200, "v" * 41),
    ],
)
def test_a_generated_name_comes_from_the_file_and_fits_its_pods(hint: str, base: str) -> None:
    name = generated_name(SPEC, hint, random.Random(3))
    assert name[:-6] == base[: len(name) - 6]
    assert not check_name(name, SPEC.groups)


def test_an_experiment_document_keeps_its_name() -> None:
    text = MANIFEST.replace("AIchorManifest", "Experiment").replace("0.2.3", "muster.dev/v1alpha1")
    assert name_for(load_manifest(f"metadata: {{name: mine}}\n{text}")) == "mine"
    assert name_for(load_manifest(f"name: Mine\n{MANIFEST}"), "file.yaml").startswith("mine-")


def test_conditions_are_parsed_as_kubectl_wait_has_them() -> None:
    assert Until.parse("finished") == Until.parse("condition=Finished=true") == Until()
    assert Until.parse("Stuck=False") == Until("Stuck", "False")
    assert Until.parse("delete").deleted
    for wrong, hint in (
        ("Stucc", "did you mean Stuck"),
        ("zzz", "these are Suspended, Scheduled"),
        ("Stuck=maybe", "True, False"),
    ):
        with pytest.raises(ValueError, match=hint):
            Until.parse(wrong)


def test_a_condition_is_met_or_can_no_longer_be_met() -> None:
    def seen(phase: str, **conditions: str) -> Any:
        listed = [{"type": kind, "status": status} for kind, status in conditions.items()]
        return snapshot_of({"status": {"phase": phase, "conditions": listed}})

    assembled = Until.parse("Assembled")
    assert assembled.met(seen("Running", Assembled="True"))
    assert not assembled.met(seen("Running"))
    assert not Until.parse("Assembled=False").met(seen("Running")), "never set is not False"
    assert assembled.hopeless(seen("Failed", Assembled="False"))
    assert not assembled.hopeless(seen("Running", Assembled="False"))
    assert Until().met(seen("Succeeded"))
    assert not Until.parse("delete").hopeless(seen("Failed"))


@pytest.mark.parametrize(
    ("status", "state", "why"),
    [
        ({}, "Pending", ""),
        (running(), "Running", ""),
        (ended(0), "Succeeded", ""),
        (ended(137), "Error", "exit code 137"),
        (
            ended(1, '\x1b[32mstep 1\x1b[0m\nTraceback:\n  File "a.py", line 1\nValueError: bad\n'),
            "Error",
            "exit code 1: ValueError: bad",
        ),
        (
            {"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]},
            "ImagePullBackOff",
            "",
        ),
        ({"phase": "Failed", "reason": "Evicted", "message": "low on memory"}, "Evicted", "low on memory"),
        ({"phase": 7, "containerStatuses": "none", "conditions": [None]}, "Pending", ""),
    ],
)
def test_a_member_has_the_state_of_its_pod(status: dict[str, Any], state: str, why: str) -> None:
    member = member_of({"metadata": {"name": "p", "labels": labels("mine", 3)}, "status": status})
    assert (member.rank, member.state, member.why) == (3, state, why)


def test_a_process_id_is_known_on_a_local_cluster_only() -> None:
    assert member_of({"status": running(4711)}).process == 4711
    assert member_of({"status": running()}).process is None
    odd = running()
    odd["containerStatuses"][0]["containerID"] = "process://; rm -rf /"
    assert member_of({"status": odd}).process is None


@pytest.mark.parametrize(
    ("status", "finalizers", "reason", "message"),
    [
        (("Running", "RollComplete", "2/2 are ready"), ["a.b/hold"], "Deleting", "held by the finalizer a.b/hold"),
        (("Failed", "DeadlineExceeded", "not within 6 s"), None, "DeadlineExceeded", "not within 6 s"),
    ],
    ids=["it names what holds it", "it keeps its end"],
)
def test_an_experiment_that_is_being_deleted_is_reported_so(
    status: tuple[str, str, str], finalizers: Any, reason: str, message: str
) -> None:
    metadata = {"deletionTimestamp": "2026-01-02T03:04:05Z", "finalizers": finalizers}
    known = dict(zip(("phase", "reason", "message"), status, strict=True))
    seen = snapshot_of({"metadata": metadata, "status": known})
    assert (seen.phase, seen.reason, seen.message) == (status[0], reason, f"being deleted; {message}")


def test_an_unreadable_status_counts_as_empty() -> None:
    strange = snapshot_of({"metadata": {"name": "mine"}, "status": {"phase": 7, "conditions": "none"}})
    assert (strange.name, strange.phase, snapshot_of({}).outcome) == ("mine", "", None)


def test_a_status_of_more_members_than_a_gang_may_have_is_cut() -> None:
    seen = snapshot_of({"status": {"phase": "Running", "ready": "1/9007199254740992"}})
    assert (seen.phase, seen.status.size) == ("Running", MAX_MEMBERS)
