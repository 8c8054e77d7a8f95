"""Keep the labels of the cluster and of the shard in every rule.

One Prometheus, or one ruler over several of them, may evaluate the rules for many clusters. The rows of this folder are
written for one; ``kept`` writes the label into each aggregation and each join, so that a statement about one cluster is
never answered by another. The same holds for the shards of a cluster: several musterds side by side, each for its
namespaces, whose series have the label ``shard``. Where series have no such label nothing changes: an empty label and
none are the same.

The rules of a release of the chart with a shard are about that shard alone: ``of_shard`` writes a place for the
selector into each query. So no recording is made twice, and each release misses a musterd of its own, however many are
installed.
"""

import re

LABEL = "cluster"
"""The default of the chart's ``prometheusRule.clusterLabel``, and the usual name."""

SHARD = "shard"
"""The label that names the shard: the chart gives it to series and rules by the value ``settings.shard``."""
ALONE, AMONG = "only", "and"
"""Placeholders of the selector of the shard: all of it, and with its opening brace where other ones follow."""

_LISTED = re.compile(r"\b(by|on)\s*\(([^)]*)\)")
_BARE = re.compile(r"\b(sum|min|max|avg|count|group|stddev|stdvar|topk|bottomk|quantile|count_values)\s*\(")
_SERIES = re.compile(r"(?<![\w:])((?:[a-z]+:)?muster_(?:[a-z0-9_:]|@\{\w+\})+|up|ALERTS)\b(?!\()(\{)?")
_QUOTED = re.compile(r'("[^"]*")')
_OUT = re.compile(r"\b(without|ignoring)\b")


def kept(expr: str, label: str) -> str:
    """Return the expression with both labels in each list of ``by`` and ``on``, and in aggregations that have no list.

    Raises ``ValueError`` for ``without`` and ``ignoring``: what they keep depends on labels that are not seen here.
    """
    if _OUT.search(expr):
        raise ValueError(f"aggregate with by and join with on, so that the label {label} is kept: {expr}")
    both = f"{label}, {SHARD}"
    listed = _LISTED.sub(lambda found: f"{found[1]} ({both}{', ' if found[2].strip() else ''}{found[2]})", expr)
    return _BARE.sub(lambda found: f"{found[1]} by ({both}) (", listed)


def of_shard(expr: str) -> str:
    """Return the expression with a place for the selector of the shard in each query."""

    def select(found: re.Match[str]) -> str:
        return f"{found[1]}@{{{AMONG if found[2] else ALONE}}}"

    # Every second part is a text between quotes.
    parts = _QUOTED.split(expr)
    return "".join(part if place % 2 else _SERIES.sub(select, part) for place, part in enumerate(parts))
