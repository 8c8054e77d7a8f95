"""Keep the labels of cluster and shard in every query of a dashboard, and let the reader choose.

The rows of the dashboards are written for one cluster. ``Scope.query`` selects by the choices at the top, and writes
the labels beside each label that names something of one cluster. A sum that has none of these labels is over the chosen
clusters and shards. Where series have no such label nothing changes: an empty label and none are the same. A dashboard
of one experiment has no choice of the shard: a namespace is of one shard at a time.
"""

import re
from dataclasses import dataclass

from deploy.prometheus.clusters import SHARD

CHOICE = "cluster"
"""The variable of the dashboards. The label that it chooses has the same name by default."""

_OF_A_CLUSTER = frozenset({"namespace", "experiment", "instance", "job"})
_LISTED = re.compile(r"\b(by|on)\s*\(([^)]*)\)")
_METRIC = re.compile(r"\b((?:muster|process|python)_[a-z0-9_]+|ALERTS(?:_FOR_STATE)?)\b(\{)?")


@dataclass(frozen=True, slots=True)
class Scope:
    """Scope of the queries of a dashboard.

    ``cluster`` is the label that names the cluster, ``chosen`` the selector of the dashboard's own choices. ``many``:
    the reader may choose several clusters, and several shards.
    """

    cluster: str
    chosen: str
    many: bool

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels that name where something is."""
        return (self.cluster, SHARD) if self.many else (self.cluster,)

    def query(self, row: str) -> str:
        """Return the query of a row, with all selectors."""
        many = f'{self.cluster}=~"${CHOICE}",{SHARD}=~"${SHARD}"'
        chosen = many if self.many else f'{self.cluster}="${CHOICE}"'

        def select(found: re.Match[str]) -> str:
            return f"{found[1]}{{{chosen}{',' if found[2] else '}'}"

        def group(found: re.Match[str]) -> str:
            of_one = {name.strip() for name in found[2].split(",")} & _OF_A_CLUSTER
            return f"{found[1]} ({', '.join(self.labels)}, {found[2]})" if of_one else found[0]

        selected = _METRIC.sub(select, row.replace("@chosen", self.chosen))
        return self.named(_LISTED.sub(group, selected).replace(",}", "}"))

    def named(self, text: str) -> str:
        """Return the text with the label in place of ``@cluster``: a legend, or a sum for each cluster."""
        return text.replace("@cluster", self.cluster)
