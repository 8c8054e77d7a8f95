"""Moments that are marked on all panels over time. Grafana calls them annotations; each has a switch at the top."""

from dataclasses import dataclass

from grafana_foundation_sdk.cog.builder import Builder
from grafana_foundation_sdk.models import dashboard as model

from deploy.grafana.palette import BLUE, GREY, PURPLE
from deploy.grafana.promql import ONE, STEP

SOURCE = model.DataSourceRef(type_val="prometheus", uid="${datasource}")
"""The Prometheus that the reader chooses at the top of the dashboard."""


class _Annotation(model.AnnotationQuery):
    """An annotation of a Prometheus data source, which has a title; the SDK knows no such field."""

    title_format: str = ""

    def to_json(self) -> dict[str, object]:
        return super().to_json() | {"titleFormat": self.title_format}


@dataclass(frozen=True, slots=True)
class Mark(Builder[model.AnnotationQuery]):
    """One kind of moment: the points at which ``expr`` has a series above zero. ``title`` may name its labels."""

    name: str
    expr: str
    title: str
    color: str

    def build(self) -> model.AnnotationQuery:
        """What Grafana reads, for the builder of the dashboard."""
        built = _Annotation(name=self.name, datasource=SOURCE, icon_color=self.color, expr=self.expr)
        built.title_format = self.title
        return built


_RESTARTS = f"max by (reason) (muster_experiment_restarts_total{{{ONE}}}"
_SEEN_BEFORE = f"max(muster_experiment_gang_restarts_total{{{ONE}}} offset {STEP})"

RESTARTS = Mark(
    "Restarts",
    f"{_RESTARTS}) - ({_RESTARTS} offset {STEP}) or {_RESTARTS}) * 0) > 0 and on () {_SEEN_BEFORE}",
    "Restart: {{reason}}",
    PURPLE,
)
"""The restarts of one experiment. The series of a reason begins with its first restart, so no rate shows that one."""

LEADERS = Mark(
    "Changes of the leader",
    "max by (instance) (muster_leader) == 1 unless on (instance) "
    f"max by (instance) (last_over_time(muster_leader[10m] offset {STEP})) == 1",
    "{{instance}} leads",
    BLUE,
)
"""Each daemon that leads and did not when it was scraped before. One whose scrapes failed for a while led before."""

VERSIONS = Mark(
    "Versions of musterd",
    "max by (version) (muster_build_info) unless on (version) "
    f"max by (version) (last_over_time(muster_build_info[10m] offset {STEP}))",
    "musterd {{version}} runs",
    GREY,
)
"""Each version that runs and did not before, so that what changed can be set against an upgrade."""
