"""Failures that a restart cannot cure: the program, its script or a module of it does not exist.

On a cluster even those are retried, as a volume may be mounted a moment later. A person at a terminal has mistyped a
name, and would wait through every restart and back-off for the same message.
"""

import re

NOT_EXECUTABLE = 126
NOT_FOUND = 127
"""Exit codes of a shell that cannot run, or cannot find, the program (POSIX.1, Shell Command Language, 2.8.2)."""

_MISSING = (
    re.compile(r"\S*python\S*: can't open file .* No such file or directory"),
    re.compile(r"\S*python\S*: (No module named |Error while finding module specification )"),
    re.compile(r"ModuleNotFoundError: No module named "),
    re.compile(r"\S*sh: (\d+: )?([Cc]an't|cannot) open .*No such file"),
)
"""Last lines of python (script, module, import) and of dash, whose exit code is ambiguous."""


def futile(exit_code: int | None, last_line: str) -> str:
    """Return why the same program would end in the same way again; empty where it may not.

    ``last_line`` is the last one that the failed member printed; empty where it is not known.
    """
    if exit_code == NOT_FOUND:
        return last_line or "the shell does not find the program"
    if exit_code == NOT_EXECUTABLE:
        return last_line or "the shell cannot execute the program"
    if exit_code and any(pattern.match(last_line) for pattern in _MISSING):
        return last_line
    return ""
