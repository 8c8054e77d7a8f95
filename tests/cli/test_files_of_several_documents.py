"""What the commands print of a file with several documents, and of a batch script."""

from tests.cli.conftest import Call
from tests.kinds.manifests.test_documents import CONFIG, MANIFEST
from tests.kinds.manifests.test_slurm import SCRIPT


def test_lint_and_a_dry_run_name_the_others(call: Call) -> None:
    text = f"{CONFIG}---\n{MANIFEST}"
    linted = call("lint", "-", input=text)
    assert linted.exit_code == 0
    assert "warning: the ConfigMap script is not created with the run" in linted.stdout
    dry = call("submit", "-", "--dry-run", input=text)
    assert dry.exit_code == 0
    assert "the ConfigMap script is not created with the run" in dry.stderr


def test_lint_submit_and_run_print_it(call: Call) -> None:
    for words in (("lint", "-"), ("submit", "-", "--dry-run"), ("run", "-")):
        done = call(*words, input=SCRIPT)
        assert done.exit_code == 2
        assert "a batch script of Slurm, not a manifest" in done.stdout + done.stderr
        assert "      count: 2 # the tasks of the script, one member each" in done.stderr
