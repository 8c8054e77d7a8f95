"""The programs of a cluster: six Go modules of the tests, each pinned on its own, for their dependencies differ."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.real.binaries import Module, binaries, forget_build_cache, stamps

FOLDER = Path(__file__).parent / "modules"


def modules() -> tuple[Module, ...]:
    """Kubernetes' half of a node, container runtime, registry, DNS, agent of NetworkPolicies, Prometheus operator."""
    kubelet = Module(
        FOLDER / "kubelet",
        {"kube-proxy": "k8s.io/kubernetes/cmd/kube-proxy", "kubelet": "k8s.io/kubernetes/cmd/kubelet"},
        "kubelet and kube-proxy (5 minutes on 2 idle cores, 15 on busy ones; once)",
    )
    kubelet = Module(kubelet.folder, kubelet.packages, kubelet.title, stamps(kubelet.pinned("k8s.io/kubernetes")))
    containerd = Module(
        FOLDER / "containerd",
        {
            "containerd": "github.com/containerd/containerd/v2/cmd/containerd",
            "containerd-shim-runc-v2": "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
            "ctr": "github.com/containerd/containerd/v2/cmd/ctr",
            "pause": "./pause",
        },
        "containerd (2 minutes on 2 idle cores, 6 on busy ones; once)",
        tags="no_btrfs,no_devmapper,no_zfs",
    )
    registry = Module(
        FOLDER / "registry", {"registry": "github.com/distribution/distribution/v3/cmd/registry"}, "a registry (once)"
    )
    dns = Module(FOLDER / "dns", {"coredns": "./coredns"}, "CoreDNS (a minute; once)")
    policies = Module(
        FOLDER / "policies",
        {"kube-network-policies": "sigs.k8s.io/kube-network-policies/cmd"},
        "kube-network-policies (a minute; once)",
    )
    operator = Module(
        FOLDER / "operator",
        {"prometheus-operator": "github.com/prometheus-operator/prometheus-operator/cmd/operator"},
        "the Prometheus operator (minutes; once)",
    )
    return kubelet, containerd, registry, dns, policies, operator


@dataclass(frozen=True, slots=True)
class Programs:
    """The path of each program, those of the control plane among them."""

    paths: Mapping[str, str]
    kubernetes: str

    def __getitem__(self, program: str) -> str:
        return self.paths[program]


def programs() -> Programs:
    """All programs, built where they are not there yet. CannotBuild if they must be built and cannot be."""
    plane = binaries()
    paths = {each.name: str(each) for each in plane.folder.iterdir()}
    for module in modules():
        folder = module.built()
        paths |= {program: str(folder / program) for program in module.packages}
    forget_build_cache()
    return Programs(paths, plane.kubernetes)
