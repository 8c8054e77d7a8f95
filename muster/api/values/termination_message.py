"""The termination message of a container, reduced to what says why it ended.

Members have ``terminationMessagePolicy: FallbackToLogsOnError``: of a container that failed and wrote no message file,
the kubelet takes the end of the log, at most 80 lines and 2,048 bytes (kubernetes: pkg/kubelet/kuberuntime/
kuberuntime_manager.go, pkg/kubelet/container/runtime.go). A decision keeps 512 characters of it:

- the exception of the last Python traceback, where there is one. What a program prints after it comes from other
  threads and from libraries that notice the end;
- of a fatal error of C++ code (absl's log, which jax's coordination client uses) the status that it quotes;
- otherwise the end of the text, without the stack trace of C++ code. It says what the program printed last, and not why
  it ended.

The lines with which gloo greets its peers at the start are left out: they say nothing of an end. What looks like a
credential is removed here, before any of it is in a status, an Event, a page or a log.
"""

import re
import signal
from typing import Final, NamedTuple

from muster.api.values.credentials import without_credentials
from muster.api.values.printable import MESSAGE, clean, uncoloured

LAST_LINE: Final = 200
"""Characters that are kept of the last line."""

_LINES = re.compile(r"[\r\n]+")
_FRAME = re.compile(r'\s+File ".*", line \d+')
_PLACE = re.compile(r'\s+File "(?:[^"\n]*[/\\])?([^"/\\\n]{1,80})", line (\d{1,7})(?:, in ([\w.<>]{1,80}))?')
_NATIVE_STACK = re.compile(r"\*\*\* Check failure stack trace: \*\*\*.*|(\n +@ +0x[^\n]*)+", re.DOTALL)
_STATUS = re.compile(r"\bF(\d{4})? [^\n]*?absl::Status: ")
_GREETING = re.compile(r"(?m)^\[Gloo\] Rank \d+ is connected to .*[\r\n]*")
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(: |:?$)")
_NO_LAST_LINE = re.compile(
    r"^\s*(@ +0x|\*\*\* |[EFIW]\d{4} \d\d:)"  # a frame of C++ code, or a line of absl's log
    r"|^\[Gloo\] Rank \d+ is connected to "
    r"|thus NOT reported|terminate unexpectedly|until terminated by a signal|check your firewall settings"
    r"|^\s*ray stop$|^-+$|^--block$"  # the banner with which ``ray start`` ends
)


class Words(NamedTuple):
    """What a container said last."""

    text: str
    """The line or lines that say why it ended, else the end of what it printed: one printable line."""
    explains: bool
    """The text is the exception or the status that ended the program."""
    last_line: str
    """The last line that it printed; empty where that is a stack frame of C++ code or the greeting of a library."""


NOTHING: Final = Words("", False, "")
OF_THE_RUNTIME: Final = frozenset({"StartError", "ContainerCannotRun", "ContainerStatusUnknown"})
"""Reasons of an end whose message is the runtime's or the kubelet's own: no program has printed it (containerd:
internal/cri/server/container_start.go; kubernetes: pkg/kubelet/kubelet_pods.go)."""
SIGNALLED: Final = 128
"""An exit code above this is of a signal: 128 + its number."""
ABORTED: Final = SIGNALLED + signal.SIGABRT
"""The exit code of a process that has ended itself. A signal that others send does not wait for last words."""


def are_a_reason(explains: bool, exit_code: int) -> bool:
    """Whether words that explain an end are the reason of one with that exit code.

    A traceback in the log of a program that was killed is one that it had caught.
    """
    return explains and (exit_code <= SIGNALLED or exit_code == ABORTED)


def words(text: str | None, reason: str | None = "") -> Words:
    """What the termination message of a container says that ended for that reason."""
    if not text:
        return NOTHING
    if reason in OF_THE_RUNTIME:
        return Words(clean(text, MESSAGE), True, "")
    lines = _LINES.split(text := without_credentials(uncoloured(text)))
    last = next((each for each in reversed(lines) if each and not each.isspace()), "")
    shown = "" if _NO_LAST_LINE.search(last) else clean(last.strip(), LAST_LINE)
    text = _GREETING.sub("", text)
    if exception := _exception(_LINES.split(text)):
        return Words(clean(exception, MESSAGE), True, shown)
    if status := _STATUS.search(text):
        return Words(clean(_NATIVE_STACK.sub("", text[status.end() :]), MESSAGE), True, shown)
    text = _NATIVE_STACK.sub("", text).strip()
    return Words(clean(text if len(text) <= MESSAGE else f"…{text[1 - MESSAGE :]}", MESSAGE), False, shown)


def raised_at(text: str | None) -> str:
    """Where the exception of the last traceback was raised, ``train.py:41 in next``; empty where none is there."""
    lines = _LINES.split(uncoloured(text or ""))
    frame = next((each for each in reversed(lines) if _FRAME.match(each)), "")
    found = _PLACE.match(frame)
    if found is None:
        return ""
    file, line, function = found.groups()
    return clean(f"{file}:{line}" + (f" in {function}" if function else ""), LAST_LINE)


def _exception(lines: list[str]) -> str:
    """The first line that is not indented after the last frame: ``ValueError: loss is NaN``."""
    last = next((at for at in range(len(lines) - 1, -1, -1) if _FRAME.match(lines[at])), len(lines))
    line = next((each for each in lines[last + 1 :] if each and not each[0].isspace()), "")
    return line if _EXCEPTION.match(line) else ""
