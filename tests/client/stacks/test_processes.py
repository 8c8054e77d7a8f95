"""Which processes of a container are asked, and what is said where none answers."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.client.stacks.processes import Listing, Process, read_listing, workers
from muster.client.stacks.reading import ProcessAnswer, read_answers, read_stacks, why_none

N = "muster-ab12"


def listing(*lines: str, parent: int = 0, spy: str = "", files: str = "", mounts: str = "") -> str:
    """What the script prints, of processes given as ``PID PARENT PROGRAM COMMAND``."""
    parts = [line.split(" ", 3) for line in lines]
    return "\n".join(
        [
            f"{N} spy {spy}",
            f"{N} parent {parent}",
            f"{N} links",
            "lrwxrwxrwx 1 root root 0 Nov 22 15:00 /proc/self/ns/mnt -> mnt:[1]",
            *(f"lrwxrwxrwx 1 0 0 0 Nov 22 15:00 /proc/{pid}/ns/mnt -> mnt:[1]" for pid, *_ in parts),
            *(f"lrwxrwxrwx 1 0 0 0 Nov 22 15:00 /proc/{pid}/exe -> {program}" for pid, _, program, _ in parts),
            *([mounts] if mounts else []),
            f"{N} files",
            *([files] if files else []),
            f"{N} commands",
            *(f"{pid} (a) b) S {parent} 1 1\n {command}" for pid, parent, _, command in parts),
            f"{N} end",
        ]
    )


def pids(text: str) -> list[int]:
    return [each.pid for each in workers(read_listing(text, N).processes)]


PYTHON = "/usr/bin/python3.11"


def test_a_program_below_shells_is_found_with_its_file_and_main_thread() -> None:
    text = listing(
        "1 0 /usr/bin/dash /bin/sh -c python3 train.py",
        f"7 1 {PYTHON} python3 train.py",
        spy="/usr/bin/py-spy",
        files="/proc/7/fd:\nlrwx------ 1 root root 64 Nov 22 15:00 100 -> /memfd:muster-stacks-7f1ca155cb80 (deleted)",
    )
    found = read_listing(text, N)
    assert (found.spy, found.complete) == ("/usr/bin/py-spy", True)
    assert workers(found.processes) == (Process(7, 1, PYTHON, "python3 train.py", 100, 0x7F1CA155CB80, "S"),)


def test_a_file_without_memfd_is_found_too() -> None:
    link = "l-wx------ 1 0 0 64 Nov 22 15:00 101 -> /dev/shm/muster-stacks-1f.x_k2 (deleted)"
    found = read_listing(listing(f"7 1 {PYTHON} python3 train.py", files=f"/proc/7/fd:\n{link}"), N)
    assert [(each.file, each.main) for each in found.processes] == [(101, 0x1F)]


LOADER = f"8 7 {PYTHON} python3 train.py"
CHILDREN = (f"8 7 {PYTHON} python train.py", f"9 7 {PYTHON} python train.py", f"10 9 {PYTHON} python train.py")
LAUNCHERS = (
    "/venv/bin/python /venv/bin/torchrun --nproc-per-node 2 train.py",
    "python -m torch.distributed.run train.py",
    "python -m accelerate.commands.launch train.py",
    "/usr/bin/python3 /usr/local/bin/ray start --head --block",
)
RAY = (
    f"7 1 {PYTHON} python ray start --block",
    "8 7 /site-packages/ray/core/src/ray/raylet/raylet raylet",
    f"9 8 {PYTHON} ray::IDLE",
    f"10 8 {PYTHON} ray::train",
    f"11 8 {PYTHON} python -u /site-packages/ray/dashboard/agent.py",
)
OF_ANOTHER = "lrwxrwxrwx 1 0 0 0 Nov 22 15:00 /proc/9/ns/mnt -> mnt:[2]"


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        pytest.param(listing(f"7 1 {PYTHON} python3 train.py", LOADER, f"9 8 {PYTHON} x"), [7], id="no data loaders"),
        *(
            pytest.param(listing(f"7 1 {PYTHON} {each}", *CHILDREN), [8, 9], id=f"the children of {each}")
            for each in LAUNCHERS
        ),
        pytest.param(
            listing(f"7 1 {PYTHON} {LAUNCHERS[0]}"), [7], id="a launcher that may hang before its first child"
        ),
        pytest.param(listing(*RAY), [10], id="of ray the workers with a task"),
        pytest.param(
            listing(f"7 1 {PYTHON} a", f"9 1 {PYTHON} b", mounts=OF_ANOTHER), [7], id="no other container of the pod"
        ),
        pytest.param(
            listing(f"7 4 {PYTHON} a", f"9 1 {PYTHON} b", "4 1 /usr/bin/pod-init init", parent=4),
            [7],
            id="no process of the machine",
        ),
        pytest.param(listing(f"7 1 {PYTHON} a {N}"), [], id="not the script itself"),
    ],
)
def test_the_processes_of_the_program_are_asked(text: str, asked: list[int]) -> None:
    assert pids(text) == asked


@given(st.text(), st.text())
def test_any_listing_and_any_answer_is_read_without_an_error(text: str, more: str) -> None:
    read_listing(f"{N} links\n{text}\n{N} commands\n{more}", N)
    list(read_answers(f"{N} stacks 7\n{text}\n{N} end {more}", N))


STACK = 'Current thread 0x1f (most recent call first):\n  File "/app/train.py", line 88 in step'
SPIED = '[{"pid": 7, "thread_id": 1, "os_thread_id": 7, "frames": [{"name": "f", "filename": "a.py", "line": 2}]}]'
ASSISTED = Process(7, 1, PYTHON, "python3 train.py", 100, 0x1F)


def test_the_sections_of_an_answer_are_read() -> None:
    text = f"{N} spy 7\nError: no\n\n{N} end 1\nnoise\n{N} stacks 7\n{STACK}\n\n{N} end 0\n{N} stacks 8\ncut o"
    assert [(each.source, each.pid, each.code) for each in read_answers(text, N)] == [
        ("spy", 7, 1),
        ("stacks", 7, 0),
        ("stacks", 8, 1),
    ]


def test_a_stack_with_another_mark_ends_no_section() -> None:
    text = f"{N} stacks 7\nmuster-ffff end 0\n{STACK}\n{N} end zero\n{N} end 0 0\n{N} end 0\n"
    (answer,) = read_answers(text, N)
    assert STACK in answer.text
    assert f"{N} end zero" in answer.text


def test_where_py_spy_fails_the_answer_to_the_signal_is_taken() -> None:
    answers = (ProcessAnswer("spy", 7, "Error: Permission denied\n", 1), ProcessAnswer("stacks", 7, STACK, 0))
    (found,), said = read_stacks((ASSISTED,), answers)
    assert (found.source, found.threads[0].frames[0].line, said) == ("faulthandler", 88, "Permission denied")


def test_py_spy_comes_first() -> None:
    (found,), said = read_stacks((ASSISTED,), (ProcessAnswer("spy", 7, SPIED, 0),))
    assert (found.source, found.threads[0].frames[0].function, said) == ("py-spy", "f", "")


def test_a_process_that_was_not_asked_gives_no_stack() -> None:
    assert read_stacks((ASSISTED,), (ProcessAnswer("stacks", 8, STACK, 0),)) == ((), "")


PLAIN = Process(7, 1, PYTHON, "python3 train.py")


@pytest.mark.parametrize(
    ("chosen", "said", "assist", "why"),
    [
        ((), "", True, "no Python process runs in its container"),
        ((PLAIN,), "", False, "no py-spy in the image and spec.assist is off: set spec.assist (muster submit"),
        ((PLAIN,), "", None, "no py-spy in the image: put it there (pip install py-spy)"),
        ((replace(PLAIN, state="T"),), "", False, "its process 7 is stopped (SIGSTOP"),
        ((ASSISTED, replace(ASSISTED, pid=8, state="D")), "", True, "its process 8 waits in the kernel for a disk"),
        ((PLAIN,), "Permission denied", False, "py-spy: Permission denied and spec.assist is off"),
        ((PLAIN,), "", True, "no py-spy in the image, and its process runs without spec.assist"),
        ((ASSISTED,), "", True, "no py-spy in the image, and its process did not answer SIGURG within 3 s"),
    ],
)
def test_the_reason_names_what_is_missing(
    chosen: tuple[Process, ...], said: str, assist: bool | None, why: str
) -> None:
    assert why_none(Listing("", chosen, complete=True), chosen, said, assist).startswith(why)


def test_a_listing_that_was_cut_is_no_listing() -> None:
    text = listing(f"7 1 {PYTHON} a").removesuffix(f"{N} end")
    assert not read_listing(text, N).complete
    assert "no shell" in why_none(read_listing(text, N), (), "", None)
