"""What a command imports makes it slow: each imports no more than it needs. Modules are counted, not seconds."""

import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

HEAVY = frozenset(
    ("aiohttp", "asyncio", "grpc", "kubernetes_asyncio", "msgspec", "pydantic", "re2", "rich", "structlog", "yaml")
)
PROGRAM = """
import sys
from muster.entry import muster
sys.argv = ["muster", *sys.argv[1:]]
try:
    muster()
finally:
    print(" ".join(sys.modules), file=sys.stderr)
"""


def imported(words: Sequence[str], **environment: str) -> frozenset[str]:
    """The modules that the command has imported when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "HOME": "/nonexistent", "MUSTER_HOME": "/nonexistent", **environment},
    )
    return frozenset(done.stderr.rsplit("\n", 2)[-2].split())


def completing(line: str) -> dict[str, str]:
    """What a shell sets for a TAB at the end of ``line``."""
    return {"_MUSTER_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("conquer",), ("local", "--help")], ids=" ".join)
def test_help_imports_no_verb_and_no_library_but_click(words: tuple[str, ...]) -> None:
    found = imported(words)
    assert "click" in found
    assert not found & HEAVY
    assert [each for each in found if each.startswith("muster.cli.commands.")] in ([], ["muster.cli.commands.local"])


@pytest.mark.parametrize("line", ["muster ge", "muster local ", "muster --"])
def test_completion_of_verbs_imports_no_verb(line: str) -> None:
    assert not imported((), **completing(line)) & HEAVY


def test_the_version_is_printed_without_the_client() -> None:
    assert not imported(("version",)) & {"aiohttp", "pydantic", "rich", "muster.client"}


@pytest.mark.parametrize("verb", ["get", "list", "wait", "cancel", "logs"])
def test_help_of_a_verb_opens_no_connection(verb: str) -> None:
    assert not imported((verb, "--help")) & {"aiohttp", "kubernetes_asyncio", "pydantic", "rich"}


@pytest.mark.parametrize("words", [("get", "train"), ("list",), ("wait", "train"), ("cancel", "train")], ids=" ".join)
def test_an_experiment_is_shown_without_the_models_of_manifests_and_the_rules_of_decisions(
    words: tuple[str, ...],
) -> None:
    found = imported((*words, "--kubeconfig", "/nonexistent"))
    assert "aiohttp" in found
    assert not found & {"pydantic", "rich", "muster.state.vocabulary.plan", "muster.api.manifest.groups", "grpc"}


def test_a_manifest_is_checked_without_the_client() -> None:
    found = imported(("lint", "examples/jax/manifest.yaml"))
    assert "muster.api.manifest.load" in found
    assert not found & {"aiohttp", "rich", "kubernetes_asyncio", "muster.client.client", "muster.local.node"}


def test_a_manifest_is_checked_by_the_models_of_its_operator_and_no_others() -> None:
    found = imported(("lint", "examples/jax/manifest.yaml"))
    assert "muster.api.manifest.types.collective" in found
    types, template = "muster.api.manifest.types", "muster.api.manifest.template"
    assert not found & {f"{types}.ray", f"{types}.jobset", f"{template}.pod", "pydantic.root_model", "re2"}
