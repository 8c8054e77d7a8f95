"""The termination message of a container, reduced to the reason of its end.

Members have ``terminationMessagePolicy: FallbackToLogsOnError``: of a container that failed and wrote no message file,
the kubelet takes the end of the log, at most 80 lines and 2,048 bytes (kubernetes: pkg/kubelet/kuberuntime/
kuberuntime_manager.go, pkg/kubelet/container/runtime.go). A decision keeps 512 characters of it:

- the exception of the last Python traceback, where there is one. What a program prints after it comes from other
  threads and from libraries that notice the end;
- of a launcher (torchrun, accelerate, mpirun, a shell) the exception of the process that it had started, and how that
  ended: the launcher's own traceback and last words report only that a process failed (``muster.api.last_words``);
- of a fatal error of C++ code (absl's log, which jax's coordination client uses) the status that it quotes;
- otherwise the end of the text, without the stack trace of C++ code. That is what the program printed last, and not why
  it ended.

The lines with which gloo greets its peers at the start are left out: they do not explain an end. What looks like a
credential is removed here, before any of it is in a status, an Event, a page or a log.
"""

import re
import signal
from typing import Final, NamedTuple

from muster.api.last_words import NONE, Child, Traceback, end_of, last_of
from muster.api.values.printable import MESSAGE, clean, uncoloured
from muster.api.values.secrets import NO_SECRETS, Secrets, without_secrets

LAST_LINE: Final = 200
"""Characters that are kept of the last line."""

MOST: Final = 4_096
MOST_LINES: Final = 160
"""Characters and lines of a message that are looked at: a kubelet takes no more, and 80 lines of a log."""

_LINES = re.compile(r"[\r\n]+")
_PLACE = re.compile(r"(?:.*[/\\])?([^/\\]{1,80})")
_FUNCTION = re.compile(r"[\w.<>]{1,80}")
_NATIVE_STACK = re.compile(r"\*\*\* Check failure stack trace: \*\*\*.*|(\n +@ +0x[^\n]*)+", re.DOTALL)
_STATUS = re.compile(r"\bF(\d{4})? [^\n]*?absl::Status: ")
_GREETING = re.compile(r"(?m)^\[Gloo\] Rank \d+ is connected to .*[\r\n]*")


class Words(NamedTuple):
    """Last words of a container."""

    text: str
    """Line or lines with the reason of its end, else the end of its output: one printable line."""
    explains: bool
    """The text is the exception or the status that ended the program."""
    last_line: str
    """Last line of its output; empty if that does not explain an end: a banner, a rule, a library's warning."""
    raised_at: str = ""
    """Place of the raised exception, ``train.py:41 in next``; empty if no traceback has it."""
    child: Child = NONE
    """End of the process that a launcher had started and reports as the first that failed."""


NOTHING: Final = Words("", False, "")
OF_THE_RUNTIME: Final = frozenset({"StartError", "ContainerCannotRun", "ContainerStatusUnknown"})
"""Reasons of an end whose message is the runtime's or the kubelet's own: no program has printed it (containerd:
internal/cri/server/container_start.go; kubernetes: pkg/kubelet/kubelet_pods.go)."""
SIGNALLED: Final = 128
"""An exit code above this is of a signal: 128 + its number."""
ABORTED: Final = SIGNALLED + signal.SIGABRT
"""The exit code of a process that has ended itself. A signal that others send does not wait for last words."""


def are_a_reason(explains: bool, exit_code: int) -> bool:
    """Return True if words that explain an end are the reason of one with that exit code.

    A traceback in the log of a program that was killed is one that it had caught.
    """
    return explains and (exit_code <= SIGNALLED or exit_code == ABORTED)


def words(text: str | None, reason: str | None = "", secrets: Secrets = NO_SECRETS) -> Words:
    """Return the words of a termination message, for that reason of the end, without these secrets of its pod."""
    if not text:
        return NOTHING
    if reason in OF_THE_RUNTIME:
        return Words(clean(text, MESSAGE), True, "")
    text = without_secrets(uncoloured(text[-MOST:]), secrets)
    lines = [each for each in _LINES.split(text) if each and not each.isspace()][-MOST_LINES:]
    raised, child = end_of(lines)
    shown = clean(last_of(lines), LAST_LINE) if child == NONE else ""  # else the launcher's
    if raised:
        return Words(clean(raised.exception, MESSAGE), True, shown, place_of(raised), child)
    text = _GREETING.sub("", text)
    if status := _STATUS.search(text):
        return Words(clean(_NATIVE_STACK.sub("", text[status.end() :]), MESSAGE), True, shown, child=child)
    text = _NATIVE_STACK.sub("", text).strip()
    end = text if len(text) <= MESSAGE else f"…{text[1 - MESSAGE :]}"
    return Words(clean(end, MESSAGE), False, shown, child=child)


def place_of(raised: Traceback) -> str:
    """Return ``train.py:41 in next``."""
    file = _PLACE.fullmatch(raised.path)
    if file is None:
        return ""
    named = f" in {raised.function}" if _FUNCTION.fullmatch(raised.function) else ""
    return clean(f"{file[1]}:{raised.line}{named}", LAST_LINE)
