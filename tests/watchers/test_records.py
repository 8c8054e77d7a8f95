"""Records of Experiments and Services; times and words from the wire."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.values.owners import OwnerLabels
from muster.api.values.printable import clean, small_number
from muster.api.values.timestamps import seconds_of
from muster.kinds.registry import RUN_KINDS, WATCHED_KINDS
from muster.watchers import experiments, metadata, run_kinds, watched
from tests.builders import sure
from tests.fakes.apiserver import event


def experiment(**metadata: Any) -> dict[str, Any]:
    return {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "Experiment",
        "metadata": {"uid": "e1", "name": "mnist", "namespace": "team", "resourceVersion": "12", "generation": 2}
        | metadata,
        "spec": {"anything": [1, {"goes": "wherever"}]},
    }


def test_of_an_experiment_spec_and_status_are_kept_and_what_is_used_of_its_metadata() -> None:
    obj = experiment(annotations={"big": "x" * 1000}, managedFields=[{"manager": "y" * 1000}]) | {"status": {"a": 1}}
    got = sure(experiments.DECODER.event(event("ADDED", obj)).obj)
    assert (json.loads(got.spec), json.loads(got.status)) == (obj["spec"], obj["status"])
    assert sum(len(str(getattr(got, name))) for name in got.__struct_fields__) < 200
    assert (got.uid, got.namespace, got.name, got.resource_version, got.generation) == ("e1", "team", "mnist", 12, 2)
    assert not got.deleting
    leaving = experiments.DECODER.event(event("MODIFIED", experiment(deletionTimestamp="2026-11-20T11:00:30Z"))).obj
    assert leaving is not None
    assert leaving.deleting
    page = experiments.DECODER.page(json.dumps({"metadata": {"resourceVersion": "9"}, "items": [obj]}).encode())
    assert json.loads(next(iter(page.objects.values())).spec) == obj["spec"]
    bare = sure(experiments.DECODER.event(event("ADDED", {"metadata": obj["metadata"]})).obj)
    assert (bare.spec, bare.status) == (b"null", b"null")
    kept = experiments.stripped(got)
    assert (kept.uid, kept.resource_version, kept.spec, kept.status) == ("e1", 12, b"", b"")


def test_of_its_annotations_the_requests_of_people_are_kept() -> None:
    asked = {"muster.dev/restart": "anna\x1b[31m at noon", "muster.dev/cancelled": "x" * 1000, "other": "y" * 1000}
    got = sure(experiments.DECODER.event(event("MODIFIED", experiment(annotations=asked))).obj)
    assert got.restart_request == "anna\N{REPLACEMENT CHARACTER}[31m at noon"
    assert (got.cancelled_by[:4], len(got.cancelled_by)) == ("xxxx", 253)


@pytest.mark.parametrize(
    "wrong", [{"uid": None}, {"uid": ""}, {"name": ""}, {"resourceVersion": "x"}, {"generation": "2"}]
)
def test_an_experiment_without_metadata_is_a_problem_and_not_an_error(wrong: dict[str, Any]) -> None:
    for decoder in (experiments.DECODER, metadata.DECODER):
        got = decoder.event(event("ADDED", experiment(**wrong)))
        if decoder is experiments.DECODER or "generation" not in wrong:
            assert got.obj is None
            assert got.problem
        body = json.dumps({"metadata": {"resourceVersion": "9"}, "items": [experiment(**wrong), experiment()]}).encode()
        assert decoder.page(body).objects


def test_the_record_of_a_service_has_its_controller() -> None:
    owners = [{"uid": "other"}, {"uid": "exp-1", "controller": True}]
    meta = {"uid": "s1", "name": "mnist", "namespace": "team", "resourceVersion": "3", "ownerReferences": owners}
    got = metadata.DECODER.event(event("ADDED", {"metadata": meta, "spec": {"clusterIP": "None"}})).obj
    assert got == metadata.ServiceRecord("s1", "mnist", "team", "exp-1", 3)
    del meta["ownerReferences"], meta["namespace"]
    got = metadata.DECODER.event(event("ADDED", {"metadata": meta})).obj
    assert got == metadata.ServiceRecord("s1", "mnist", "", "", 3)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:00Z", 0.0),
        ("2026-11-20T11:00:30Z", 1795172430.0),
        ("2026-11-20T11:00:30.250000Z", 1795172430.25),
        ("2026-11-20T11:00:30.250000999Z", 1795172430.25),
        ("2026-11-20T12:00:30+01:00", 1795172430.0),
        (None, 0.0),
        ("", 0.0),
        ("2026-11-20", 0.0),
        ("2026-11-20T11:00:30", 0.0),
        ("2026-W47-5T11:00:30Z", 0.0),
        ("2026-13-20T11:00:30Z", 0.0),
        ("2026-11-20T11:00:60Z", 0.0),
        ("0001-01-01T00:00:00+14:00", 0.0),
    ],
)
def test_times_are_read_as_wall_seconds(text: str | None, seconds: float) -> None:
    assert seconds_of(text) == seconds


@given(st.one_of(st.text(max_size=60), st.datetimes(timezones=st.timezones()).map(lambda moment: moment.isoformat())))
def test_any_text_is_a_time_or_zero(text: str) -> None:
    assert isinstance(seconds_of(text), float)


@given(st.text(st.characters(), max_size=600), st.integers(1, 300))
def test_any_word_becomes_printable(text: str, limit: int) -> None:
    got = clean(text, limit)
    assert got.isprintable()
    assert len(got) <= limit
    assert -1 <= small_number(text) <= 999_999_999


def test_the_labels_of_owners_are_read_of_every_kind_of_object() -> None:
    owners = OwnerLabels.of_list("team")
    jobset = next(kind for kind in RUN_KINDS.values() if kind.subject.plural == "jobsets")
    for kind, decoder in (
        ("Experiment", experiments.decoder_of(owners)),
        ("JobSet", run_kinds.decoder_of(jobset, owners)),
        ("RayJob", watched.object_decoder_of(WATCHED_KINDS["rayjobs"], owners)),
    ):
        for labels, expected in (({"team": "vision", "x": "y"}, "vision"), ({"team": "\n"}, "_other")):
            got = sure(decoder.event(event("ADDED", experiment(labels=labels) | {"kind": kind})).obj)
            assert got.owners == (("label_team", expected),)
            assert experiments.stripped(got).owners == got.owners
        unowned = sure(decoder.event(event("ADDED", experiment() | {"kind": kind})).obj)
        assert unowned.owners == ()
