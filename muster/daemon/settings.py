"""Settings of musterd: flags, then the environment (``MUSTER_...``), then a file (``MUSTER_CONFIG``), then defaults."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_settings import (
    BaseSettings,
    CliSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    YamlConfigSettingsSource,
)
from yaml import YAMLError

from muster.api.errors import MusterError
from muster.api.values.accelerators import DEFAULT, PATTERN
from muster.api.values.owners import PATTERN as OWNERS
from muster.api.values.owners import OwnerLabels
from muster.api.values.retention import LONGEST as LONGEST_RETENTION
from muster.api.values.retention import Retention
from muster.kinds.declaration import WatchedKind
from muster.kinds.registry import RUN_KINDS, WATCHED_KINDS
from muster.kube.leaderelection.rules import LONGEST
from muster.kube.listwatch.reflector import ReflectorSettings
from muster.metrics.runbooks import SERVED, SITE

Seconds = Annotated[float, Field(gt=0)]
Port = Annotated[int, Field(ge=0, le=65535)]

NAME = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$"
"""A DNS subdomain (RFC 1123), as names of Kubernetes objects are."""
_SHARD = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?)?$"
"""A DNS label, or nothing: it is written into PromQL, YAML and HTML."""


CAN_RUN = frozenset(each.subject.plural for each in RUN_KINDS.values())
"""Resources of the kinds that can be run beside Experiments."""


class Settings(BaseSettings):
    """musterd runs Experiments and calls the roll.

    Every setting can be given as a flag (--http-port 9000), in the environment (MUSTER_HTTP_PORT=9000) or in the YAML
    file that MUSTER_CONFIG names (http_port: 9000); the first of these that has it wins.
    """

    model_config = SettingsConfigDict(
        env_prefix="MUSTER_",
        extra="forbid",
        cli_prog_name="musterd",
        cli_kebab_case=True,
        cli_implicit_flags=True,
        cli_hide_none_type=True,
        cli_avoid_json=True,
    )

    kubeconfig: Path | None = Field(
        None, description="kubeconfig file; without one KUBECONFIG, the pod's service account, ~/.kube/config"
    )
    context: str | None = Field(None, description="context of the kubeconfig; its current one by default")
    namespace: str = Field("", description="look after this namespace only; empty for all")
    shard: str = Field(
        "",
        pattern=_SHARD,
        max_length=63,
        description="name of this musterd among several of one cluster, each for namespaces of its own; series and "
        "alerts get it as the label shard",
    )
    http_host: str = Field("127.0.0.1", description="address of metrics and page; 0.0.0.0 in a pod")
    http_port: Port = Field(8080, description="its port; 0 picks a free one")
    http_authentication: Literal["auto", "always"] = Field(
        "auto", description="auto asks readers for a token of the cluster unless http-host is a loopback address"
    )
    http_tls_cert: Path | None = Field(
        None,
        description="PEM file of a certificate with its chain: metrics and page are then https only; files that "
        "change are loaded again",
    )
    http_tls_key: Path | None = Field(None, description="PEM file of its key")
    http_names: str = Field("", description="Host names of it (a Service, an Ingress), separated by commas")
    runbook_url: str = Field(
        SERVED,
        pattern=rf"^({SITE}|{SERVED})?$",
        description="where the runbooks are, to which the page links: musterd's own, or a site of yours with "
        "docs/runbooks; no links if empty",
    )
    health_host: str = Field("0.0.0.0", description="address of the listener for the kubelet's probes")  # noqa: S104
    health_port: Port | None = Field(None, description="its port for /livez and /readyz; http-port by default")
    progress_host: str = Field("0.0.0.0", description="address of the progress endpoint for members")  # noqa: S104
    progress_port: Port | None = Field(
        None, description="its port, for members of experiments with progressEndpoint; no endpoint without one"
    )
    progress_url: str = Field(
        "",
        pattern=r"^(https://[A-Za-z0-9.:\[\]-]+)?$",
        description="https address of the endpoint's Service, without a path",
    )
    progress_tls_cert: Path | None = Field(
        None, description="PEM file of its certificate with its chain; http-tls-cert by default"
    )
    progress_tls_key: Path | None = Field(None, description="PEM file of its key")
    progress_ca: Path | None = Field(None, description="PEM file of that certificate's authority, for members")
    pod_address: str = Field(
        "",
        pattern=r"^[0-9A-Fa-f.:]*$",
        description="IP address of this musterd for standbys, which forward readers and posts",
    )
    kueue: bool = Field(
        False, description="queue Experiments that have the label kueue.x-k8s.io/queue-name with Kueue (v1beta2)"
    )
    node_labels: bool = Field(
        False, description="read the labels of nodes that name a rack, pool or zone, for incidents"
    )
    node_history: bool = Field(
        False,
        description="store the history of nodes in the ConfigMap LEASE-NAME-nodes of lease-namespace, for later "
        "leaders",
    )
    log_format: Literal["auto", "json", "pretty"] = Field(
        "auto", description="auto is pretty on a terminal and JSON elsewhere"
    )
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        "info", description="least important messages to log"
    )
    write_concurrency: int = Field(
        32,
        ge=1,
        le=1024,
        description="concurrent requests for one namespace alone; four times as many for all",
    )
    watch_silence: Seconds = Field(
        ReflectorSettings().silence,
        description="seconds without a byte after which a watch is opened again",
    )
    shutdown_timeout: Seconds = Field(20.0, description="seconds all stages of a shutdown may take together")
    leader_elect: bool = Field(False, description="run beside other musterds: one leads (a Lease decides)")
    lease_name: str = Field("musterd", pattern=NAME, max_length=253, description="name of the Lease")
    lease_namespace: str = Field(
        "",
        pattern=f"{NAME}|^$",
        max_length=63,
        description="its namespace; the daemon's own in a cluster, else default",
    )
    lease_duration: Seconds = Field(
        15.0, le=LONGEST, description="seconds without a renewal after which another daemon takes the Lease"
    )
    renew_deadline: Seconds = Field(
        10.0, description="seconds after its last renewal at which a leader has stopped all work; below lease-duration"
    )
    retry_period: Seconds = Field(2.0, description="seconds between two renewals; at most half of renew-deadline")
    run_kinds: str = Field(
        "jobsets",
        pattern=r"^[a-z]+(,[a-z]+)*$",
        description="kinds to run beside Experiments, separated by commas: jobsets (with managedBy "
        "muster.dev/muster), jaxjobs (that name no other manager); or none",
    )
    otlp_endpoint: str = Field(
        "",
        pattern=r"^(https?://\S+)?$",
        description="address of an OpenTelemetry collector, such as http://collector:4318, for a trace of each "
        "experiment (extra tracing); none by default. OTEL_EXPORTER_OTLP_HEADERS and its like hold",
    )
    alone: bool = Field(
        False,
        description="no other controller runs in this cluster: an object of a watched kind without pods shows that "
        "nothing runs it",
    )
    watch_kinds: str = Field(
        "",
        pattern=r"^([a-z]+(,[a-z]+)*)?$",
        description="kinds of runs of other controllers to watch, by their plurals separated by commas, or all; pods "
        "are those with the label muster.dev/observe",
    )
    accelerators: str = Field(
        DEFAULT,
        pattern=PATTERN,
        max_length=2000,
        description="extended resources that count as accelerators, separated by commas; a name may begin or end "
        "with *",
    )
    owner_labels: str = Field(
        "",
        pattern=OWNERS,
        max_length=2000,
        description="labels of runs that name their owners, separated by commas, at most eight (docs/platform.md)",
    )
    retention: str = Field(
        "",
        max_length=LONGEST_RETENTION,
        description="how long finished Experiments without ttlAfterFinished stay, such as 30d,ci=12h,archive=keep; "
        "all stay if empty",
    )
    uvloop: bool = Field(True, description="use uvloop where it is installed")

    @property
    def run(self) -> frozenset[str]:
        """The resources of the kinds to run beside Experiments."""
        return frozenset(self.run_kinds.split(",")) - {"none"}

    @property
    def watched(self) -> Mapping[str, WatchedKind]:
        """The kinds to watch over, outermost first."""
        asked = set(filter(None, self.watch_kinds.split(",")))
        return {name: kind for name, kind in WATCHED_KINDS.items() if asked & {name, "all"}}

    @model_validator(mode="after")
    def _lists_can_be_read(self) -> Self:
        if strange := set(filter(None, self.watch_kinds.split(","))) - WATCHED_KINDS.keys() - {"all"}:
            known = ", ".join((*sorted(WATCHED_KINDS), "all"))
            raise ValueError(f"watch_kinds: {', '.join(sorted(strange))} is not one of {known}")
        if unknown := self.run - CAN_RUN:
            known = ", ".join(sorted(CAN_RUN))
            raise ValueError(f"run_kinds: {', '.join(sorted(unknown))} is not one of {known}")
        OwnerLabels.of_list(self.owner_labels)
        try:
            Retention.of_list(self.retention)
        except ValueError as error:
            raise ValueError(f"retention: {error}") from None
        return self

    @model_validator(mode="after")
    def _certificates_are_whole(self) -> Self:
        for of in ("http", "progress"):
            if (getattr(self, f"{of}_tls_cert") is None) != (getattr(self, f"{of}_tls_key") is None):
                raise ValueError(f"{of}_tls_cert and {of}_tls_key go together: a certificate and its key")
        endpoint = self.progress_port is not None
        if endpoint and self.progress_certificate is None:
            raise ValueError("progress_port needs progress_tls_cert and progress_tls_key: tokens are sent by TLS only")
        if endpoint and (not self.progress_url or self.progress_ca is None):
            raise ValueError("progress_port needs progress_url and progress_ca, which members are given")
        return self

    @property
    def progress_certificate(self) -> tuple[Path, Path] | None:
        """Certificate and key of the progress endpoint."""
        pair = self.progress_tls_cert or self.http_tls_cert, self.progress_tls_key or self.http_tls_key
        return (pair[0], pair[1]) if pair[0] is not None and pair[1] is not None else None

    @model_validator(mode="after")
    def _lease_times_leave_room(self) -> Self:
        if self.lease_duration <= self.renew_deadline:
            raise ValueError(
                f"lease_duration ({self.lease_duration:g} s) must be longer than renew_deadline "
                f"({self.renew_deadline:g} s): the difference is what keeps two daemons from leading at once"
            )
        if self.renew_deadline < 2 * self.retry_period:
            raise ValueError(
                f"renew_deadline ({self.renew_deadline:g} s) must be at least twice retry_period "
                f"({self.retry_period:g} s), or one slow answer costs the leadership"
            )
        return self

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - passed by name
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - passed by name
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Return the sources in their order: flags, environment, file. Raises ``MusterError`` for an unusable file."""
        file = os.environ.get("MUSTER_CONFIG")
        sources = (init_settings, env_settings)
        if not file:
            return sources
        try:
            Path(file).expanduser().stat()  # pydantic takes a file that does not exist for an empty one
            return (*sources, YamlConfigSettingsSource(settings_cls, yaml_file=file))
        except (OSError, ValueError, YAMLError) as error:
            raise MusterError(f"MUSTER_CONFIG={file}: {error}") from error


def from_command_line(arguments: list[str] | None = None) -> Settings:
    """Return the settings, flags first. Exits with 2 and a usage message for a wrong flag, with 0 after ``--help``."""
    given = sys.argv[1:] if arguments is None else arguments
    source: CliSettingsSource[Any] = CliSettingsSource(Settings, cli_parse_args=given)
    return Settings(_cli_settings_source=source)
