"""The values of the chart for Prometheus and Grafana."""

from typing import Annotated

from pydantic import Field

from deploy.helm.shapes import AUTO, DURATION, Create, Object, Strict


class ServiceMonitor(Strict):
    """Scrape of musterd by the Prometheus operator."""

    create: Create = Field("auto", description=AUTO)
    namespace: str = Field("", description="its namespace; the release's by default")
    labels: dict[str, str] = Field({}, description="more labels, where your Prometheus selects by them")
    interval: str = Field("5s", pattern=DURATION, description="time between two scrapes; the alerts are made for 5s")
    scrape_timeout: Annotated[str, Field(pattern=DURATION)] | None = Field(
        None, description="patience of a scrape; at most interval"
    )
    authorization: Object = Field(
        {}, description="authorization of the endpoint, in place of the token of Prometheus' own service account"
    )
    tls_config: Object = Field({}, description="tlsConfig of the endpoint; by default that of tls.secretName")
    relabelings: list[Object] = Field([], description="relabelings of the endpoint")
    metric_relabelings: list[Object] = Field([], description="metricRelabelings of the endpoint")


class PrometheusRule(Strict):
    """The recording rules and alerts; what the rules themselves read is declared in deploy/prometheus/values.py."""

    create: Create = Field("auto", description=AUTO)
    namespace: str = Field("", description="its namespace; the release's by default")
    labels: dict[str, str] = Field({}, description="more labels, where your Prometheus selects by them")


class DashboardLink(Strict):
    """A link to another system, for one experiment."""

    title: str = Field(min_length=1, max_length=40, description="what the link is called")
    url: str = Field(
        pattern=r"^(https?://|/)",
        description="its address, in which Grafana replaces ${namespace} and ${experiment}; one that begins with / is "
        "of Grafana itself",
    )


class Dashboards(Strict):
    """The Grafana dashboards, as ConfigMaps."""

    create: Create = Field("auto", description=AUTO)
    namespace: str = Field("", description="their namespace, where the sidecar looks in one only; else the release's")
    labels: dict[str, str] = Field(
        {"grafana_dashboard": "1"}, min_length=1, description="labels by which the sidecar finds them"
    )
    annotations: dict[str, str] = Field({"grafana_folder": "Muster"}, description="their annotations")
    links: list[DashboardLink] = Field(
        [], description="links of the dashboard Experiment, such as logs and traces: title and url"
    )
