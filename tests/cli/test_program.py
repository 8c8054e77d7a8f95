"""A program without a manifest: its arguments, its name, and its experiment."""

import json
import subprocess

import click
import pytest

from muster.api.manifest.problems import ManifestError
from muster.cli.commands.run import run
from muster.cli.manifests import Manifest
from muster.cli.program import program_manifest, program_name, program_words, shell_line
from muster.local.node.containers.environment import arguments
from muster.reconcilers.render.pod import render_pod
from tests.cli.conftest import Call

WORDS = [
    "it's",
    'say "hello"',
    "two  spaces",
    "",
    "a\nb\tc",
    "$HOME",
    "$$",
    "$(MUSTER_RANK)",
    "$$(MUSTER_RANK)",
    "'$(MUSTER_RANK)'",
    "$é",
    "`id`",
    "*",
    "~",
    "\\",
    "--",
    "-x",
    "日本",
]


def test_every_argument_arrives_as_it_was_written() -> None:
    program = ["python3", "-c", "import json, sys; print(json.dumps(sys.argv[1:]))", *WORDS]
    plan = Manifest("", "", program_manifest(program, workers=2, restarts=0)).plan(name="mine")
    member = plan.member(1)
    assert member is not None
    (container,) = render_pod(plan, member, 0)["spec"]["containers"]
    environment = {entry["name"]: entry.get("value", "10.0.0.1") for entry in container["env"]}
    argv = arguments(container, environment)
    ran = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == WORDS


def test_the_shell_is_replaced_by_the_program() -> None:
    ran = subprocess.run(
        ["/bin/sh", "-c", f"echo $$; {shell_line(['python3', '-c', 'import os; print(os.getpid())'])}"],
        capture_output=True,
        text=True,
        check=True,
    )
    shell, program = ran.stdout.split()
    assert shell == program


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["python", "train.py", "--config", "other.py"], "train"),
        (["python3", "-u", "/home/me/My Train.py"], "my-train"),
        (["python", "-m", "team.models.fit", "--steps", "3"], "fit"),
        (["./run.sh"], "run"),
        (["python3", "-c", "print(1)"], "python3"),
        (["/usr/bin/env"], "env"),
        (["+"], ""),
    ],
)
def test_the_name_is_that_of_the_script(words: list[str], name: str) -> None:
    assert program_name(words) == name
    assert program_manifest(words, workers=1, restarts=0).name == (name or None)


def test_it_is_a_jax_experiment_of_equal_workers_that_share_the_machine() -> None:
    one, four = (program_manifest(["true"], workers=number, restarts=2).spec for number in (1, 4))
    assert (four.operator, four.restart_policy.backoff_limit) == ("jax", 2)
    assert [(group.name, group.members) for group in four.groups] == [("worker", 4)]
    whole, quarter = one.groups[0].resources, four.groups[0].resources
    assert whole.memory is not None
    assert quarter.memory is not None
    assert 3.9 < whole.memory / quarter.memory < 4.1
    assert whole.cpus >= 4 * quarter.cpus > 0


@pytest.mark.parametrize("word", ["a\x1b[31m", "x" * 70_000, "\udcff"])
def test_an_argument_that_a_manifest_cannot_hold_is_explained(call: Call, word: str) -> None:
    with pytest.raises(ManifestError) as refused:
        program_manifest(["echo", word], workers=1, restarts=0)
    assert str(refused.value).startswith("spec.command: ")


def test_everything_after_the_dashes_belongs_to_the_program() -> None:
    context = run.make_context("run", ["-n", "2", "--", "prog", "--name", "x", "--", "-n", "3"])
    assert program_words(context) == ["prog", "--name", "x", "--", "-n", "3"]
    assert (context.params["workers"], context.params["name"], context.params["file"]) == (2, None, None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-n", "2", "python", "train.py"], "come after --: muster run"),
        (["-n", "2", "python", "--steps", "3"], "come after --: muster run"),
        (["-n", "2", "train.yaml"], "go with a program after --"),
        (["--restarts", "1", "train.yaml"], "go with a program after --"),
        (["-n", "2", "--"], "no program after --"),
        (["--", "python", "train.py"], "how many workers"),
        (["-n", "2", "train.yaml", "--", "python"], "not both"),
        (["-n", "0", "--", "python"], "0 is not in the range"),
        ([], "muster run manifest.yaml"),
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_is_a_usage_error(call: Call, words: list[str], message: str) -> None:
    result = call("run", *words)
    assert (result.exit_code, result.stdout) == (click.UsageError.exit_code, "")
    assert message in result.stderr
