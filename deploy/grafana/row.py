"""The declaration of a dashboard: rows, which are headings and panels, and the moments that its panels mark.

The kind of a panel is its class. A query is PromQL for one cluster: ``@chosen`` is the place of the selector of the
dashboard's own choices, ``@cluster`` that of the label that names the cluster, and the renderer adds what selects
clusters and shards. Rows are laid out by hand, with the description at the end.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deploy.grafana.palette import PLAIN, Color, Steps

Queries = str | Mapping[str, str]
"""Queries by the names of the series they return, or one without a name, whose labels Grafana lists."""


@dataclass(frozen=True, slots=True)
class Panel:
    """The fields of every panel.

    Its number stays the same when other panels are added, so that a link to one panel (``?viewPanel=panel-12``) keeps
    working. Its width is in columns of the grid, which has 24; panels follow each other from left to right. ``empty``
    is shown without data. ``links`` are names of alerts, whose runbooks are linked, and of pages.
    """

    number: int
    width: int
    title: str
    height: int = field(default=8, kw_only=True)
    empty: str = field(default="no data", kw_only=True)
    links: str = field(default="", kw_only=True)
    about: str = field(kw_only=True)


Rows = Sequence[str | Panel]
"""Parts of a dashboard, in this order. A string is a heading."""


@dataclass(frozen=True, slots=True)
class Stat(Panel):
    """The last value of each query, on a block that is colored where it needs attention.

    With ``names`` the names of the series are shown in place of their values, in these colors.
    """

    queries: Queries
    unit: str = "short"
    steps: Steps = PLAIN
    decimals: int | None = field(default=None, kw_only=True)
    names: Mapping[str, Color] | None = field(default=None, kw_only=True)
    height: int = field(default=4, kw_only=True)


@dataclass(frozen=True, slots=True)
class Graph(Panel):
    """Values over time, from zero. ``steps`` are drawn as lines; ``colors`` belong to series by their names.

    With ``exemplars`` the single durations that have a trace are shown as points, which lead to it.
    """

    queries: Queries
    unit: str = "short"
    stepped: bool = field(default=False, kw_only=True)
    steps: Steps = field(default=(), kw_only=True)
    colors: Mapping[str, Color] = field(default_factory=dict, kw_only=True)
    top: float | None = field(default=None, kw_only=True)
    exemplars: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Stack(Graph):
    """Values over time, each series on top of the one before."""


@dataclass(frozen=True, slots=True)
class Timeline(Panel):
    """States over time, a line for each series. ``states`` gives the text and the color of each value."""

    queries: Queries
    states: Mapping[int, tuple[str, Color]]
    empty: str = field(default="", kw_only=True)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: a query whose value it shows."""

    title: str
    expr: str
    unit: str = "short"
    steps: Steps = ()
    decimals: int | None = None


@dataclass(frozen=True, slots=True)
class Table(Panel):
    """A line for each set of labels: first their columns, then those of the queries.

    It is sorted by the first query, or by ``sort``. With ``owners`` a column follows for each label of owners that a
    series of the query has: which these are is a setting of musterd.
    """

    labels: str
    columns: Sequence[Column]
    sort: str = field(default="", kw_only=True)
    descending: bool = field(default=True, kw_only=True)
    owners: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice among label values. ``values`` is what Grafana asks: ``label_values(metric, label)``.

    "All" is exactly these values, as other programs may export the same metric; or it selects by ``every``.
    """

    name: str
    label: str
    values: str
    many: bool = False
    every: str = ""


@dataclass(frozen=True, slots=True)
class Mark:
    """A kind of moment that is marked on all panels over time: ``expr`` has a series above zero.

    ``title`` may name labels. Grafana calls it an annotation, and has a switch for it at the top.
    """

    name: str
    expr: str
    title: str
    color: Color


NAMESPACES = Choice("namespace", "Namespace", "label_values(muster_experiment_info, namespace)", many=True, every=".*")
"""Also those whose runs have no series of their own, and _other of the counters."""


@dataclass(frozen=True, slots=True)
class Board:
    """One dashboard. ``name`` is its file and its uid: both stay from release to release.

    Several clusters can be shown at once, if ``many``. A dashboard of one experiment shows one.
    """

    name: str
    title: str
    description: str
    rows: Rows
    choices: Sequence[Choice] = (NAMESPACES,)
    chosen: str = 'namespace=~"$namespace"'
    links: str = "about runbooks"
    marks: Sequence[Mark] = ()
    since: str = "now-6h"
    many: bool = True
