"""`$(VAR)` in env values, command and args, by the rules of k8s.io/kubernetes/third_party/forked/golang/expansion.

`$(NAME)` becomes the variable's value if there is one and stays as it is if not; `$$` is one dollar, so `$$(NAME)`
yields `$(NAME)`; an unclosed `$(` and any other `$x` stay as they are. Values are not expanded a second time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))", re.DOTALL)


def expand(text: str, variables: Mapping[str, str]) -> str:
    """`text` with its references replaced."""

    def replace(match: re.Match[str]) -> str:
        name = match.group(1)
        if name is None:
            return "$"
        return variables.get(name, match.group(0))

    return _REFERENCE.sub(replace, text)
