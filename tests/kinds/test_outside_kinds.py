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
        "help": call("run", "--help")[1],
        "program": [ran.operator, *([group.name, group.members] for group in ran.groups)],
        "object": object_path("team", "tfjob/train"),
        "only watched": str(watched.value),
        "plan": [[group.name, group.first_rank, group.size] for group in plan.groups],
    }


@pytest.fixture(scope="module")
def known() -> dict[str, Any]:
    """What a process of its own knows."""
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


def test_the_registries_find_both(known: dict[str, Any]) -> None:
    assert "mpi" in known["operators"]
    assert "tfjobs" in known["watched"]
    assert known["settings"] == ["tfjobs"]


def test_the_crd_knows_the_operator_its_types_and_what_it_needs(known: dict[str, Any]) -> None:
    assert "mpi" in known["crd"]["properties"]["operator"]["enum"]
    types = known["crd"]["properties"]["types"]["properties"]
    assert "mpi: The member that runs mpirun." in types["launcher"]["description"]
    rule = known["crd"]["x-kubernetes-validations"][0]
    assert "has(self.types.launcher)" in rule["rule"]
    assert "operator mpi needs types.launcher, in lower case" in rule["messageExpression"]
    assert "operator jax has the type worker only" in rule["messageExpression"]
    assert "operator mpi has the types launcher and worker only" in rule["messageExpression"]


def test_the_chart_grants_the_right_to_read_the_watched_kind(known: dict[str, Any]) -> None:
    assert "\ntfjobs: kubeflow.org\n" in known["rights"]


def test_init_writes_a_manifest_that_lint_accepts(known: dict[str, Any]) -> None:
    assert known["starter"].startswith("# An mpi experiment")
    assert known["lint"] == [0, "1 file OK\n"]


def test_lint_checks_the_types_and_the_rules_that_the_declaration_states(known: dict[str, Any]) -> None:
    code, said = known["broken"]
    assert (code, "did you mean worker?" in said) == (2, True), said
    code, said = known["collective"]
    assert (code, "the members of operator mpi are one program" in said) == (2, True), said
    code, said = known["success"]
    assert (code, "an mpi experiment succeeds with its launcher" in said) == (2, True), said
    code, said = known["older"]
    assert (code, "Launcher is an older spelling, read as launcher" in said) == (0, True), said


def test_a_template_cannot_set_the_variables_that_follow_from_its_environment(known: dict[str, Any]) -> None:
    assert known["injected"] == ["MPI_HOSTS", "MPI_SIZE"]
    code, said = known["taken"]
    assert (code, "Muster sets MPI_HOSTS in every member" in said) == (2, True), said


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


def test_the_pages_have_both(known: dict[str, Any]) -> None:
    assert "## spec.types: mpi\n" in known["reference"]
    assert "`spec.types.launcher`" in known["reference"]
    assert "| `tfjobs` | `tfjob/NAME` | all TFJobs | by type and replica index |" in known["page"]


def test_counters_of_the_operator_begin_at_0_within_the_budget(known: dict[str, Any]) -> None:
    assert ["mpi", "Succeeded", "AllMembersSucceeded"] in known["outcomes"]
    used, limit = known["budget"]
    assert used <= limit / 4


def test_run_offers_the_operator_and_makes_the_experiment_that_its_declaration_states(known: dict[str, Any]) -> None:
    assert "mpi (N workers and a launcher)" in " ".join(known["help"].split())
    assert known["program"] == ["mpi", ["launcher", 1], ["worker", 2]]


def test_the_client_names_objects_of_the_watched_kind_and_does_not_run_them(known: dict[str, Any]) -> None:
    assert known["object"] == "/apis/kubeflow.org/v1/namespaces/team/tfjobs/train"
    assert known["only watched"] == "tfjob objects are run by another controller: read them"


def test_an_object_of_the_watched_kind_is_planned(known: dict[str, Any]) -> None:
    assert known["plan"] == [["chief", 0, 1], ["worker", 1, 2]]


def test_without_the_files_nothing_knows_them() -> None:
    done = CliRunner().invoke(muster, ["init", "--operator", "mpi", "-"])
    assert done.exit_code == 2
