"""Of a termination message the line is kept that says why the container ended."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.values.printable import MESSAGE
from muster.api.values.termination_message import LAST_LINE, Words, are_a_reason, words

TRACEBACK = """step 12: loss 0.3
Traceback (most recent call last):
  File "/app/train.py", line 40, in <module>
    main()
  File "/app/train.py", line 31, in main
    raise ValueError("loss is NaN")
ValueError: loss is NaN
"""
GREETING = "[Gloo] Rank 1 is connected to 3 peer ranks. Expected number of connected peer ranks is : 3\n"
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
        ("\x1b[32mRay runtime started.\x1b[39m\n\x1b[1mray stop\x1b[22m", "Ray runtime started. ray stop"),
        (f"out of room\n{STACK}", "out of room"),
        (f"out of room\n{STACK.partition(chr(10))[2]}aborted", "out of room aborted"),
        (GREETING, ""),
        (f"{GREETING}step 12: loss 0.3\n{GREETING}", "step 12: loss 0.3"),
    ],
)
def test_the_exception_of_the_last_traceback_is_kept_else_the_text(text: str | None, kept: str) -> None:
    assert words(text).text == kept


def test_of_a_long_text_without_a_traceback_the_end_is_kept() -> None:
    kept = words("x" * 3000 + " F: out of space\n").text
    assert kept.startswith("…x")
    assert kept.endswith("x F: out of space")
    assert len(kept) == MESSAGE


@pytest.mark.parametrize("mark", ["F1122 04:48:57.736753   27271 ", "2026-11-22 05:06:00.352244: F external/xla/"])
def test_of_a_fatal_error_of_native_code_the_status_is_kept(mark: str) -> None:
    kept = words(BARRIER.replace("F1122 04:48:57.736753   27271 ", mark)).text
    assert kept.startswith("INTERNAL: Shutdown barrier has failed. # of tasks that reached the barrier: 1/4.")
    assert "The first task at the barrier: 1." in kept


def test_frames_without_an_exception_line_are_no_traceback() -> None:
    text = 'Current thread (most recent call first):\n  File "/app/train.py", line 5 in f\nExtension modules: numpy'
    assert words(text).text.startswith("Current thread")


@given(st.text(max_size=3000) | st.text(alphabet='\n File"1, linex:\x1b', max_size=3000))
def test_no_text_is_kept_that_is_long_or_not_printable(text: str) -> None:
    kept = words(text)
    assert len(kept.text) <= MESSAGE
    assert len(kept.last_line) <= LAST_LINE
    assert (kept.text + kept.last_line).isprintable()


REGISTER = f"""F1122 04:48:57.736753 27271 client.h:80] absl::Status: DEADLINE_EXCEEDED: Deadline Exceeded

RPC: /xla.coordination.CoordinationService/RegisterTask
{STACK}"""


def test_the_status_of_a_fatal_error_is_kept_without_the_stack_of_native_code() -> None:
    said = words(REGISTER)
    assert said.text == "DEADLINE_EXCEEDED: Deadline Exceeded  RPC: /xla.coordination.CoordinationService/RegisterTask"
    assert (said.explains, said.last_line) == (True, "")


@pytest.mark.parametrize(
    ("text", "explains", "last_line"),
    [
        (TRACEBACK, True, "ValueError: loss is NaN"),
        (f"{TRACEBACK}wandb: synced\n", True, ""),
        ("[Gloo] Rank 2 is connected to 3 peer ranks.\nhello from 2/4\n\n", False, "hello from 2/4"),
        ("hello from 2/4\n[Gloo] Rank 2 is connected to 3 peer ranks.\n\n", False, ""),
        (f"out of room\n{STACK}", False, ""),
        ("To monitor Ray\n  If connection to the dashboard fails, check your firewall settings", False, ""),
        ("Ray runtime started.\nSome Ray subprocesses exited unexpectedly:\n  gcs_server [exit code=-9]", False,
         "gcs_server [exit code=-9]"),
    ],
)  # fmt: skip
def test_the_last_line_is_no_reason_and_no_banner_or_stack_frame(text: str, explains: bool, last_line: str) -> None:
    said = words(text)
    assert (said.explains, said.last_line) == (explains, last_line)


SHELL = 'runc create failed: cannot start container process: exec: "/bin/sh": stat /bin/sh: no such file or directory'


def test_what_the_runtime_says_of_a_program_that_never_ran_is_the_reason_and_no_line_of_its_log() -> None:
    assert words(SHELL, "StartError") == Words(SHELL, True, "")
    assert are_a_reason(words(SHELL, "StartError").explains, 128)
    lost = "The container could not be located when the pod was terminated"
    assert words(lost, "ContainerStatusUnknown").last_line == ""


def test_the_same_words_of_a_program_are_its_last_line() -> None:
    assert words(SHELL, "Error") == Words(SHELL, False, SHELL)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        (TRACEBACK, "train.py:31 in main"),
        (CHAINED, "train.py:44 in <module>"),
        (ABORTED, "train.py:31 in main"),
        ('  File "C:\\\\job\\\\train.py", line 4\nSyntaxError: invalid syntax', "train.py:4"),
        ('  File "<string>", line 1, in <module>\nValueError', "<string>:1 in <module>"),
        (f'  File "{"x" * 100}", line 1, in f\nValueError', ""),
        ("loss is NaN", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_the_frame_that_raised_the_last_exception_is_its_place(text: str | None, place: str) -> None:
    assert words(text).raised_at == place


@given(st.text(max_size=300))
def test_a_place_is_short_and_printable_whatever_was_printed(text: str) -> None:
    place = words(f'  File "{text}", line 3, in {text}\nE: x').raised_at
    assert len(place) <= LAST_LINE
    assert place.isprintable()
