"""The values of the chart, as models: values.yaml, values.schema.json and the table in docs/chart.md come from here.

The settings of musterd are taken from ``muster.daemon.settings``, so each has the bounds that the program checks.
"""

from typing import Annotated, Any, Literal

from pydantic import Field, create_model

from deploy.helm.monitoring import Dashboards, PrometheusRule, ServiceMonitor
from deploy.helm.shapes import HOSTS, LABEL, Object, Port, Strict, listed
from muster.api.values import retention
from muster.api.values.durations import PATTERN
from muster.daemon.settings import CAN_RUN, NAME, Settings
from muster.kinds.registry import WATCHED_KINDS

NOT_IN_THE_CHART = {
    "kubeconfig": "in a cluster musterd is its service account, and has the rights that the chart grants to it",
    "context": "goes with kubeconfig",
    "kueue": "kueue.enabled sets it, and grants the rights that go with it",
    "runbook_url": "prometheusRule.runbookUrl sets it, for the page and for the alerts",
    "watch_kinds": "watch.kinds sets it, and grants the rights that go with it",
    "http_tls_cert": "tls.secretName sets it, and mounts the Secret",
    "http_tls_key": "goes with http_tls_cert",
    "progress_host": "the pod listens for its Service",
    "progress_port": "progress.port sets it, where progress.secretName names a certificate",
    "progress_url": "that of the Service",
    "progress_tls_cert": "progress.secretName sets it, and mounts the Secret",
    "progress_tls_key": "goes with progress_tls_cert",
    "progress_ca": "ca.crt of that Secret",
    "pod_address": "the pod's own address",
    "alone": "it is for muster local: other controllers may run in a cluster",
}
"""Settings that are no value, and why. The environment reaches them all the same: extraEnv, MUSTER_KUBECONFIG."""


SHUTDOWN = f"{Settings.model_fields['shutdown_timeout'].default:g}"


class PullSecret(Strict):
    """A Secret in the namespace of the release."""

    name: str = Field(min_length=1, description="its name")


class Image(Strict):
    """The image of musterd."""

    repository: str = Field("musterd", min_length=1, description="name with its registry: yours, built by `make image`")
    tag: str = Field("", description="tag; the chart's appVersion by default")
    digest: str = Field(
        "", pattern=r"^(sha256:[0-9a-f]{64})?$", description="digest (sha256:...); it is taken in place of the tag"
    )
    pull_policy: Literal["Always", "IfNotPresent", "Never"] | None = Field(None, description="imagePullPolicy")
    pull_secrets: list[PullSecret] = Field([], description="imagePullSecrets: `{name}` of each Secret for the registry")


class Crds(Strict):
    """The custom resource definition."""

    install: bool = Field(True, description="install and upgrade the kind Experiment; uninstalling keeps it")


class MetricsReader(Strict):
    """A service account."""

    namespace: str = Field(pattern=LABEL, description="its namespace")
    service_account: str = Field(min_length=1, description="its name")


class Rbac(Strict):
    """Roles and bindings."""

    create: bool = Field(True, description="grant the service accounts the rights that they use")
    reviews: bool = Field(
        True, description="let musterd check readers (a ClusterRole); without it page and metrics cannot be read"
    )
    user_roles: bool = Field(
        True, description="create the ClusterRoles of readers; false for a second release in a cluster"
    )
    metrics_readers: list[MetricsReader] = Field(
        [], description="service accounts that may scrape /metrics: Prometheus' `{namespace, serviceAccount}`"
    )


class Kueue(Strict):
    """Experiments in the queues of Kueue."""

    enabled: bool = Field(
        False, description="queue Experiments with the label kueue.x-k8s.io/queue-name; Kueue may be installed later"
    )


class Watch(Strict):
    """Runs of other controllers."""

    kinds: str = Field(
        "",
        pattern=f"^({listed(WATCHED_KINDS, 'all')})?$",
        description="kinds of runs of other controllers to watch, separated by commas: "
        f"{', '.join(WATCHED_KINDS)}, or all",
    )
    deadlines: bool = Field(
        False, description="let musterd suspend or delete a watched object with muster.dev/on-deadline"
    )
    events: bool = Field(
        True,
        description="let musterd list Events of a pod without volumes or network, and of a watched object without "
        "pods; else their reason is not known",
    )


class ServiceAccount(Strict):
    """The identity of musterd."""

    create: bool = Field(True, description="create the service accounts")
    name: str = Field("", description="its name; that of all objects by default")
    annotations: dict[str, str] = Field({}, description="its annotations")


class Service(Strict):
    """The Service of the roll-call page and the metrics."""

    create: bool = Field(True, description="create it; the ServiceMonitor needs it")
    type: Literal["ClusterIP", "NodePort", "LoadBalancer"] = Field("ClusterIP", description="its type")
    port: Port = Field(8080, description="its port")
    annotations: dict[str, str] = Field({}, description="its annotations")


class IngressTls(Strict):
    """A certificate of the Ingress."""

    hosts: list[Annotated[str, Field(pattern=HOSTS)]] = Field([], description="the host names that it is for")
    secret_name: str = Field("", pattern=f"{NAME}|^$", description="Secret of the type kubernetes.io/tls")


class Ingress(Strict):
    """The roll-call page for browsers."""

    host: str = Field(
        "", pattern=f"{NAME}|^$", description="host name by which browsers reach the page; no Ingress if empty"
    )
    class_name: str = Field("", description="ingressClassName; the cluster's default if empty")
    tls: list[IngressTls] = Field(
        [], description="https: `{secretName, hosts}` of each certificate; hosts are `ingress.host` by default"
    )
    annotations: dict[str, str] = Field({}, description="its annotations")


class PriorityClass(Strict):
    """Priority that keeps the scheduler from evicting musterd for the runs that it looks after."""

    create: bool = Field(
        True, description="create a PriorityClass and give it to the pods, unless priorityClassName is set"
    )
    value: int = Field(1_000_000_000, ge=0, le=1_000_000_000, description="its value; the highest for users by default")


class Prune(Strict):
    """`muster prune` as a CronJob, which deletes experiments that ended long ago, with any spec."""

    enabled: bool = Field(False, description="make the CronJob of `muster prune`; its service account is NAME-prune")
    schedule: str = Field("17 3 * * *", min_length=9, max_length=100, description="when, as cron writes it")
    older_than: str = Field(
        "30d", min_length=2, max_length=64, pattern=PATTERN, description="time since the end: 12h, 30d, 2w"
    )
    phases: list[Literal["Succeeded", "Failed"]] = Field([], description="only those that ended so; all if empty")
    resources: Object = Field(
        {"requests": {"cpu": "50m", "memory": "96Mi"}, "limits": {"memory": "512Mi"}},
        description="resources of its container",
    )


class FlowSchema(Strict):
    """API priority and fairness for the Lease."""

    create: bool = Field(
        True, description="give renewals of the Lease the priority level of Kubernetes' own leader elections"
    )
    matching_precedence: int = Field(150, ge=1, le=10_000, description="its matchingPrecedence")


class Tls(Strict):
    """Service of the page and the metrics by https."""

    secret_name: str = Field(
        "", description="a Secret of the type kubernetes.io/tls: page and metrics are then https only"
    )


class Progress(Strict):
    """The endpoint to which members send their progress (spec.progressEndpoint)."""

    secret_name: str = Field(
        "",
        description="a Secret of the type kubernetes.io/tls with ca.crt, for the name NAME-progress.NAMESPACE.svc; "
        "no endpoint without it",
    )
    port: Port = Field(8443, description="port of the endpoint, and of its Service NAME-progress")


class NetworkPolicy(Strict):
    """Clients that may reach musterd, and what it may reach."""

    create: bool = Field(True, description="create the NetworkPolicy")
    from_: list[Object] = Field(
        [{"namespaceSelector": {"matchLabels": {"metrics": "enabled"}}}],
        alias="from",
        description="peers that may reach the page and the metrics; an empty list for none",
    )
    member_namespaces: Object = Field(
        {}, description="LabelSelector of the namespaces whose pods may send their progress; all if empty"
    )
    api_server_ports: list[Port] = Field([443, 6443], min_length=1, description="ports of the API server")
    egress: list[Object] = Field([], description="more egress rules")


class PodDisruptionBudget(Strict):
    """Number of replicas that a drain may take."""

    create: bool = Field(True, description="create the PodDisruptionBudget")
    max_unavailable: int = Field(1, ge=1, description="replicas that may be missing at the same time")
    min_available: int | None = Field(None, ge=0, description="replicas that must be there, in place of maxUnavailable")


SETTINGS: dict[str, Any] = {
    "http_host": "0.0.0.0",  # noqa: S104 - a pod; readers send tokens
    "http_port": 8080,
    "health_port": 8081,
    "leader_elect": True,
}
"""Settings that the chart sets: the program's default is another, or other objects need it, too."""

DESCRIPTIONS = {
    "http_port": "port of the page and the metrics in the pod",
    "http_names": "more Host names that lead to the page (an Ingress), separated by commas; those of the Service "
    "and addresses are known",
    "health_port": "port of the kubelet's probes in the pod",
    "leader_elect": "one replica leads (a Lease decides); false for a single replica",
    "lease_name": "name of the Lease; that of all objects by default",
    "lease_namespace": "its namespace; the release's by default",
}
"""Descriptions of settings that mean more, or other, than to the program."""
TYPES: dict[str, Any] = {
    "http_port": Port,
    "health_port": Port,
    "namespace": Annotated[str, Field(pattern=f"{LABEL}|^$", max_length=63)],
    "retention": Annotated[str, Field(pattern=retention.PATTERN, max_length=retention.LONGEST)],
    "run_kinds": Annotated[str, Field(pattern=f"^({listed(sorted(CAN_RUN))}|none)$")],
}
"""Types of settings for which the chart is stricter than the program."""


def _settings() -> type[Strict]:
    """Return a model with a field per setting; None leaves it to the program."""
    fields: dict[str, Any] = {}
    for name, field in Settings.model_fields.items():
        if name in NOT_IN_THE_CHART:
            continue
        kind = TYPES.get(name, Annotated[field.annotation, *(field.metadata or [name])])
        ours = name in SETTINGS or name in DESCRIPTIONS or field.default in (None, "")
        default = "" if ours else f" (musterd's default: {shown(field.default)})"
        described = f"{DESCRIPTIONS.get(name, field.description)}{default}"
        fields[name] = (kind if name in SETTINGS else kind | None, Field(SETTINGS.get(name), description=described))
    return create_model("MusterdSettings", __base__=Strict, __doc__="Settings of musterd.", **fields)


def shown(value: Any) -> str:
    """Return a value as YAML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


MusterdSettings = _settings()


class Values(Strict):
    """All values of the chart."""

    name_override: str = Field(
        "",
        pattern=f"{LABEL}|^$",
        max_length=40,
        description="in place of musterd: every object is then called RELEASE-NAME",
    )
    fullname_override: str = Field(
        "", pattern=f"{LABEL}|^$", max_length=50, description="name of every object, and of the Lease; musterd if empty"
    )
    replicas: int = Field(2, ge=0, le=9, description="one leads")
    image: Image = Field(Image(), description="the image of musterd")
    settings: MusterdSettings = Field(  # type: ignore[valid-type]
        MusterdSettings(), description="the settings of `musterd --help`; null leaves a setting to the program"
    )
    crds: Crds = Field(Crds(), description="the custom resource definition")
    kueue: Kueue = Field(Kueue(), description="Experiments in the queues of Kueue")
    watch: Watch = Field(Watch(), description="runs of other controllers that are watched over")
    rbac: Rbac = Field(Rbac(), description="roles and bindings")
    service_account: ServiceAccount = Field(ServiceAccount(), description="the identity of musterd")
    service: Service = Field(Service(), description="the Service of the roll-call page and the metrics")
    ingress: Ingress = Field(Ingress(), description="the roll-call page for browsers")
    external_url: str = Field(
        "",
        pattern=r"^(https?://[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]{1,5})?/?)?$",
        description="address of the page from outside, where another way than `ingress` leads there",
    )
    tls: Tls = Field(Tls(), description="https for the page and the metrics")
    progress: Progress = Field(Progress(), description="where members send their progress, by Kubeflow's protocol")
    network_policy: NetworkPolicy = Field(NetworkPolicy(), description="who may reach musterd, and what it may reach")
    pod_disruption_budget: PodDisruptionBudget = Field(
        PodDisruptionBudget(), description="how many replicas a drain may take"
    )
    service_monitor: ServiceMonitor = Field(ServiceMonitor(), description="how the Prometheus operator scrapes musterd")
    prometheus_rule: PrometheusRule = Field(PrometheusRule(), description="the recording rules and alerts")
    dashboards: Dashboards = Field(Dashboards(), description="the Grafana dashboards, as ConfigMaps")
    resources: Object = Field(
        {"requests": {"cpu": "100m", "memory": "128Mi"}, "limits": {"memory": "512Mi"}},
        description="resources of the container; 100,000 pods take 200 MB",
    )
    termination_grace_period_seconds: int = Field(
        30, ge=1, description=f"longer than settings.shutdownTimeout, whose default is {SHUTDOWN}"
    )
    anti_affinity: Literal["preferred", "required", "none"] = Field(
        "preferred", description="keep the replicas on different nodes"
    )
    strategy: Object = Field(
        {},
        description="strategy of the Deployment; by default maxSurge 0 (no further node) with hostNetwork or "
        "antiAffinity=required, Recreate without a Lease",
    )
    host_network: bool = Field(
        False,
        description="hostNetwork of the pods; needs the Pod Security profile `privileged`, and NetworkPolicies do "
        "not apply",
    )
    init_containers: list[Object] = Field([], description="initContainers of the pods")
    affinity: Object = Field({}, description="affinity of the pods, in place of antiAffinity")
    topology_spread_constraints: list[Object] = Field([], description="topologySpreadConstraints of the pods")
    node_selector: dict[str, str] = Field({}, description="nodeSelector of the pods")
    tolerations: list[Object] = Field([], description="tolerations of the pods")
    priority_class: PriorityClass = Field(PriorityClass(), description="a PriorityClass for musterd")
    priority_class_name: str = Field("", description="priorityClassName of the pods, in place of priorityClass")
    flow_schema: FlowSchema = Field(FlowSchema(), description="API priority and fairness for the Lease")
    prune: Prune = Field(Prune(), description="a CronJob that deletes experiments that ended long ago")
    dns_policy: Literal["ClusterFirst", "ClusterFirstWithHostNet", "Default"] | None = Field(
        None, description="dnsPolicy of the pods"
    )
    revision_history_limit: int | None = Field(None, ge=0, description="revisionHistoryLimit of the Deployment")
    pod_security_context: Object = Field(
        {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        description="securityContext of the pods; with the next, the Pod Security profile `restricted`",
    )
    security_context: Object = Field(
        {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]}},
        description="securityContext of the container",
    )
    common_labels: dict[str, str] = Field({}, description="more labels of all objects and of the pods")
    pod_labels: dict[str, str] = Field({}, description="more labels of the pods")
    pod_annotations: dict[str, str] = Field({}, description="annotations of the pods")
    extra_args: list[str] = Field([], description="more flags of musterd, after those of settings")
    extra_env: list[Object] = Field([], description="environment of the container, such as HTTPS_PROXY")
    extra_volumes: list[Object] = Field([], description="volumes of the pods")
    extra_volume_mounts: list[Object] = Field([], description="volumeMounts of the container")
    global_: Object = Field(
        {}, alias="global", description="unused; Helm gives it to a chart that another one requires"
    )
