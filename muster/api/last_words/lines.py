"""Lines of a log that do not explain an end, though they may be the last: rules, banners, warnings of libraries."""

import re
from typing import Final

LONGEST: Final = 1_024
"""Characters of a line that are looked at."""

_RULE = frozenset("=-_*#~+─━═╭╮╰╯│ ")
"""Characters of lines that only part other lines."""
_NOISE = re.compile(
    r"^\s*(@ +0x|\*\*\* )"  # a frame of C++ code
    r"|^\s*[EFIW]\d{4} \d\d:|^(\[\S{1,40}\]:\s?)?\[[IW]\d{4} \d\d:"  # lines of absl's log, and of torch's
    r"|^\[Gloo\] Rank \d+ is connected to "
    r"|thus NOT reported|terminate unexpectedly|until terminated by a signal|check your firewall settings"
    r"|^\s*ray stop$|^--block$"  # the banner with which ``ray start`` ends
    r"|^wandb: (?!ERROR)"  # the banner with which it begins and ends
    r"|^ERROR conda\.cli\.main_run:"
    r"|^\S{1,253}:\d{1,9}: \w{0,80}Warning: |^\s*warnings\.warn\("  # a warning of Python, and its line of source
    r"|^(?:DEBUG|INFO):|^WARNING: All log messages before absl::"  # lines of Python's logging, and of absl's
)


def is_noise(line: str) -> bool:
    """Return True if the line does not explain the program's end."""
    said = line[:LONGEST]
    return not said.strip() or _RULE.issuperset(said) or _NOISE.search(said) is not None


def last_of(lines: list[str]) -> str:
    """Return the last line that is not empty; empty if that does not explain an end."""
    at = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].strip()), -1)
    if at < 0 or is_noise(lines[at]):
        return ""
    source_of_a_warning = lines[at][0].isspace() and at > 0 and _is_warning(lines[at - 1])
    return "" if source_of_a_warning else lines[at].strip()


def _is_warning(line: str) -> bool:
    return re.match(r"\S{1,253}:\d{1,9}: \w{0,80}Warning: ", line) is not None
