"""Keep the cluster label in every query of a dashboard, and let the reader choose.

The rows of the dashboards are written for one cluster. ``kept`` selects by the choice at the top, and writes the label
beside each label that names something of one cluster. A sum that has none of these labels is over the chosen clusters.
Where series have no such label nothing changes: an empty label and none are the same.
"""

import re

CHOICE = "cluster"
"""The variable of the dashboards. The label that it chooses has the same name by default."""

_OF_A_CLUSTER = frozenset({"namespace", "experiment", "instance", "job"})
_LISTED = re.compile(r"\b(by|on)\s*\(([^)]*)\)")
_METRIC = re.compile(r"\b((?:muster|process|python)_[a-z0-9_]+|ALERTS(?:_FOR_STATE)?)\b(\{)?")


def kept(expr: str, label: str, *, many: bool) -> str:
    """The query with the label. ``many``: the reader may choose several clusters."""
    chosen = f'{label}{"=~" if many else "="}"${CHOICE}"'

    def select(found: re.Match[str]) -> str:
        return f"{found[1]}{{{chosen}{',' if found[2] else '}'}"

    def group(found: re.Match[str]) -> str:
        of_one = {name.strip() for name in found[2].split(",")} & _OF_A_CLUSTER
        return f"{found[1]} ({label}, {found[2]})" if of_one else found[0]

    return named(_LISTED.sub(group, _METRIC.sub(select, expr)).replace(",}", "}"), label)


def named(text: str, label: str) -> str:
    """The text with the label where a row says ``@cluster``: a legend, or a sum for each cluster."""
    return text.replace("@cluster", label)
