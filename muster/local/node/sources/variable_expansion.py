"""Expansion of `$(VAR)` in env values, command and args.

By the rules of k8s.io/kubernetes/third_party/forked/golang/expansion: `$(NAME)` is replaced by the value of the
variable, and kept if there is no such variable. `$$` is one dollar, so `$$(NAME)` gives `$(NAME)`. An unclosed `$(` and
any other `$x` are kept. Values are not expanded again.
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
