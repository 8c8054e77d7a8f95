"""Regular expressions that users write.

They are matched by RE2, which takes time linear in the text whatever the pattern is, and is the syntax of JobSet's
``onJobFailureMessagePatterns`` (RE2: no back references, no look-around). Pattern and text have a bounded length.
"""

from functools import lru_cache
from typing import Any, Final

MAX_PATTERN: Final = 256
"""Characters."""
MAX_TEXT: Final = 4_096
"""Characters of a text that are searched: its last ones, because the cause of an end comes last."""
_MEMORY: Final = 1 << 20
"""Bytes that a compiled pattern may take."""


class PatternError(ValueError):
    """The pattern cannot be used; the message has the reason."""


@lru_cache(maxsize=512)
def compiled(pattern: str) -> Any:
    """Return the compiled pattern. Raises ``PatternError``."""
    if len(pattern) > MAX_PATTERN:
        raise PatternError(f"a pattern of {len(pattern)} characters; at most {MAX_PATTERN} are taken")
    import re2  # few manifests have a pattern

    options = re2.Options()
    options.log_errors = False
    options.max_mem = _MEMORY
    try:
        return re2.compile(pattern, options)
    except re2.error as error:
        why = error.args[0] if error.args else error
        raise PatternError(
            f"not a regular expression of RE2: {why.decode() if isinstance(why, bytes) else why}"
        ) from None


def found_in(pattern: str, text: str) -> bool:
    """Return True if the pattern is found in the text."""
    return compiled(pattern).search(text[-MAX_TEXT:]) is not None
