"""What faulthandler and py-spy write is read frame by frame, whatever else the text holds."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.client.stacks.frames import Activity, Frame, ThreadStack
from muster.client.stacks.reading import MOST_FRAMES, MOST_THREADS, complaint, read_faulthandler, read_pyspy

TWO_THREADS = """\
Thread 0x00007f1c9d3fe6c0 (most recent call first):
  File "/usr/lib/python3.11/queue.py", line 171 in get
  File "/app/data.py", line 41 in next

Current thread 0x00007f1ca155cb80 (most recent call first):
  File "/opt/lib/python3.11/site-packages/jax/_src/array.py", line 12 in wait
  File "/opt/lib/python3.11/site-packages/jax/lax.py", line 90 in all_reduce
  File "/app/train.py", line 88 in step
  File "/app/train.py", line 120 in <module>
"""
MAIN = 0x7F1CA155CB80


def test_the_threads_and_calls_of_faulthandler_are_read() -> None:
    loader, main = read_faulthandler(TWO_THREADS, MAIN)
    assert (loader.name, loader.main) == ("0x7f1c9d3fe6c0", False)
    assert loader.frames == (Frame("get", "/usr/lib/python3.11/queue.py", 171), Frame("next", "/app/data.py", 41))
    assert main.main
    assert [frame.function for frame in main.frames] == ["wait", "all_reduce", "step", "<module>"]


@pytest.mark.parametrize(("main", "name"), [(MAIN, "0x7f1ca155cb80"), (None, "main")])
def test_a_stack_without_a_thread_is_that_of_the_main_thread(main: int | None, name: str) -> None:
    text = 'Stack (most recent call first):\n  File "/app/train.py", line 88 in step\n'
    assert read_faulthandler(text, main) == (ThreadStack(name, True, (Frame("step", "/app/train.py", 88),)),)


def test_the_main_thread_is_the_one_of_that_identity_and_not_the_one_that_answered() -> None:
    assert [each.main for each in read_faulthandler(TWO_THREADS, 0x7F1C9D3FE6C0)] == [True, False]
    assert [each.main for each in read_faulthandler(TWO_THREADS)] == [False, True]


@pytest.mark.parametrize(
    ("line", "frame"),
    [
        ('  File "<string>", line 6 in <module>', Frame("<module>", "<string>", 6)),
        ("  File ???, line ??? in ???", Frame("???", "???", 0)),
        ('  File "/a "b", line 1 in c", line 7 in d', Frame("d", '/a "b", line 1 in c', 7)),
        ('  File "/caf\\xe9.py", line 3 in f', Frame("f", "/caf\\xe9.py", 3)),
    ],
)
def test_odd_files_and_functions_are_read(line: str, frame: Frame) -> None:
    (thread,) = read_faulthandler(f"Thread 0x1 [loader] (most recent call first):\n{line}\n")
    assert thread == ThreadStack("loader", False, (frame,))


@pytest.mark.parametrize(
    "text",
    ["", '  File "a", line 1 in f\n', "Thread 0xzz (most recent call first):\n", "\0\n" * 9, "Thread 0x1 (most recent"],
)
def test_text_without_a_thread_has_none(text: str) -> None:
    assert read_faulthandler(text) == ()


def test_what_is_read_is_bounded() -> None:
    frames = '  File "a", line 1 in f\n' * (MOST_FRAMES + 9)
    found = read_faulthandler(f"Thread 0x1 (most recent call first):\n{frames}" * (MOST_THREADS + 9))
    assert len(found) == MOST_THREADS
    assert len(found[0].frames) == MOST_FRAMES


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    read_faulthandler(f"Thread 0x1 (most recent call first):\n{text}")
    read_pyspy(f"[{text}")
    complaint(text)


RUN = {"name": "Thread.run", "filename": "/usr/lib/python3.11/threading.py", "line": 982}
STEP = {"name": "step", "filename": "/app/train.py", "line": 88, "locals": None, "module": None}
SPIED = [
    {"pid": 7, "thread_id": 140, "thread_name": "loader", "os_thread_id": 9, "active": False, "frames": [RUN]},
    {"pid": 7, "thread_id": 141, "thread_name": "MainThread", "os_thread_id": 7, "active": True, "frames": [STEP]},
]


def test_the_threads_of_py_spy_are_read() -> None:
    found = read_pyspy(json.dumps(SPIED))
    assert found is not None
    assert [(each.name, each.main) for each in found] == [("loader", False), ("MainThread", True)]
    assert found[1].frames == (Frame("step", "/app/train.py", 88),)


def test_a_warning_before_the_threads_is_passed_over() -> None:
    assert read_pyspy(f"WARN: [kernel] is old\n{json.dumps(SPIED, indent=2)}\n") == read_pyspy(json.dumps(SPIED))


@pytest.mark.parametrize("text", ["", "[", "{}", "[1]", "Error: Permission denied", "[" * 100_000])
def test_text_that_is_no_list_of_threads_is_none(text: str) -> None:
    assert read_pyspy(text) is None


def test_a_complaint_is_the_error_and_its_cause() -> None:
    said = "Error: Failed to open process 7.\n\nCaused by:\n    0: Permission denied (os error 13)\n    1: more\n"
    assert complaint(said) == "Failed to open process 7: Permission denied (os error 13)"
    assert complaint("Permission Denied: try sudo\n") == "Permission Denied: try sudo"
    assert complaint("\n") == "it printed nothing"
    assert complaint("Error: x\nCaused by:") == "x"


def test_a_stack_is_described_by_the_line_of_the_program_and_what_it_called() -> None:
    _, main = read_faulthandler(TWO_THREADS, MAIN)
    loader, _ = read_faulthandler(TWO_THREADS, MAIN)
    assert Activity.of(main.frames) == Activity("all_reduce", "train.py:88")
    assert Activity.of(loader.frames) == Activity("get", "data.py:41")
    assert Activity.of(main.frames[2:]) == Activity("step", "train.py:88")
    assert Activity.of(main.frames[:1]) == Activity("wait", "array.py:12")
    assert Activity.of((Frame("f", "???", 0),)) == Activity("f", "???:?")
    torch = "/opt/lib/python3.11/site-packages/torch/distributed"
    wrapped = Frame("all_reduce", f"{torch}/distributed_c10d.py", 9), Frame("wrapper", f"{torch}/c10d_logger.py", 83)
    assert Activity.of((*wrapped, *main.frames[2:])) == Activity("all_reduce", "train.py:88")
    assert Activity.of(()) is None
