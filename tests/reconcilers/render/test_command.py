"""The line of a member runs as it was written, and its program receives SIGTERM."""

import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from muster.cli.program import shell_line
from muster.reconcilers.render.command import FORWARDER, command_of, with_exec


def kubelet(line: str, env: dict[str, str]) -> str:
    """Expand one argument as the kubelet does, after its description; it works on bytes."""
    text, out, at = line.encode(), b"", 0
    while at < len(text):
        following = text[at + 1 : at + 2]
        if text[at : at + 1] != b"$" or not following:
            out, at = out + text[at : at + 1], at + 1
        elif following == b"$":
            out, at = out + b"$", at + 2
        elif following == b"(" and (end := text.find(b")", at)) != -1:
            name = text[at + 2 : end].decode()
            out, at = out + env.get(name, f"$({name})").encode(), end + 1
        else:
            out, at = out + b"$" + chr(following[0]).encode(), at + 2
    return out.decode()


def started(line: str) -> list[str]:
    """Return the arguments of the container's first process."""
    return [kubelet(argument, {}) for argument in command_of(line)]


def run(arguments: list[str], place: Path) -> tuple[int, str]:
    """Return exit status and output in a new folder of that name, because a redirection makes files."""
    place.mkdir()
    try:
        done = subprocess.run(
            arguments,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            env={"A": "a b", "PATH": "/usr/bin:/bin"},
            cwd=place,
        )
    finally:
        shutil.rmtree(place)
    return done.returncode, done.stdout


# --- what the kubelet must not change ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "line",
    [
        "echo $$ > pid; kill -TERM $$",
        'echo "$(date)" $(echo $$) $HOME ${HOME} $((1 + 1))',
        "echo 5$€ $é",
        "odd $$$ and open $( echo",
        "a 'quoted' \"line\" \\ with `backticks`\nand a second line",
        "$",
    ],
)
def test_the_shell_sees_the_line_as_written(line: str) -> None:
    assert started(line)[-1] == line
    assert started(line)[:-1] in (["/bin/sh", "-c"], ["/bin/sh", "-c", FORWARDER, "/bin/sh"])


def test_injected_variables_are_expanded_as_kubernetes_documents() -> None:
    said = command_of("train --at $(ADDRESS) --pid $$$(RANK)")[-1]
    assert kubelet(said, {"ADDRESS": "w-0:1234", "RANK": "3"}) == "train --at w-0:1234 --pid $$3"


@given(st.text(alphabet="$()Aé\n ", max_size=12))
def test_no_line_is_changed_by_the_kubelet(line: str) -> None:
    assert started(line)[-1] in (line, with_exec(line))


# --- where the shell becomes the program -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "becomes"),
    [
        ("python3 -u main.py", "exec python3 -u main.py"),
        ("  /opt/venv/bin/torchrun --n 2 $A ${B} \"$C\" 'd e' *.txt", "  exec /opt/venv/bin/torchrun "),
        ("FOO='a b' BAR=1 python3 main.py", "FOO='a b' BAR=1 exec python3 main.py"),
        ("cd /app && python3 main.py", "cd /app && exec python3 main.py"),
        ("set -e\ncd /app\nexport A=$B; python3 main.py \\\n  --n 3\n", "set -e\ncd /app\nexport A=$B; exec python3 "),
        (". venv/bin/activate && python3 main.py >> log 2>&1", ". venv/bin/activate && exec python3 main.py >> log"),
        ("cd /app; exec python3 main.py", "cd /app; exec python3 main.py"),
        ("echo done", "echo done"),
        ("", ""),
    ],
)  # fmt: skip
def test_the_program_takes_the_place_of_the_shell(line: str, becomes: str) -> None:
    found = with_exec(line)
    assert found is not None
    assert found.startswith(becomes)
    assert found.replace("exec ", "") == line.replace("exec ", "")


@pytest.mark.parametrize(
    "line",
    [
        "python3 a.py && python3 b.py",
        "python3 a.py; echo $?",
        "python3 a.py | tee log",
        "python3 a.py || true",
        "python3 a.py & python3 b.py & wait",
        "python3 $(cat args)",
        'python3 "$(cat "a b" && echo)"',
        'python3 "${A:-"b && c"}"',
        "python3 `cat args`",
        "(cd /app && python3 a.py)",
        "if true; then python3 a.py; fi",
        "if python3 a.py",
        "trap 'rm -r x' EXIT; python3 a.py",
        "cat <<END\nx\nEND",
        "conda activate x && python3 a.py",
        "$PYTHON a.py",
        "'python 3' a.py",
        "bash run.sh",
        "exec ./run.sh",
        "./run.sh --x",
        ". ./run.sh",
        "time python3 a.py",
        "python3 a.py 'open",
        "python3 a.py # a comment",
        "a &&\n",
        "python3\x01 a.py",
    ],
)
def test_where_that_may_change_something_a_shell_passes_signals_on(line: str) -> None:
    assert with_exec(line) is None


def test_a_program_after_two_dashes_takes_the_place_of_the_shell() -> None:
    line = shell_line(["python3", "a.py", "a  b", "$(MUSTER_RANK)", "it's", "&&"])
    assert with_exec(line) == line


WORDS = st.sampled_from(
    ["true", "false", "cd", "/", "echo", "env", "printf", "%s", "cat", "sh", "-c", "A=1", "export", "exit", "3", "$A",
     "${A}", '"$A"', "'$A'", '"a && b"', "'; echo'", "\\;", "&&", "||", ";", "|", "&", "\n", "(", ")", "{", "}", "!",
     "if", "then", "fi", ">", "/dev/null", "2>&1", "#", "test", "-f", "$(", "`", "exec", "wait", "\\\n", "'", '"']
)  # fmt: skip


@example("/ \n ;")  # a shell reads line by line: it runs the first one before it rejects the second
@given(st.lists(WORDS, max_size=9).map(" ".join))
def test_any_line_prints_and_ends_as_in_a_shell(line: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        code, printed = run(["/bin/sh", "-c", line], Path(folder, "place"))
        again, reprinted = run(started(line), Path(folder, "place"))
    # Of a pipe or &, the order is open. A program that is not found is "exec: NAME: not found".
    assert sorted(reprinted.replace("exec: ", "").splitlines()) == sorted(printed.replace("exec: ", "").splitlines())
    assert again == code


# --- signals -----------------------------------------------------------------------------------------------------

SAVE = """
import signal, sys
def save(*_):
    print("saved", flush=True)
    sys.exit(int(sys.argv[1]))
signal.signal(signal.SIGTERM, save)
print("up", flush=True)
while True:
    signal.pause()
"""
LINES = {
    "simple": "{save} 0",
    "prepared": "cd / && A=1 {save} 5",
    "list": "true | cat; {save} 0; echo after",
    "pipe": "{save} 0 | tee /dev/null",
    "substitution": "{save} $(echo 0)",
    "group": "(cd /; {save} 5) || echo failed",
    "background": "{save} 0 & wait $!",
    "script": "{folder}/run.sh",
    "a shell of its own": "bash -c 'cd / && {save} 0 && true'",
    "a script that traps": "{folder}/trap.sh",
}
SHELLS = [name for name in ("dash", "bash", "busybox") if shutil.which(name)]
NAMESPACE = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]


def refusal() -> str:
    """Return why this machine makes no pid namespace; empty if it does."""
    try:
        done = subprocess.run([*NAMESPACE, "true"], capture_output=True, text=True, check=False)
    except OSError as error:
        return f"unshare cannot be run: {error}"
    return done.stderr.strip() if done.returncode else ""


REFUSAL = refusal()


@pytest.fixture(params=[False, True], ids=["process", "process 1"])
def namespace(request: pytest.FixtureRequest) -> list[str]:
    if request.param and REFUSAL:
        pytest.skip(f"no pid namespace on this machine: {REFUSAL}")
    return NAMESPACE if request.param else []


@pytest.fixture
def save(tmp_path: Path) -> str:
    (tmp_path / "save.py").write_text(SAVE)
    save = f"{sys.executable} {tmp_path}/save.py"
    for name, text in {
        "run.sh": f"{save} 0\necho after\n",
        "trap.sh": "trap 'echo saved; exit 0' TERM; echo up; while :; do sleep 0.1; done",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}")
        (tmp_path / name).chmod(0o755)
    return save


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("kind", LINES)
def test_the_program_hears_sigterm_and_its_end_is_waited_for(
    tmp_path: Path, namespace: list[str], save: str, kind: str, shell: str
) -> None:
    plain = LINES[kind].format(save=save, folder=tmp_path)
    chosen = [shell, "sh"] if shell == "busybox" else [shell]
    _, *arguments = started(plain)
    arguments = [re.sub("^/bin/sh", " ".join(chosen), each, flags=re.MULTILINE) for each in arguments]
    with subprocess.Popen(namespace + chosen + arguments, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
            os.kill(first_process(process.pid) if namespace else process.pid, signal.SIGTERM)
            said, _ = process.communicate(timeout=30)
        finally:
            process.kill()
    after = {"list": "after\n", "script": "after\n", "group": "failed\n"}.get(kind, "")
    assert said == f"saved\n{after}"
    assert process.returncode == (5 if kind == "prepared" else 0)


def first_process(parent: int) -> int:
    """Return the pid here of process 1 of the namespace."""
    return int(Path(f"/proc/{parent}/task/{parent}/children").read_text().split()[0])
