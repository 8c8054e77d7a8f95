"""Checks the name of an experiment.

The headless Service has this name, and every pod's name begins with it: ``<experiment>-<group>-<job>-<pod>-<suffix>``.
Kubernetes allows 63 characters for each, so the longest possible name depends on the longest group name and the
largest indices.
"""

import re
from collections.abc import Iterable
from typing import Final

from muster.api.manifest.groups import HEAD, SUBMITTER, Group
from muster.api.manifest.problems import quoted
from muster.api.names import name_suffix, pod_name
from muster.api.values.durations import count_of
from muster.api.values.fields import LABEL_1035, MEANING

MAX_POD_NAME: Final = 63
_NAME: Final = re.compile(LABEL_1035.replace("$", r"\Z"))
_SUFFIX: Final = name_suffix("", 0)


def longest_pod_name(name: str, groups: Iterable[Group]) -> str:
    """Return the longest name a pod of this experiment can get."""
    groups = tuple(groups)
    names = [
        pod_name(name, group.name, max(group.count - 1, 0), max(group.completions - 1, 0), _SUFFIX) for group in groups
    ]
    if not groups or groups[0].name == HEAD:
        names.append(pod_name(name, SUBMITTER, 0, 0, _SUFFIX))
    return max(names, key=len)


def check_name(name: str, groups: Iterable[Group]) -> list[tuple[str, str]]:
    """Return problems of ``name`` for an experiment of these groups, as (message, hint); empty if it is valid."""
    if len(name) > MAX_POD_NAME or not _NAME.match(name):
        proposal = slug(name)
        hint = f"write {proposal}" if proposal and proposal != name else "write a shorter one of these characters"
        return [(f"{quoted(name)} is not a name of at most {MAX_POD_NAME} {MEANING[LABEL_1035]}", hint)]
    longest = longest_pod_name(name, groups)
    return too_long(f"{longest[: -len(_SUFFIX)]}xxxxx", " of the experiment or its longest type")


def too_long(longest: str, named: str) -> list[tuple[str, str]]:
    """Return a problem if the longest pod name, ``longest``, is too long for Kubernetes; ``named`` is what to cut."""
    over = len(longest) - MAX_POD_NAME
    message = f"the longest pod name, {longest}, has {len(longest)} characters, Kubernetes allows {MAX_POD_NAME}"
    return [(message, f"cut {count_of(over, 'character')} from the name{named}")] if over > 0 else []


def slug(name: str) -> str:
    """Return the nearest valid name: ``My run #3`` becomes ``my-run-3``; empty if no character remains."""
    return re.sub(r"[^a-z0-9]+", "-", name[:200].lower()).lstrip("-0123456789")[:MAX_POD_NAME].strip("-")
