"""Child processes of the command: watched, reported, always ended; and the advice where they lack Muster itself."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from muster.cli.processes import stack
from muster.cli.processes.interrupts import Interrupts
from muster.cli.processes.stack import KEPT, Child, ChildEnded, hint, sweep
from muster.extras import pip_argument
from muster.local.home import Home


def python(program: str) -> list[str]:
    return [sys.executable, "-c", program]


async def test_an_announcement_is_read_and_the_rest_is_logged(tmp_path: Path) -> None:
    program = "import sys, time; print('text', file=sys.stderr, flush=True); print('ready', flush=True); time.sleep(60)"
    started = await Child.start("thing", python(program), tmp_path / "log", announces=True)
    assert await started.announcement(20) == b"ready\n"
    await started.stop()
    assert started.process.returncode == -15
    assert (tmp_path / "log").read_text() == "text\n"
    await started.stop()


async def test_an_unexpected_end_is_reported_with_the_last_lines_of_the_log(tmp_path: Path) -> None:
    program = "import sys; [print('line', n, file=sys.stderr) for n in range(50)]; sys.exit(3)"
    started = await Child.start("daemon", python(program), tmp_path / "log")
    with pytest.raises(
        ChildEnded, match=r"the daemon \(process \d+\) ended with status 3; .*log:\n  line 35\n"
    ) as reported:
        await started.watch()
    assert str(reported.value).endswith("line 49")
    crashed = await Child.start(
        "cluster", python("import os; os.kill(os.getpid(), 9)"), tmp_path / "log2", announces=True
    )
    with pytest.raises(ChildEnded, match=r"the cluster .* was killed by signal 9; .*\n  \(nothing\)"):
        await crashed.announcement(20)


async def test_a_child_that_announces_nothing_times_out(tmp_path: Path) -> None:
    started = await Child.start("cluster", python("import time; time.sleep(60)"), tmp_path / "log", announces=True)
    with pytest.raises(ChildEnded, match=r"the cluster was not ready after 0.1 s"):
        await started.announcement(0.1)
    await started.stop()


async def test_a_child_that_ignores_sigterm_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stack, "KILL_SECONDS", 0.2)
    program = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); time.sleep(60)"
    started = await Child.start("thing", python(program), tmp_path / "log", announces=True)
    await started.announcement(20)
    await started.stop()
    assert started.process.returncode == -9


async def test_a_child_has_a_session_of_its_own(tmp_path: Path) -> None:
    started = await Child.start("thing", python("import os; print(os.getsid(0))"), tmp_path / "log", announces=True)
    assert int(await started.announcement(20)) == started.process.pid != os.getsid(0)
    await started.process.wait()


async def test_a_signal_ends_the_wait_and_cancels_the_work() -> None:
    async def work() -> str:
        await asyncio.sleep(0)
        return "done"

    with Interrupts() as interrupts:
        assert await interrupts.guard(asyncio.create_task(work())) == "done"
        hanging = asyncio.create_task(asyncio.Event().wait())
        asyncio.get_running_loop().call_soon(os.kill, os.getpid(), 2)
        assert await interrupts.guard(hanging) is None
        assert hanging.cancelled()
        assert interrupts.count == 1


def test_directories_of_killed_runs_are_removed(tmp_path: Path) -> None:
    killed, kept, alive, starting = (Home(tmp_path / name) for name in ("killed", "kept", "alive", "starting"))
    killed.acquire().close()
    kept.acquire().close()
    (kept.path / KEPT).touch()
    starting.create()
    with alive.acquire():
        sweep(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["alive", "kept", "starting"]
    sweep(tmp_path / "nowhere")


def test_what_is_not_a_directory_of_a_killed_run_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere, runs = Home(tmp_path / "elsewhere"), tmp_path / "runs"
    elsewhere.create()
    elsewhere.lock.write_text("precious")
    runs.mkdir()
    (runs / "link").symlink_to(elsewhere.path)
    (runs / "file").touch()
    sweep(runs)
    Home(runs / "of-root").acquire().close()
    monkeypatch.setattr("muster.local.home.os.geteuid", lambda: os.getuid() + 1)
    sweep(runs)
    assert sorted(path.name for path in runs.iterdir()) == ["file", "link", "of-root"]
    assert elsewhere.lock.read_text() == "precious"


TRACEBACK = ["Traceback (most recent call last):", '  File "/x/train.py", line 2, in <module>', "    import muster.jax"]


@pytest.mark.parametrize("module", ["muster", "muster.jax"])
def test_it_says_which_python_lacks_it_and_where_to_get_it(module: str) -> None:
    lines = [*TRACEBACK, f"ModuleNotFoundError: No module named '{module}'"]
    assert hint(lines, "/x/.venv/bin/python3") == (
        f"/x/.venv/bin/python3 does not have muster.jax: /x/.venv/bin/python3 -m pip install '{pip_argument()}', "
        "or use the three lines of jax instead (docs/researcher.md)"
    )


@pytest.mark.parametrize(
    "line", ["ModuleNotFoundError: No module named 'mustard'", "I miss ModuleNotFoundError: No module named 'muster'"]
)
def test_other_lines_get_no_advice(line: str) -> None:
    assert hint([*TRACEBACK, line], "/x/.venv/bin/python3") == ""
    assert hint(["ModuleNotFoundError: No module named 'muster'"], None) == "", "there is no Python"
