"""Help, usage errors and exit statuses."""

import json
from pathlib import Path

import click
import pytest

from muster.cli.commands.contexts import MOST
from muster.cli.commands.local import local
from muster.cli.exits import status_of
from muster.cli.main import VERBS, main, muster
from muster.cli.reference import cli_reference
from muster.client.snapshot import snapshot_of
from muster.daemon.settings import Settings
from tests.cli.conftest import Call, stderr_of
from tests.client.localserver import MANIFEST

LEAVES = [*((verb,) for verb in VERBS if verb != "local"), *(("local", name) for name in local.verbs)]


@pytest.mark.parametrize("words", LEAVES, ids=" ".join)
def test_every_verb_has_help_with_an_example(call: Call, words: tuple[str, ...]) -> None:
    result = call(*words, "--help")
    assert result.exit_code == 0
    if words != ("version",):
        assert "Example" in result.stdout, "an example says more than a list of options"
    command: click.Command | None = muster
    for word in words:
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    assert all(option.help for option in command.params if isinstance(option, click.Option))


def test_the_overview_names_every_verb(call: Call) -> None:
    overview = call("--help").stdout
    assert all(f"  {verb} " in overview for verb in VERBS)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("conquer",), "No such command"),
        (("lint",), "Missing argument"),
        (("get", "--no-such-option"), "No such option"),
        (("get", "name", "-A"), "-A"),
        (("logs", "name", "-f", "--previous"), "--previous"),
        (("logs", "name", "--rank", "-1"), "-1 is not in the range"),
        (("wait", "name", "--for", "Stucc"), "did you mean Stuck"),
        (("wait", "name", "--timeout", "soon"), "soon"),
        (("local", "kill", "name", "--rank", "1", "--signal", "NONE"), "NONE"),
        (("local", "kill", "name"), "--rank"),
        (("goodput",), "--all"),
        (("goodput", "x", "--all"), "--all"),
        (("goodput", "x", "-A"), "--all"),
        (("goodput", "x", "--by", "operator"), "--by"),
        (("goodput", "-A", "--by", "operator", "--prometheus", "x"), "--by"),
        (("list", "--contexts", " , "), "names no context"),
        (("list", "--contexts", "eu", "--context", "us"), "exclude each other"),
        (("list", "--contexts", "eu", "--watch"), "follows one cluster"),
        (("top", "--contexts", ",".join(map(str, range(MOST + 1)))), f"at most {MOST}"),
        (("incidents", "--page", "http://a,http://b", "--contexts", "eu"), "--contexts"),
        (("nodes", "--page", "http://a,http://b", "--contexts", "eu"), "--contexts"),
        (("incidents", "--page", ",".join(f"http://{n}" for n in range(40))), "at most"),
        (("nodes", "--page", ",".join(f"http://{n}" for n in range(40))), "at most"),
    ],
)
def test_a_wrong_command_line_is_a_usage_error(call: Call, words: tuple[str, ...], why: str) -> None:
    error = stderr_of(call, 2, *words)
    assert "Error: " in error
    assert why in " ".join(error.split())


@pytest.mark.parametrize(
    ("words", "verb"), [("lsit ps", "list"), ("stop kill", "cancel"), ("status", "get"), ("describe", "explain")]
)
def test_a_mistyped_verb_or_the_word_of_another_program_is_answered_with_the_verb(
    call: Call, words: str, verb: str
) -> None:
    assert all(f"Did you mean {verb}?" in call(word).stderr for word in words.split())
    assert "`muster --help` lists the commands" in call("xyz").stderr


def test_without_a_local_cluster_nothing_is_killed(call: Call) -> None:
    assert "no local cluster runs" in stderr_of(call, 1, "local", "kill", "name", "--rank", "1")


def test_status_of_no_cluster(call: Call) -> None:
    assert call("local", "status").exit_code == 1
    assert call("local", "status", "-o", "json").stdout.startswith('{\n  "running": false')
    assert call("local", "down").exit_code == 0


def test_a_dry_run_of_submit_prints_what_is_asked_for(call: Call) -> None:
    def dry(*words: str) -> str:
        return str(call("submit", "-", "--name", "mine", "--dry-run", *words, input=MANIFEST).stdout)

    assert dry("-o", "name") == "mine\n"
    assert json.loads(dry("-o", "json", "-n", "team"))["metadata"] == {"name": "mine", "namespace": "team"}
    assert dry() == dry("-o", "yaml")


def test_a_manifest_that_cannot_run_is_not_run(call: Call) -> None:
    for words in (("run", "-"), ("submit", "-"), ("run", "nowhere.yaml")):
        result = call(*words, input="spec: {operator: slurm}")
        assert result.exit_code == 2
        assert "<stdin>:1:18: spec.operator" in result.stderr or "cannot be read" in result.stderr


@pytest.mark.parametrize(
    ("phase", "reason", "code"),
    [
        ("Succeeded", "AllMembersSucceeded", 0),
        ("Failed", "BackoffLimitExceeded", 1),
        ("Failed", "DeadlineExceeded", 3),
        ("Failed", "AssemblyDeadlineExceeded", 3),
        ("Failed", "PendingDeadlineExceeded", 3),
        ("Running", "", 1),
    ],
)
def test_outcomes(phase: str, reason: str, code: int) -> None:
    assert status_of(snapshot_of({"status": {"phase": phase, "reason": reason}}).outcome) == code


@pytest.mark.parametrize(
    ("raised", "code"), [(KeyboardInterrupt(), 130), (click.Abort(), 130), (click.UsageError("no"), 2)]
)
def test_the_process_exits_with_the_status_of_the_error(
    monkeypatch: pytest.MonkeyPatch, raised: BaseException, code: int
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise raised

    monkeypatch.setattr(muster, "main", fail)
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == code


def test_version(call: Call) -> None:
    assert call("version").stdout.startswith("muster ")
    assert '"api": "muster.dev/v1alpha1"' in call("version", "-o", "json").stdout


@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("muster lo", {"logs", "local"}),
        ("muster local u", {"up"}),
        ("muster logs --time", {"--timestamps"}),
        ("muster list --phase Re", {"restarting"}),
    ],
)
def test_a_shell_completes_verbs_options_and_values(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], line: str, completed: set[str]
) -> None:
    monkeypatch.setenv("_MUSTER_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    assert {entry.partition(",")[2] for entry in capsys.readouterr().out.split()} == completed


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_shell_of_the_docs_gets_its_completion(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], shell: str
) -> None:
    monkeypatch.setenv("_MUSTER_COMPLETE", f"{shell}_source")
    with pytest.raises(SystemExit) as ended:
        main([])
    assert ended.value.code == 0
    assert "_MUSTER_COMPLETE" in capsys.readouterr().out


@pytest.mark.parametrize(("chosen", "noted"), [((), 1), (("--operator", "pytorch"), 0), (("--operator", "jax"), 0)])
def test_a_torch_program_without_an_operator_is_noted_before_it_starts(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: tuple[str, ...], noted: int
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("import torch.distributed as dist\n")
    result = call("run", "-n", "1", *chosen, "--", "no-such-program", "train.py")
    assert (result.exit_code, "there is no program 'no-such-program'" in result.stderr) == (2, True)
    assert result.stderr.count("train.py uses torch.distributed and not jax: with --operator pytorch") == noted


PAGE = Path(__file__).parents[2] / "docs" / "cli.md"


@pytest.mark.drift
def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == cli_reference(), "run: python -m muster.cli.reference > docs/cli.md"


def test_every_verb_and_every_setting_has_its_line() -> None:
    page = cli_reference()
    for verb in (*VERBS, "local up", "local down", "local status", "local kill"):
        assert f"# muster {verb}\n" in page
    for setting in Settings.model_fields:
        assert f"\n- `--{setting.replace('_', '-')}`" in page
    assert "\b" not in page
