"""The values that the chart is rendered with: here by `helm template`, in `make real` on an API server."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Case:
    """Values, and what they are for."""

    values: str = ""
    """For ``--set``."""
    as_json: tuple[str, ...] = ()
    """For ``--set-json``."""
    monitoring: bool = False
    """The cluster has the kinds of the Prometheus operator."""
    namespace: str = "muster-system"
    privileged: bool = False
    """The pod is none of the Pod Security profile restricted."""
    expect: frozenset[str] = field(default_factory=frozenset)
    """Kinds beyond those of the default rendering."""
    without: frozenset[str] = field(default_factory=frozenset)
    """Kinds that are not there."""

    def options(self) -> tuple[str, ...]:
        found = ["--set", self.values] if self.values else []
        for each in self.as_json:
            found += ["--set-json", each]
        return (*found, *(("--api-versions", "monitoring.coreos.com/v1") if self.monitoring else ()))


OF_CLUSTER = {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "FlowSchema", "PriorityClass"}
"""Kinds without a namespace."""
OTHERS = {"Deployment", "NetworkPolicy", "PodDisruptionBudget", "Role", "RoleBinding", "Service", "ServiceAccount"}
DEFAULT = frozenset(OF_CLUSTER | OTHERS)
MONITORING = frozenset({"ServiceMonitor", "PrometheusRule", "ConfigMap"})

MATRIX = {
    "default": Case(),
    "one namespace": Case("settings.namespace=lab"),
    "one namespace, no rights in the cluster": Case(
        "settings.namespace=lab,rbac.reviews=false,rbac.userRoles=false,priorityClass.create=false,"
        "flowSchema.create=false",
        without=frozenset({"ClusterRole", "ClusterRoleBinding", "PriorityClass", "FlowSchema"}),
    ),
    "monitoring where its kinds are served": Case(monitoring=True, expect=MONITORING),
    "monitoring by force": Case(
        "serviceMonitor.create=always,prometheusRule.create=always,prometheusRule.slo.enabled=true,dashboards.create=always",
        expect=MONITORING,
    ),
    "monitoring refused": Case(
        "serviceMonitor.create=never,prometheusRule.create=never,dashboards.create=never", monitoring=True
    ),
    "monitoring in other namespaces": Case(
        "serviceMonitor.namespace=monitoring,serviceMonitor.labels.release=prometheus,"
        "prometheusRule.namespace=monitoring,prometheusRule.labels.release=prometheus,dashboards.namespace=grafana,"
        "serviceMonitor.interval=15s,serviceMonitor.scrapeTimeout=10s,"
        "serviceMonitor.authorization.credentials.name=token,serviceMonitor.authorization.credentials.key=token,"
        "rbac.metricsReaders[0].namespace=monitoring,rbac.metricsReaders[0].serviceAccount=prometheus",
        as_json=(
            'serviceMonitor.relabelings=[{"sourceLabels":["__meta_kubernetes_pod_name"],"targetLabel":"replica"}]',
            'serviceMonitor.metricRelabelings=[{"action":"drop","sourceLabels":["__name__"],"regex":"python_.*"}]',
        ),
        monitoring=True,
        expect=MONITORING,
    ),
    "one replica": Case(
        "replicas=1,settings.leaderElect=false", without=frozenset({"FlowSchema", "Role", "RoleBinding"})
    ),
    "a second release": Case("fullnameOverride=second,rbac.userRoles=false,crds.install=false", namespace="team-b"),
    "bare": Case(
        "rbac.create=false,rbac.userRoles=false,serviceAccount.create=false,serviceAccount.name=mine,"
        "crds.install=false,service.create=false,networkPolicy.create=false,podDisruptionBudget.create=false,"
        "priorityClass.create=false,flowSchema.create=false",
        without=DEFAULT - {"Deployment"},
    ),
    "queues of Kueue": Case("kueue.enabled=true"),
    "queues of Kueue in one namespace": Case("kueue.enabled=true,settings.namespace=lab"),
    "labels of nodes": Case("settings.nodeLabels=true"),
    "labels of nodes from one namespace": Case("settings.nodeLabels=true,rbac.reviews=false,settings.namespace=lab"),
    "history of nodes": Case("settings.nodeHistory=true"),
    "required anti-affinity": Case("antiAffinity=required,replicas=3"),
    "no anti-affinity": Case("antiAffinity=none"),
    "image by digest": Case(
        "image.repository=registry.example.com/team/musterd,image.pullPolicy=Always,image.pullSecrets[0].name=registry,"
        f"image.digest=sha256:{'0' * 64}"
    ),
    "other ports": Case("settings.httpPort=9000,settings.healthPort=9001,service.port=80"),
    "progress endpoint": Case("progress.secretName=musterd-progress"),
    "progress endpoint for some namespaces": Case(
        "progress.secretName=musterd-progress,networkPolicy.memberNamespaces.matchLabels.team=ml"
    ),
    "progress endpoint in one namespace": Case(
        "progress.secretName=musterd-progress,progress.port=9443,settings.namespace=lab",
        as_json=("networkPolicy.from=[]",),
    ),
    "https": Case("tls.secretName=musterd-tls", monitoring=True, expect=MONITORING),
    "https by an authority of the cluster": Case(
        "tls.secretName=musterd-tls,serviceMonitor.namespace=monitoring,"
        "serviceMonitor.tlsConfig.ca.configMap.name=authority,serviceMonitor.tlsConfig.ca.configMap.key=ca.pem,"
        "serviceMonitor.tlsConfig.serverName=musterd.example.com",
        as_json=(
            'extraVolumes=[{"name":"ca","configMap":{"name":"ca"}}]',
            'extraVolumeMounts=[{"name":"ca","mountPath":"/etc/ca","readOnly":true}]',
        ),
        monitoring=True,
        expect=MONITORING,
    ),
    "runs of other controllers": Case("watch.kinds=all"),
    "runs of other controllers in one namespace": Case("watch.kinds=all,settings.namespace=lab"),
    "a page for browsers": Case(
        "ingress.host=muster.example.com,ingress.className=nginx,ingress.tls[0].secretName=muster-tls,"
        "ingress.annotations.note=x,service.type=NodePort",
        expect=frozenset({"Ingress"}),
    ),
    "experiments that ended long ago are deleted": Case(
        "prune.enabled=true,prune.olderThan=2w 3d,prune.phases[0]=Succeeded,prune.schedule=0 4 * * 0",
        expect=frozenset({"CronJob"}),
    ),
    "experiments are deleted with rights that the platform grants": Case(
        "prune.enabled=true,rbac.create=false,rbac.userRoles=false,serviceAccount.create=false",
        expect=frozenset({"CronJob"}),
        without=frozenset({"ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"}),
    ),
    "experiments of one namespace that ended long ago are deleted": Case(
        "prune.enabled=true,settings.namespace=lab", expect=frozenset({"CronJob"})
    ),
    "a page that another way leads to": Case("externalUrl=https://muster.example.com:8443"),
    "a name made of that of the release": Case("nameOverride=roll"),
    "the network of the host": Case("hostNetwork=true", privileged=True),
    "a strategy of its own": Case("strategy.type=RollingUpdate,strategy.rollingUpdate.maxUnavailable=1"),
    "closed to all": Case(as_json=("networkPolicy.from=[]", "networkPolicy.apiServerPorts=[8443]")),
    "everything for the pod": Case(
        "priorityClassName=high,podLabels.team=ml,podAnnotations.note=x,terminationGracePeriodSeconds=60,"
        "nodeSelector.disk=ssd,serviceAccount.annotations.note=x,service.annotations.note=x,commonLabels.cost=ml,"
        "dnsPolicy=Default,revisionHistoryLimit=3,podDisruptionBudget.minAvailable=1,extraArgs[0]=--log-level=debug,"
        "podSecurityContext.runAsUser=1000",
        as_json=(
            'tolerations=[{"key":"infra","operator":"Exists"}]',
            'affinity={"podAffinity":{"requiredDuringSchedulingIgnoredDuringExecution":[{"topologyKey":"zone"}]}}',
            'topologySpreadConstraints=[{"maxSkew":1,"topologyKey":"zone","whenUnsatisfiable":"ScheduleAnyway"}]',
            (
                'initContainers=[{"name":"wait","image":"busybox","command":["sleep","1"],"securityContext":'
                '{"allowPrivilegeEscalation":false,"capabilities":{"drop":["ALL"]}}}]'
            ),
            'extraEnv=[{"name":"HTTPS_PROXY","value":"http://proxy:3128"}]',
            'extraVolumes=[{"name":"ca","configMap":{"name":"ca"}}]',
            'extraVolumeMounts=[{"name":"ca","mountPath":"/etc/ca","readOnly":true}]',
            'networkPolicy.egress=[{"ports":[{"protocol":"TCP","port":3128}]}]',
            'resources={"requests":{"cpu":"1","memory":"256Mi"}}',
        ),
    ),
}
