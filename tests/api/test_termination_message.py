"""Of a termination message the line is kept that says why the container ended."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.values.printable import MESSAGE
from muster.api.values.termination_message import gist

TRACEBACK = """step 12: loss 0.3
Traceback (most recent call last):
  File "/app/train.py", line 40, in <module>
    main()
  File "/app/train.py", line 31, in main
    raise ValueError("loss is NaN")
ValueError: loss is NaN
"""
CHAINED = f"""{TRACEBACK}
During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/app/train.py", line 44, in <module>
    save()
    ^^^^^^
app.errors.DiskFull: no space left on /ckpt
"""
ABORTED = f"""{TRACEBACK}E1122 04:42:45 client.cc:80] Terminating process because the JAX service detected errors
*** Check failure stack trace: ***
    @     0x7f2 absl::log_internal::LogMessage::Die()
"""
STACK = """*** Check failure stack trace: ***
    @     0x7fcba6440634  absl::lts_20260107::log_internal::LogMessage::SendToLog()
    @     0x7fcbad8a71f5  (unknown)
"""
BARRIER = f"""E1122 04:48:57.736623   27271 agent.cc:289] Polled an error from coordination service.
F1122 04:48:57.736753   27271 client.h:80] Terminating process. absl::Status: INTERNAL: Shutdown barrier has failed.
# of tasks that reached the barrier: 1/4.
The first task at the barrier: 1. Some timed out task names:{" x" * 300}
{STACK}"""


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (TRACEBACK, "ValueError: loss is NaN"),
        (TRACEBACK.replace(": loss is NaN\n", "\n"), "ValueError"),
        (CHAINED, "app.errors.DiskFull: no space left on /ckpt"),
        (ABORTED, "ValueError: loss is NaN"),
        (TRACEBACK.partition("line 40")[2], "ValueError: loss is NaN"),
        ("loss is NaN", "loss is NaN"),
        ("first\nsecond\tthird\x1b[31m\n", "first second third"),
        ("first\x1b[2J\n", "first\N{REPLACEMENT CHARACTER}[2J"),
        ("", ""),
        (None, ""),
    ],
)
def test_the_exception_of_the_last_traceback_is_kept_else_the_text(text: str | None, kept: str) -> None:
    assert gist(text) == kept


def test_of_a_long_text_without_a_traceback_the_end_is_kept() -> None:
    kept = gist("x" * 3000 + " F: out of space\n")
    assert kept.startswith("…x")
    assert kept.endswith("x F: out of space")
    assert len(kept) == MESSAGE


@pytest.mark.parametrize("mark", ["F1122 04:48:57.736753   27271 ", "2026-11-22 05:06:00.352244: F external/xla/"])
def test_of_a_fatal_error_of_native_code_the_status_is_kept(mark: str) -> None:
    kept = gist(BARRIER.replace("F1122 04:48:57.736753   27271 ", mark))
    assert kept.startswith("INTERNAL: Shutdown barrier has failed. # of tasks that reached the barrier: 1/4.")
    assert "The first task at the barrier: 1." in kept


def test_the_stack_of_native_code_is_not_kept() -> None:
    assert gist(f"out of room\n{STACK}") == "out of room"
    assert gist(f"out of room\n{STACK.partition(chr(10))[2]}aborted") == "out of room aborted"


def test_frames_without_an_exception_line_are_no_traceback() -> None:
    text = 'Current thread (most recent call first):\n  File "/app/train.py", line 5 in f\nExtension modules: numpy'
    assert gist(text).startswith("Current thread")


@given(st.text(max_size=3000) | st.text(alphabet='\n File"1, linex:\x1b', max_size=3000))
def test_no_text_is_kept_that_is_long_or_not_printable(text: str) -> None:
    kept = gist(text)
    assert len(kept) <= MESSAGE
    assert kept.isprintable()


def test_colours_of_a_terminal_are_left_out() -> None:
    assert gist("\x1b[32mRay runtime started.\x1b[39m\n\x1b[1mray stop\x1b[22m") == "Ray runtime started. ray stop"
