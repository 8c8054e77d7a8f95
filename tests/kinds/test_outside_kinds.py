"""A kind is one declaration: an operator and a watched kind, of one file each, are known wherever kinds are.

The two files in ``outside/`` are put beside the package's own in another process, and nothing else is. (PyTorchJob and
MPIJob, with which this was first tried, are in the tree now. TFJob takes their place.)
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from muster.cli.main import muster

OUTSIDE = Path(__file__).parent / "outside"


def seen() -> dict[str, Any]:
    """What a process knows that finds the files of ``outside``. It runs this file."""
    from deploy.helm.kinds import kinds_template
    from muster.api.manifest.changes import Share
    from muster.api.manifest.operators import injected_env
    from muster.api.schema.crd import custom_resource_definition
    from muster.cli.commands.run import run
    from muster.cli.program import program_manifest
    from muster.client.errors import OnlyWatched
    from muster.client.subjects import object_path, refuse_watched
    from muster.daemon.settings import Settings
    from muster.kinds.experiments import REGISTRY
    from muster.kinds.registry import WATCHED_KINDS
    from muster.metrics import catalogue
    from muster.metrics.catalogue import LABEL_SETS
    from tests.manifest_reference import manifest_reference
    from tests.watched_kinds_page import with_table

    def call(*words: str, given: str = "") -> list[Any]:
        done = CliRunner().invoke(muster, words, input=given)
        return [done.exit_code, done.output]

    starter = call("init", "--operator", "mpi", "-")[1]
    broken = starter.replace("    worker:", "    workers:")
    rule = "{name: again, action: RestartMember}"
    experiment = {
        "apiVersion": "muster.dev/v1alpha1",
        "kind": "Experiment",
        "metadata": {"name": "solve"},
        "spec": yaml.safe_load(starter)["spec"] | {"failurePolicy": {"rules": [yaml.safe_load(rule)]}},
    }
    template = {"spec": {"containers": [{"name": "main", "env": [{"name": "MPI_HOSTS", "value": "x"}]}]}}
    taken = experiment | {"spec": yaml.safe_load(starter)["spec"] | {"template": template}}
    policy = {"successPolicy": {"operator": "Any"}}
    succeeds = experiment | {"spec": yaml.safe_load(starter)["spec"] | policy}
    tfjob = WATCHED_KINDS["tfjobs"]
    program = run.make_context("run", ["-n", "2", "--operator", "mpi", "--", "solve"]).params["operator"]
    ran = program_manifest(["solve"], workers=2, restarts=0, share=Share(1, 1), operator=program).spec
    with pytest.raises(OnlyWatched) as watched:
        refuse_watched("tfjob/train", "read them")
    metadata = {"name": "train", "namespace": "team", "uid": "u"}
    spec = {"tfReplicaSpecs": {"Chief": {}, "Worker": {"replicas": 2}}}
    plan = tfjob.plan_of({"kind": "TFJob", "metadata": metadata, "spec": spec})
    return {
        "operators": list(REGISTRY),
        "watched": list(WATCHED_KINDS),
        "injected": sorted(injected_env("mpi")),
        "crd": custom_resource_definition()["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"],
        "reference": manifest_reference(),
        "page": with_table(""),
        "rights": kinds_template(),
        "settings": list(Settings(watch_kinds="tfjobs").watched),
        "outcomes": [list(each) for each in catalogue.OUTCOMES if each[0] == "mpi"],
        "budget": [len(catalogue.OUTCOMES), LABEL_SETS],
        "starter": starter,
        "lint": call("lint", "-", given=starter),
        "broken": call("lint", "-", given=broken),
        "collective": call("lint", "-", given=yaml.safe_dump(experiment)),
        "older": call("lint", "-", given=starter.replace("    launcher:", "    Launcher:")),
        "success": call("lint", "-", given=yaml.safe_dump(succeeds)),
        "taken": call("lint", "-", given=yaml.safe_dump(taken)),
        "render": call("render", "-", given=starter),
        "help": " ".join(call("run", "--help")[1].split()),
        "program": [ran.operator, *([group.name, group.members] for group in ran.groups)],
        "object": object_path("team", "tfjob/train"),
        "only watched": str(watched.value),
        "plan": [[group.name, group.first_rank, group.size] for group in plan.groups],
    }


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    code = (
        "import json, muster.kinds; "
        f"muster.kinds.__path__.append({str(OUTSIDE)!r}); "
        "from tests.kinds.test_outside_kinds import seen; print(json.dumps(seen()))"
    )
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("where", "has"),
    [
        ("operators", "mpi"),
        ("watched", "tfjobs"),
        ("settings", "tfjobs"),
        ("rights", "\ntfjobs: kubeflow.org\n"),
        ("starter", "# An mpi experiment"),
        ("reference", "## spec.types: mpi\n"),
        ("reference", "`spec.types.launcher`"),
        ("page", "| `tfjobs` | `tfjob/NAME` | all TFJobs | by type and replica index |"),
        ("outcomes", ["mpi", "Succeeded", "AllMembersSucceeded"]),
        ("help", "mpi (N workers and a launcher)"),
    ],
)
def test_registries_chart_pages_metrics_and_help_have_both(known: dict[str, Any], where: str, has: object) -> None:
    assert has in known[where]


@pytest.mark.parametrize(
    ("where", "is_"),
    [
        ("injected", ["MPI_HOSTS", "MPI_SIZE"]),
        ("program", ["mpi", ["launcher", 1], ["worker", 2]]),
        ("object", "/apis/kubeflow.org/v1/namespaces/team/tfjobs/train"),
        ("only watched", "tfjob objects are run by another controller: read them"),
        ("plan", [["chief", 0, 1], ["worker", 1, 2]]),
    ],
)
def test_programs_paths_and_plans_are_those_of_the_declarations(known: dict[str, Any], where: str, is_: object) -> None:
    assert known[where] == is_


def test_counters_of_the_operator_are_within_the_budget(known: dict[str, Any]) -> None:
    used, limit = known["budget"]
    assert used <= limit / 4


def test_the_crd_knows_the_operator_its_types_and_what_it_needs(known: dict[str, Any]) -> None:
    assert "mpi" in known["crd"]["properties"]["operator"]["enum"]
    types = known["crd"]["properties"]["types"]["properties"]
    assert "mpi: The member that runs mpirun." in types["launcher"]["description"]
    rule = known["crd"]["x-kubernetes-validations"][0]
    assert "has(self.types.launcher)" in rule["rule"]
    assert "operator mpi needs types.launcher, in lower case" in rule["messageExpression"]
    assert "operator jax has the type worker only" in rule["messageExpression"]
    assert "operator mpi has the types launcher and worker only" in rule["messageExpression"]


@pytest.mark.parametrize(
    ("manifest", "code", "words"),
    [
        ("lint", 0, "1 file OK\n"),
        ("broken", 2, "did you mean worker?"),
        ("collective", 2, "the members of operator mpi are one program"),
        ("success", 2, "an mpi experiment succeeds with its launcher"),
        ("taken", 2, "Muster sets MPI_HOSTS in every member"),
        ("older", 0, "Launcher is an older spelling, read as launcher"),
    ],
)
def test_lint_checks_what_the_declaration_states(known: dict[str, Any], manifest: str, code: int, words: str) -> None:
    ended, text = known[manifest]
    assert (ended, words in text) == (code, True), text


def test_render_gives_every_member_the_hosts_of_all(known: dict[str, Any]) -> None:
    code, text = known["render"]
    assert code == 0, text
    pods = [each for each in yaml.safe_load_all(text) if each and each["kind"] == "Pod"]
    hosts = [pod["spec"]["hostname"] for pod in pods]
    assert len(hosts) == 3
    for pod in pods:
        env = {each["name"]: each.get("value") for each in pod["spec"]["containers"][0]["env"]}
        assert [name.partition(".")[0] for name in env["MPI_HOSTS"].split(",")] == hosts
        assert env["MPI_SIZE"] == "3"


def test_without_the_files_nothing_knows_them() -> None:
    done = CliRunner().invoke(muster, ["init", "--operator", "mpi", "-"])
    assert done.exit_code == 2
