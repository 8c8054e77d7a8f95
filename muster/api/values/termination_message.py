"""The termination message of a container, reduced to what says why it ended.

Members have ``terminationMessagePolicy: FallbackToLogsOnError``: of a container that failed and wrote no message file,
the kubelet takes the end of the log, at most 80 lines and 2,048 bytes (kubernetes: pkg/kubelet/kuberuntime/
kuberuntime_manager.go, pkg/kubelet/container/runtime.go). A decision keeps 512 characters of it:

- the exception of the last Python traceback, where there is one. What a program prints after it comes from other
  threads and from libraries that notice the end;
- of a fatal error of C++ code (absl's log, which jax's coordination client uses) the status that it quotes;
- otherwise the end of the text, without the stack trace of C++ code.
"""

import re

from muster.api.values.printable import MESSAGE, clean, uncoloured

_LINES = re.compile(r"[\r\n]+")
_FRAME = re.compile(r'\s+File ".*", line \d+')
_NATIVE_STACK = re.compile(r"\*\*\* Check failure stack trace: \*\*\*.*|(\n +@ +0x[^\n]*)+", re.DOTALL)
_STATUS = re.compile(r"\bF(\d{4})? [^\n]*?absl::Status: ")
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(: |:?$)")


def gist(text: str | None) -> str:
    """The line or lines of the text that say why the program ended: one printable line."""
    if not text:
        return ""
    text = uncoloured(text)
    if exception := _exception(_LINES.split(text)):
        return clean(exception, MESSAGE)
    if status := _STATUS.search(text):
        return clean(text[status.end() :], MESSAGE)
    text = _NATIVE_STACK.sub("", text).strip()
    return clean(text if len(text) <= MESSAGE else f"…{text[1 - MESSAGE :]}", MESSAGE)


def _exception(lines: list[str]) -> str:
    """The first line that is not indented after the last frame: ``ValueError: loss is NaN``."""
    last = next((at for at in range(len(lines) - 1, -1, -1) if _FRAME.match(lines[at])), len(lines))
    line = next((each for each in lines[last + 1 :] if each and not each[0].isspace()), "")
    return line if _EXCEPTION.match(line) else ""
