"""A file with several documents, of which one is what runs."""

import time

import pytest
import yaml

from muster.api.manifest.problems import ManifestError
from muster.kinds.manifests.conversion import convert
from muster.kinds.manifests.documents import MOST, read_one
from muster.kinds.manifests.load import load_any

CONFIG = """apiVersion: v1
kind: ConfigMap
metadata: {name: script}
data:
  train.py: |
    print("--- no mark")
    ---
"""
MANIFEST = """kind: AIchorManifest
apiVersion: 0.2.3
spec:
  operator: jax
  image: example.org/t:1
  command: "true"
  types: {worker: {count: 1, resources: {cpus: 1, ramRatio: 2}}}
"""
ANOTHER = MANIFEST.replace("spec:", "name: other\nspec:")
CREATE = "create it before, with kubectl, where the run needs it"


def refused(text: str) -> list[tuple[int, str]]:
    with pytest.raises(ManifestError) as error:
        load_any(text, filename="f.yaml")
    return [(each.line, each.message) for each in error.value.problems]


@pytest.mark.parametrize(
    "text", [f"{CONFIG}---\n{MANIFEST}", f"---\n{MANIFEST}--- # rest\n{CONFIG}", f"{MANIFEST}---\n"]
)
def test_one_manifest_among_others_is_read_and_the_others_are_named(text: str) -> None:
    loaded = load_any(text, filename="f.yaml")
    assert loaded.kind == "AIchorManifest"
    others = [(each.message, each.hint) for each in loaded.warnings]
    assert others == ([("the ConfigMap script is not created with the run", CREATE)] if "ConfigMap" in text else [])


def test_lines_and_columns_are_those_of_the_file() -> None:
    broken = MANIFEST.replace("count: 1", "count: many")
    (line, message), *_ = refused(f"{CONFIG}---\n{broken}")
    assert (line, "many" in message or "whole number" in message) == (CONFIG.count("\n") + 1 + 7, True), message
    beside = MANIFEST.replace("kind: AIchorManifest\n", "").replace("apiVersion: 0.2.3", "--- {apiVersion: 0.2.3")
    assert refused(f"{CONFIG}{beside}")[0][0] >= CONFIG.count("\n") + 1


def test_two_that_would_run_are_both_named_with_their_lines() -> None:
    second = MANIFEST.count("\n") + 1
    assert refused(f"{MANIFEST}---\n{ANOTHER}---\n{CONFIG}") == [
        (1, "the AIchorManifest is one of 2 that would run"),
        (second + 1, "the AIchorManifest is one of 2 that would run"),
    ]


def test_without_one_that_runs_all_are_named() -> None:
    second = CONFIG.count("\n") + 2
    (found,) = refused(f"{CONFIG}---\n{CONFIG}")
    said = f"ConfigMap script (line 1), ConfigMap script (line {second})"
    assert found == (1, f"none of its documents is run: {said}")


def test_the_items_of_a_list_are_documents() -> None:
    items = [yaml.safe_load(CONFIG), yaml.safe_load(MANIFEST)]
    whole = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": items})
    loaded = load_any(whole, filename="f.yaml")
    assert [each.message for each in loaded.warnings] == ["the ConfigMap script is not created with the run"]
    assert "none of its documents is run" in refused(whole.replace("AIchorManifest", "Service"))[0][1]


def test_a_document_that_cannot_be_read_is_refused_and_not_passed_over() -> None:
    """It may be what was to run."""
    assert refused(f"{MANIFEST}---\nkind: [\n")
    assert refused(f"{MANIFEST}---\na: &x 1\n") == [(MANIFEST.count("\n") + 2, "a YAML anchor (&x)")]


def test_convert_names_the_others_too() -> None:
    found = convert(f"{CONFIG}---\n{MANIFEST}", filename="f.yaml")
    assert [each.message for each in found.notes] == ["the ConfigMap script is not created with the run"]


@pytest.mark.parametrize("text", ["---\n" * 60_000, "--- a\n" * 40_000, "---\n#\n" * 30_000, "--- {}\n" * (MOST + 1)])
def test_many_documents_cost_little(text: str) -> None:
    begun = time.process_time()
    with pytest.raises(ManifestError):
        load_any(text, filename="f.yaml")
    assert time.process_time() - begun < 2.0


def test_a_file_of_one_document_is_read_as_it_is() -> None:
    assert read_one(MANIFEST, filename="f.yaml").others == ()
    assert refused("") == [(1, "the file is empty")]
