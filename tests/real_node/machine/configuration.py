"""The configuration files of the programs of a node, each as text."""

import json

import yaml

from tests.real_node.addresses import DNS, DOMAIN, HOST, PRIVATE_REGISTRY, REGISTRY, SLOW_REGISTRY
from tests.real_node.machine.plan import Plan

SOCKET = "/run/containerd/containerd.sock"
NFQUEUE = 100


def containerd(plan: Plan) -> str:
    """containerd's, version 3. `restrict_oom_score_adj`: the machine may lack CAP_SYS_RESOURCE."""
    return f"""\
version = 3
root = "{plan.folder}/containerd"
state = "/run/containerd"
[grpc]
  address = "{SOCKET}"
[plugins.'io.containerd.cri.v1.images']
  snapshotter = "overlayfs"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = "{plan.pause}"
  [plugins.'io.containerd.cri.v1.images'.registry]
    config_path = "{plan.folder}/etc/registries"
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = ["/usr/lib/cni"]
    conf_dir = "{plan.folder}/etc/cni"
[plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
    BinaryName = "/usr/sbin/runc"
    SystemdCgroup = false
"""


def registries() -> dict[str, str]:
    """The hosts.toml of each registry that speaks http."""
    return {name: f'server = "http://{name}"\n' for name in (REGISTRY, PRIVATE_REGISTRY, SLOW_REGISTRY)}


def network(plan: Plan) -> str:
    """CNI: each pod has a link of its own to the machine, so that the agent of NetworkPolicies sees all packets."""
    ranges = [[{"subnet": plan.pods}]]
    ipam = {"type": "host-local", "dataDir": "/run/cni", "ranges": ranges, "routes": [{"dst": "0.0.0.0/0"}]}
    plugins = [{"type": "ptp", "ipam": ipam}, {"type": "portmap", "capabilities": {"portMappings": True}}]
    return json.dumps({"cniVersion": "1.0.0", "name": "pods", "plugins": plugins}, indent=1)


def kubelet(plan: Plan) -> str:
    """KubeletConfiguration. The Lease is renewed every 3 s, for the controller manager under test is impatient."""
    fields = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "authentication": {"x509": {"clientCAFile": plan.authority}},
        "cgroupDriver": "cgroupfs",
        "failCgroupV1": False,
        "failSwapOn": False,
        "containerRuntimeEndpoint": f"unix://{SOCKET}",
        "clusterDNS": [DNS],
        "clusterDomain": DOMAIN,
        "resolvConf": "/dev/null",
        "podLogsDir": f"{plan.folder}/kubelet/logs",
        "tlsCertFile": plan.certificate,
        "tlsPrivateKeyFile": plan.key,
        "nodeLeaseDurationSeconds": 12,
        "nodeStatusUpdateFrequency": "4s",
        "serializeImagePulls": False,
        "registryPullQPS": 0,
        "eventRecordQPS": 0,
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%", "imagefs.available": "1%"},
        "evictionPressureTransitionPeriod": "10s",
        **plan.kubelet,
    }
    return yaml.safe_dump(fields)


def hosts(plan: Plan) -> str:
    """The machine knows itself and the registries, and has no name server."""
    return f"127.0.0.1 localhost\n{plan.address} {plan.name}\n{HOST} {REGISTRY.partition(':')[0]}\n"
