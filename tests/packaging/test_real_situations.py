"""Each situation of `make real` asserts the sentence of `muster get`, but for those in which Muster says none; and each
row of the cores is a situation."""

import ast
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.image.locks import ROOT
from tests.real.core import CORE
from tests.real.ground import VARIABLE
from tests.real_node.core import CORE as CORE_ON_NODES
from tests.real_node.ground import NODES_VARIABLE

SITUATIONS = Path(__file__).parents[1] / "real" / "situations"
ASSERTED = {"says", "is_stuck", "says_in_the_end", "shows", "muster"}
"""What asks for a sentence: methods of the site, and of its screen."""
ELSEWHERE = {
    "test_the_api_server_accepts_every_rendering_strictly": "renderings of the chart; no experiment",
    "test_view_edit_and_admin_reach_experiments": "what the API server's authorizer says",
    "test_every_cel_rule_refuses_through_kubectl_what_it_should": "what kubectl says",
    "test_kubectl_prints_and_explains_experiments": "what kubectl says",
    "test_a_template_cannot_be_added_changed_or_removed": "what the API server says",
    "test_the_most_accelerators_of_an_experiment_are_counted_over_all_forms_of_types": "what the API server says",
    "test_pod_security_admits_what_the_page_says": "pods of no experiment, not persisted",
    "test_pages_and_metrics_are_for_readers_with_the_rights": "what musterd's page answers",
    "test_stacks_need_the_right_to_execute_commands_which_edit_has_and_view_has_not": "what `muster stacks` says",
    "test_a_port_of_a_member_is_carried_through_the_api_server": "what `muster port-forward` says",
    "test_ports_need_the_right_to_forward_them_which_view_has_not": "what `muster port-forward` says",
    "test_a_person_who_watches_sees_the_server_come_back": "what the open `muster get --watch` says of itself",
    "test_the_page_gives_a_bundle_of_what_its_reader_may_read": "the archive holds what muster explain prints",
    "test_a_cluster_that_is_there_is_played_on_and_our_nodes_are_removed": "asserted by the situations played there",
}
"""Why a situation asserts none."""

pytestmark = pytest.mark.drift


def situations() -> Iterator[ast.AsyncFunctionDef]:
    """Each test of the folder."""
    for file in sorted(SITUATIONS.glob("test_*.py")):
        tree = ast.parse(file.read_text())
        yield from (each for each in tree.body if isinstance(each, ast.AsyncFunctionDef) and each.name[:5] == "test_")


def asserts(situation: ast.AsyncFunctionDef) -> bool:
    """It calls one of those of ``here`` or ``here.screen``; ``here.row.says`` only fills the table."""
    called = (each.func for each in ast.walk(situation) if isinstance(each, ast.Call))
    return any(
        isinstance(each, ast.Attribute) and each.attr in ASSERTED and ast.unparse(each.value) in ("here", "here.screen")
        for each in called
    )


def test_every_situation_asserts_what_muster_get_shows_or_says_why_not() -> None:
    named = {each.name: asserts(each) for each in situations()}
    assert len(named) > 80
    silent = {name for name, does in named.items() if not does}
    assert silent == set(ELSEWHERE), "use here.says, here.is_stuck or here.shows"


def test_every_row_of_the_cores_is_a_situation_that_the_mark_chooses() -> None:
    cores = {"tests/real": CORE, "tests/real_node": CORE_ON_NODES}
    command = [sys.executable, "-m", "pytest", "-n", "0", "--collect-only", "-m", "core", *cores]
    environment = {**os.environ, VARIABLE: os.devnull, NODES_VARIABLE: os.devnull}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    chosen = {line for line in done.stdout.splitlines() if "::" in line}
    rows = {f"{tests}/situations/{name}" for tests, core in cores.items() for names in core.values() for name in names}
    assert chosen == rows, done.stdout[-2000:]
