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
    known = {**os.environ, "HOME": "/nonexistent", "MUSTER_HOME": "/nonexistent", **environment}
    command = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=known)
    return frozenset(done.stderr.rsplit("\n", 2)[-2].split())


@pytest.mark.parametrize("words", [("--help",), ("--version",), ("conquer",), ("local", "--help")], ids=" ".join)
def test_help_imports_no_verb_and_no_library_but_click(words: tuple[str, ...]) -> None:
    found = imported(words)
    assert "click" in found
    assert not found & HEAVY
    assert [each for each in found if each.startswith("muster.cli.commands.")] in ([], ["muster.cli.commands.local"])


@pytest.mark.parametrize("line", ["muster ge", "muster local ", "muster --"])
def test_completion_of_verbs_imports_no_verb(line: str) -> None:
    completes = {"_MUSTER_COMPLETE": "bash_complete", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    assert not imported((), **completes) & HEAVY


MODELS = "muster.api.manifest"
WITHOUT_A_CLUSTER = {"aiohttp", "kubernetes_asyncio", "pydantic", "rich"}
OF_A_SHOWN_RUN = {"pydantic", "rich", "muster.state.vocabulary.plan", f"{MODELS}.groups", "grpc"}
OF_A_MANIFEST = {"aiohttp", "rich", "kubernetes_asyncio", "muster.client.client", "muster.local.node"}
OF_OTHER_OPERATORS = {f"{MODELS}.types.ray", f"{MODELS}.types.jobset", f"{MODELS}.template.pod"}
OF_OTHER_OPERATORS |= {"pydantic.root_model", "re2"}


@pytest.mark.parametrize(
    ("line", "needs", "spares"),
    [
        ("version", "click", {*WITHOUT_A_CLUSTER, "muster.client"}),
        *((f"{verb} --help", "click", WITHOUT_A_CLUSTER) for verb in ("get", "list", "wait", "cancel", "logs")),
        *(
            (f"{words} --kubeconfig /nonexistent", "aiohttp", OF_A_SHOWN_RUN)
            for words in ("get train", "list", "wait train", "cancel train")
        ),
        ("lint examples/jax/manifest.yaml", f"{MODELS}.types.collective", OF_A_MANIFEST | OF_OTHER_OPERATORS),
    ],
)
def test_a_verb_imports_what_it_needs_and_no_more(line: str, needs: str, spares: set[str]) -> None:
    found = imported(line.split())
    assert needs in found
    assert not found & spares
