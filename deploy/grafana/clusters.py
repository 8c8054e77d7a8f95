"""Keep the labels of cluster and shard in every query of a dashboard, and let the reader choose.

The rows of the dashboards are written for one cluster. ``kept`` selects by the choices at the top, and writes the
labels beside each label that names something of one cluster. A sum that has none of these labels is over the chosen
clusters and shards. Where series have no such label nothing changes: an empty label and none are the same. A dashboard
of one experiment has no choice of the shard: a namespace is of one shard at a time.
"""

import re

from deploy.prometheus.clusters import SHARD

CHOICE = "cluster"
"""The variable of the dashboards. The label that it chooses has the same name by default."""

_OF_A_CLUSTER = frozenset({"namespace", "experiment", "instance", "job"})
_LISTED = re.compile(r"\b(by|on)\s*\(([^)]*)\)")
_METRIC = re.compile(r"\b((?:muster|process|python)_[a-z0-9_]+|ALERTS(?:_FOR_STATE)?)\b(\{)?")


def kept(expr: str, label: str, *, many: bool) -> str:
    """The query with the labels. ``many``: the reader may choose several clusters, and several shards."""
    chosen = f'{label}=~"${CHOICE}",{SHARD}=~"${SHARD}"' if many else f'{label}="${CHOICE}"'
    both = f"{label}, {SHARD}" if many else label

    def select(found: re.Match[str]) -> str:
        return f"{found[1]}{{{chosen}{',' if found[2] else '}'}"

    def group(found: re.Match[str]) -> str:
        of_one = {name.strip() for name in found[2].split(",")} & _OF_A_CLUSTER
        return f"{found[1]} ({both}, {found[2]})" if of_one else found[0]

    return named(_LISTED.sub(group, _METRIC.sub(select, expr)).replace(",}", "}"), label)


def named(text: str, label: str) -> str:
    """The text with the label where a row says ``@cluster``: a legend, or a sum for each cluster."""
    return text.replace("@cluster", label)
