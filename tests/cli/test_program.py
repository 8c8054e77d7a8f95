"""A program without a manifest: its arguments, its name, and its experiment."""

import json
import subprocess
from collections.abc import Sequence
from typing import Any

import click
import pytest

from muster.api.manifest.changes import Share
from muster.api.manifest.problems import ManifestError
from muster.cli.commands.run import run
from muster.cli.manifests import Manifest
from muster.cli.program import OperatorName, program_manifest, program_name, program_words, shell_line
from muster.local.node.sources.environment import arguments, expand
from muster.reconcilers.render.pod import render_pod
from tests.builders import sure
from tests.cli.conftest import Call, stderr_of

SHARE = Share(cpus=0.5, memory=2.0)
WORDS = ["it's", 'say "hello"', "two  spaces", "", "a\nb\tc", "$HOME", "$$", "$(MUSTER_RANK)", "$$(MUSTER_RANK)"]
WORDS += ["'$(MUSTER_RANK)'", "$é", "`id`", "*", "~", "\\", "--", "-x", "日本"]


def pod_spec(rank: int, program: Sequence[str] = ("true",), **options: Any) -> dict[str, Any]:
    """The spec of the pod of that rank, of two."""
    loaded = program_manifest(program, workers=2, restarts=0, share=SHARE, **options)
    plan = Manifest("", "", loaded).plan(name="mine")
    spec: dict[str, Any] = render_pod(plan, sure(plan.member(rank)), 0)["spec"]
    return spec


def test_every_argument_arrives_as_it_was_written() -> None:
    program = ["python3", "-c", "import json, sys; print(json.dumps(sys.argv[1:]))", *WORDS]
    (container,) = pod_spec(1, program)["containers"]
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
    assert program_manifest(words, workers=1, restarts=0, share=SHARE).name == (name or None)


def test_it_is_a_jax_experiment_of_equal_workers_unless_another_operator_is_named() -> None:
    spec = program_manifest(["true"], workers=4, restarts=2, share=SHARE).spec
    assert (spec.operator, spec.restart_policy.backoff_limit) == ("jax", 2)
    assert [(group.name, group.members) for group in spec.groups] == [("worker", 4)]
    assert (spec.groups[0].resources.cpus, spec.groups[0].resources.memory) == (SHARE.cpus, SHARE.memory)


def test_its_grace_is_short_because_jax_takes_a_signal_to_end_for_a_notice() -> None:
    assert pod_spec(0)["terminationGracePeriodSeconds"] == 3


def environment_of(operator: str, **options: Any) -> list[dict[str, str]]:
    """The variables of both workers, as the node agent expands them."""
    found = []
    for rank in (0, 1):
        (container,) = pod_spec(rank, operator=operator, **options)["containers"]
        known: dict[str, str] = {}
        for entry in container["env"]:
            known[entry["name"]] = expand(entry.get("value", "10.0.0.1"), known)
        found.append(known)
    return found


@pytest.mark.parametrize("operator", ["jax", "pytorch"])
def test_the_variables_of_torchrun_are_set_where_the_workers_meet_at_rank_0(operator: str) -> None:
    for rank, known in enumerate(environment_of(operator)):
        assert (known["RANK"], known["WORLD_SIZE"]) == (str(rank), "2")
        assert (known["LOCAL_RANK"], known["LOCAL_WORLD_SIZE"]) == ("0", "1")
        assert known["MASTER_ADDR"] == known.get("JAXOPERATOR_COORDINATOR_HOST", known["MASTER_ADDR"])
        assert "$" not in known["MASTER_ADDR"]
        assert known["MASTER_PORT"].isdigit()


def test_a_variable_that_the_caller_sets_wins_over_that_of_torchrun() -> None:
    assert "MASTER_PORT" not in environment_of("jax", given={"MASTER_PORT": "29500"})[0]


def test_xgboost_gets_the_variables_of_its_tracker() -> None:
    _, second = environment_of("xgboost")
    assert (second["DMLC_TASK_ID"], second["DMLC_NUM_WORKER"]) == ("1", "2")
    assert second["DMLC_TRACKER_URI"] == second["MASTER_ADDR"]


@pytest.mark.parametrize(("nodes", "groups"), [(1, ["head", "submitter"]), (3, ["head", "worker", "submitter"])])
def test_a_ray_program_is_submitted_to_a_head_with_one_worker_fewer_than_nodes(nodes: int, groups: list[str]) -> None:
    loaded = program_manifest(["python3", "x.py"], workers=nodes, restarts=0, share=SHARE, operator="ray")
    plan = Manifest("", "", loaded).plan(name="mine")
    assert [group.name for group in plan.groups] == groups
    assert plan.size == nodes + 1
    assert plan.groups[-1].pod.argv[-1] == "exec python3 x.py"


@pytest.mark.parametrize("word", ["a\x1b[31m", "x" * 70_000, "\udcff"])
def test_an_argument_that_a_manifest_cannot_hold_is_explained(call: Call, word: str) -> None:
    with pytest.raises(ManifestError) as refused:
        program_manifest(["echo", word], workers=1, restarts=0, share=SHARE)
    assert str(refused.value).startswith("spec.command: ")


def test_everything_after_the_dashes_belongs_to_the_program() -> None:
    context = run.make_context("run", ["-n", "2", "--", "prog", "--name", "x", "--", "-n", "3"])
    assert program_words(context) == ["prog", "--name", "x", "--", "-n", "3"]
    assert (context.params["workers"], context.params["name"], context.params["file"]) == (2, None, None)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["-n", "2", "sh", "train.sh"], "did you mean: muster run -n 2 -- sh train.sh"),
        (["-n", "2", "sh", "--steps", "3"], "did you mean: muster run -n 2 -- sh --steps 3"),
        (["train.py"], "did you mean: muster run -n 1 -- python3 train.py"),
        (["sh", "train.sh"], "did you mean: muster run -n 1 -- sh train.sh"),
        (["--name", "x", "train.py", "--name"], "did you mean: muster run --name x -n 1 -- python3 train.py --name"),
        (["-n", "2", "train.yaml"], "-n goes with a program after --"),
        (["--restarts", "1", "train.yaml"], "--restarts goes with a program after --"),
        (["--operator", "ray", "train.yaml"], "--operator goes with a program after --"),
        (["-n", "2", "--"], "no program after --"),
        (["--", "python", "train.py"], "how many workers"),
        (["-n", "2", "train.yaml", "--", "python"], "not both"),
        (["-n", "0", "--", "python"], "0 is not in the range"),
        ([], "muster run manifest.yaml"),
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_is_a_usage_error(call: Call, words: list[str], message: str) -> None:
    assert message in stderr_of(call, click.UsageError.exit_code, "run", *words)


@pytest.mark.parametrize(("of_manifests", "word", "meant"), [(False, "kuberay", "ray"), (True, "ray", "kuberay")])
def test_the_operator_of_ray_has_one_name_in_manifests_and_another_here_and_each_place_takes_both(
    of_manifests: bool, word: str, meant: str
) -> None:
    choice = OperatorName(of_manifests=of_manifests)
    assert choice.convert(word, None, None) == choice.convert(meant, None, None) == meant
    assert word not in choice.choices
