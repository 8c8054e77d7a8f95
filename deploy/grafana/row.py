"""What a dashboard is declared as: rows of panels.

A panel is drawn by the kind of its row: ``Stat``, ``Graph``, ``Timeline`` or ``Table``.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from deploy.grafana.links import ABOUT, Link
from deploy.grafana.marks import Mark
from deploy.grafana.palette import PLAIN, Steps

Queries = str | Mapping[str, str]
"""PromQL expressions by the names of the series they return, or one without a name, whose labels Grafana lists."""

STAT_HEIGHT = 4
HEIGHT = 8


@dataclass(frozen=True, slots=True)
class Panel:
    """What every panel has.

    ``head`` is its id, its width in columns of the grid, which has 24, and its title. The id stays the same when other
    panels are added, so that a link to one panel (``?viewPanel=panel-12``) goes on working. A string among the links is
    an alert, whose runbook is linked. ``empty`` is shown where there is no data.
    """

    head: tuple[int, int, str]
    description: str
    links: Sequence[Link | str] = field(default=(), kw_only=True)
    empty: str = field(default="no data", kw_only=True)


@dataclass(frozen=True, slots=True)
class Stat(Panel):
    """The last value of each query. With ``name_colors`` the series' names are shown in place of their values.

    The block is colored where it needs attention: calm colors are left out.
    """

    queries: Queries
    unit: str = "short"
    steps: Steps = PLAIN
    name_colors: Mapping[str, str] | None = field(default=None, kw_only=True)
    decimals: int | None = field(default=None, kw_only=True)


@dataclass(frozen=True, slots=True)
class Graph(Panel):
    """Values over time, from zero. ``steps`` are drawn as lines; ``colors`` belong to series by their names.

    With ``exemplars`` the single durations that have a trace are shown as points, which lead to it.
    """

    queries: Queries
    unit: str = "short"
    stacked: bool = field(default=False, kw_only=True)
    stepped: bool = field(default=False, kw_only=True)
    steps: Steps = field(default=(), kw_only=True)
    colors: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    top: float | None = field(default=None, kw_only=True)
    exemplars: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Timeline(Panel):
    """States over time, a line for each series. ``states`` gives the text and the color of each value."""

    queries: Queries
    states: Mapping[int, tuple[str, str]]


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

    ``cell_links`` open from the cells of the label that they are given for. With ``owners`` a column follows for each
    label of owners that a series of the query has: which these are is a setting of musterd.
    """

    columns: Sequence[Column]
    labels: Sequence[str] = field(kw_only=True)
    sort: str = field(kw_only=True)
    descending: bool = field(default=True, kw_only=True)
    cell_links: Mapping[str, Sequence[Link]] = field(default_factory=dict, kw_only=True)
    height: int = field(default=HEIGHT, kw_only=True)
    owners: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice among label values. ``values`` is what Grafana asks: ``label_values(metric, label)``."""

    name: str
    label: str
    values: str
    many: bool = False


NAMESPACES = Choice("namespace", "Namespace", "label_values(muster_experiment_info, namespace)", many=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """One dashboard: panels under headings. ``name`` is its file and its uid: both stay from release to release."""

    name: str
    title: str
    description: str
    rows: Mapping[str, Sequence[Panel]]
    choices: Sequence[Choice] = (NAMESPACES,)
    links: Sequence[Link] = ABOUT
    marks: Sequence[Mark] = ()
    since: str = "now-6h"
    many: bool = True
    """Several clusters can be shown at once. A dashboard of one experiment shows one."""
