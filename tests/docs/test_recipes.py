"""The recipes of docs/development.md, each followed in a copy of the source: its steps are enough, and each is needed.

A recipe's steps are the only edits. What they are said to bring about is then asked of the copy, in another process.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.commands import ROOT

pytestmark = pytest.mark.slow

PAGE = (ROOT / "docs" / "development.md").read_text(encoding="utf-8")


ASKED = "fewer_lines or catalogue_marks or read_by_a_rule or on_a_dashboard or every_runbook or what_the_code_writes"
"""Tests of a metric and its alert in other folders."""


class Copy:
    """A copy of the source tree, to be edited."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name in ("muster", "deploy", "tools", "tests"):
            ignored = shutil.ignore_patterns("__pycache__", "golden", "traces", "corpus")
            shutil.copytree(ROOT / name, folder / name, ignore=ignored)
        shutil.copytree(ROOT / "docs", folder / "docs", ignore=shutil.ignore_patterns("images"))
        shutil.copy(ROOT / "pyproject.toml", folder)

    def add(self, path: str, text: str, *, before: str = "", instead: bool = False) -> None:
        """Write a new file, or put text in a file before the only place where ``before`` stands, or instead of it."""
        file = self.folder / path
        if not before:
            assert not file.exists(), path
            file.write_text(text, encoding="utf-8")
            return
        source = file.read_text(encoding="utf-8")
        assert source.count(before) == 1, f"{path}: {before!r} stands there {source.count(before)} times"
        file.write_text(source.replace(before, text + ("" if instead else before)), encoding="utf-8")

    def run(self, *arguments: str) -> str:
        """What Python prints with these arguments, in the copy."""
        environment = os.environ | {"PYTHONPATH": str(self.folder), "NO_COLOR": "1"}
        ran = subprocess.run(
            [sys.executable, *arguments], cwd=self.folder, env=environment, capture_output=True, text=True, check=False
        )
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def recipe(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def named(title: str, *files: str) -> None:
    """The recipe names these files, and they exist."""
    text = recipe(title)
    assert all(file in text for file in files), text
    assert all((ROOT / file).exists() for file in files if "NAME" not in file)


def test_a_field_of_the_status_is_one_declaration(copy: Copy) -> None:
    """The CRD, the record, its reset by a restart and its move with the wall clock follow from it."""
    named("Add a field of the status", "muster/api/status.py")
    field = (
        '    seen_at: Annotated[Time, Wire("When it was seen.", name="seenTime", life=Life.EPOCH, moves=True)] = 0.0\n'
    )
    copy.add("muster/api/status.py", field, before="    restarts: Annotated[Counter, Wire(")
    assert "seenTime:" in copy.run("-m", "muster.api.schema.crd")
    printed = copy.run(
        "-c",
        "from tests.builders import NOW, plan, record\n"
        "from muster.state.vocabulary import transitions, wall_time\n"
        "from muster.state.vocabulary.record import from_status, to_status\n"
        "from muster.state.vocabulary.record import Phase\n"
        "kept = record(phase=Phase.RUNNING, seen_at=NOW)\n"
        "print(from_status(to_status(kept)).seen_at == NOW)\n"
        "print(wall_time.moved(kept, 60.0).seen_at == NOW + 60.0)\n"
        "print(transitions.next_epoch(kept, Phase.RESTARTING, NOW).seen_at == 0.0)\n",
    )
    assert printed.split() == ["True", "True", "True"]


def test_a_metric_is_a_row_and_a_line_and_its_alert_is_a_row(copy: Copy) -> None:
    """With a panel and its link to the runbook; without them the tests of the copy fail."""
    named("Add a metric", "muster/metrics/rows", "muster/metrics/series.py", "deploy/grafana")
    named("Add a metric", "tests/deploy/prometheus/test_names.py")
    named("Add an alert", "deploy/prometheus", "muster/metrics/runbooks.py", "docs/runbooks", "deploy/grafana")
    row = 'GENERATION = Metric("muster_experiment_generation", "Generation of its spec.", ONE, lean=Lean.ALWAYS)\n'
    copy.add("muster/metrics/rows/experiment.py", row, before="COORDINATOR_UP = Metric(")
    line = "    text.add(rows.GENERATION, record.generation)\n"
    copy.add("muster/metrics/series.py", line, before="    text.add(rows.GANG_RESTARTS, record.gang_restarts)\n")
    assert r"- `muster_experiment_generation`\* (gauge): " in copy.run("-m", "tools.metrics_page")
    alert = (
        '    Alert("MusterEdited", "max by (namespace, experiment) (muster_experiment_generation) > @most",\n'
        '        Severity.WARNING, f"{ONE}: its spec was edited.", "Somebody edits it.", hold="4m",\n'
        '        thresholds=(Threshold("most", "9", "Edits that are usual."),)),\n'
    )
    copy.add("deploy/prometheus/experiments.py", alert, before='    Alert(\n        "MusterCoordinatorStuck",\n')
    copy.add("muster/metrics/runbooks.py", '"MusterEdited", ', before='"MusterDeadlineNear", ')
    copy.add("docs/runbooks/deadlines.md", "## MusterEdited\n\nEdited.\n\n", before="## MusterDeadlineNear\n")
    copy.run("-m", "deploy.prometheus")
    rules = (copy.folder / "deploy" / "prometheus" / "muster.rules.yaml").read_text(encoding="utf-8")
    assert "alert: MusterEdited" in rules
    assert "muster_experiment_generation) > 9" in rules
    folders = ("tests/metrics", "tests/deploy/prometheus/test_names.py", "tests/deploy/grafana/test_dashboards.py")
    tests = (*folders, "-k", ASKED)
    with pytest.raises(AssertionError, match="muster_experiment_generation"):
        copy.run("-m", "pytest", "-p", "no:cacheprovider", "-n0", *tests)
    panels = "deploy/grafana/experiment.py"
    row = 'Graph(54, 6, "Edits", {"edits": _max("generation")}, links="MusterEdited", about="Its edits so far."),'
    copy.add(panels, f"    {row}\n", before='    "Restarts and time",\n')
    copy.run("-m", "deploy.grafana")
    copy.run("-m", "pytest", "-p", "no:cacheprovider", "-n0", *tests)


def test_a_command_is_one_file_and_one_line(copy: Copy) -> None:
    named("Add a command", "muster/cli/commands/", "muster/cli/main.py")
    command = (
        '"""``muster hello``: greet."""\n\n'
        "import click\n\nfrom muster.cli.terminal.colours import data\n\n\n"
        '@click.command(epilog="\\b\\nExamples:\\n  muster hello\\n")\n'
        "def hello() -> None:\n"
        '    """Greet."""\n'
        '    data("hello")\n'
    )
    copy.add("muster/cli/commands/hello.py", command)
    verb = '    "hello": Verb("muster.cli.commands.hello:hello", "Greet."),\n'
    copy.add("muster/cli/main.py", verb, before='    "version": Verb(')
    program = "from muster.cli.main import main; main()"
    assert copy.run("-c", program, "hello") == "hello\n"
    assert "Greet." in copy.run("-c", program, "--help")
    assert "muster hello" in copy.run("-m", "muster.cli.reference")


def test_a_policy_is_one_file_and_its_place_in_the_order(copy: Copy) -> None:
    named("Add a policy", "muster/state/policies/NAME.py", "muster/state/decide/judge.py")
    policy = (
        '"""No gang of thirteen members runs."""\n\n'
        "from muster.state.facts.context import Context\nfrom muster.state.policies.verdicts import Fail\n\n\n"
        "def judge(context: Context) -> Fail | None:\n"
        '    """Fail a gang of thirteen."""\n'
        '    return Fail("Thirteen", "thirteen members") if context.plan.size == 13 else None\n'
    )
    copy.add("muster/state/policies/thirteen.py", policy)
    imported = "from muster.state.policies import thirteen\n"
    copy.add("muster/state/decide/judge.py", imported, before="from muster.state.policies.failures import")
    asked = "    if unlucky := thirteen.judge(context):\n        return unlucky\n"
    copy.add("muster/state/decide/judge.py", asked, before="    if over := deadline.judge(context, passed):\n")
    printed = copy.run(
        "-c",
        "from tests.builders import plan\n"
        "from tests.state.story import Story\n"
        "for size in (12, 13):\n"
        "    story = Story(plan(size=size))\n"
        "    story.look()\n"
        "    story.look()\n"
        "    print(story.kept.phase.value, story.kept.reason)\n",
    )
    assert [line.split()[0] for line in printed.splitlines()] == ["Pending", "Failed"]
    assert printed.splitlines()[1] == "Failed Thirteen"
