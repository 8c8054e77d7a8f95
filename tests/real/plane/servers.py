"""Start the four servers of a control plane.

Everything listens on 127.0.0.1, with certificates of its own; only the API server may be given another address, at
which nodes in network namespaces reach it. RBAC and the admission plugins that a hardened cluster turns on are on. Not
the defaults, each for a reason:

* `--endpoint-reconciler-type=none` on loopback: EndpointSlices refuse such addresses, the API server's would be one.
* `--node-monitor-grace-period`, the toleration seconds of node taints: a lost node is evicted in seconds, not in six
  minutes.
* `OwnerReferencesPermissionEnforcement`: `blockOwnerDeletion` needs the right that deploy/musterd.yaml grants.
* etcd without fsync: the data lives in a temporary folder.
"""

import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from muster.cli.processes.stack import free_port
from tests.real.binaries import Binaries
from tests.real.plane import kubeconfig
from tests.real.plane.certificates import Authority, Pair
from tests.real.plane.programs import Program, ProgramFailed
from tests.real.plane.supervisor import Supervisor

HOST = "127.0.0.1"
SERVICES = "10.96.0.0/16"
FIRST_SERVICE = "10.96.0.1"
"""The address of the Service `kubernetes`, by which pods reach the API server."""
START_SECONDS = 90.0
NODE_GRACE = 12
"""Seconds without a renewed Lease after which a node is NotReady."""
EVICT_AFTER = 10
"""Seconds that pods tolerate a node that is NotReady or unreachable."""


class Plane:
    """One control plane in one folder. The supervisor owns its programs and ends them."""

    def __init__(
        self,
        binaries: Binaries,
        folder: Path,
        supervisor: Supervisor,
        *,
        more: Mapping[str, Sequence[str]] | None = None,
        host: str = HOST,
        port: int = 0,
    ) -> None:
        """``more`` are further flags by program name; ``host`` and ``port`` are the API server's address."""
        self.folder = folder
        self._supervisor = supervisor
        self._binaries = binaries
        self._more = more or {}
        self._authority = Authority(folder / "pki")
        self._host = host
        self._etcd_port, self._peer_port, self.port = free_port(), free_port(), port or free_port()
        self.url = f"https://{host}:{self.port}"
        self.etcd_url = f"https://{HOST}:{self._etcd_port}"
        self.audit_log = folder / "audit.log"
        self.admin = folder / "admin.kubeconfig"

    def start(self) -> None:
        """Returns when the API server is ready; the other two find it by themselves."""
        self.etcd_user = self._authority.user("etcd-client")
        self._signing = self._authority.key("service-accounts")
        self._admin_pair = self._authority.user("muster-real-admin", "system:masters")
        self._write_kubeconfig("admin", self._admin_pair)
        for user in ("kube-controller-manager", "kube-scheduler"):
            self._write_kubeconfig(user, self._authority.user(f"system:{user}"))
        self._run("etcd", self._etcd())
        self._until(self._etcd_healthy, "etcd")
        self._run("kube-apiserver", self._api_server())
        self.until_ready()
        self._run("kube-controller-manager", self._controller_manager())
        self._run("kube-scheduler", self._scheduler())

    @property
    def authority(self) -> Authority:
        return self._authority

    @property
    def kubectl(self) -> str:
        """The kubectl of the same version."""
        return self._binaries["kubectl"]

    def until_ready(self) -> None:
        """Wait until the API server answers /readyz."""
        self._until(lambda: self._answers(f"{self.url}/readyz", self._admin_pair), "kube-apiserver")

    def _run(self, name: str, flags: Sequence[str]) -> None:
        command = [self._binaries[name], *flags, *self._more.get(name, ())]
        self._supervisor.add(Program(name, command, self.folder / f"{name}.log"))

    def _write_kubeconfig(self, user: str, pair: Pair) -> None:
        kubeconfig.write(self._kubeconfig(user), url=self.url, authority=self._authority.file, pair=pair)

    def _kubeconfig(self, user: str) -> Path:
        return self.folder / f"{user}.kubeconfig"

    def _etcd(self) -> list[str]:
        pair, ca, peer = self._authority.server("etcd"), self._authority.file, f"http://{HOST}:{self._peer_port}"
        return [
            f"--data-dir={self.folder / 'etcd'}",
            "--name=real",
            f"--listen-client-urls={self.etcd_url}",
            f"--advertise-client-urls={self.etcd_url}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=real={peer}",
            f"--cert-file={pair.certificate}",
            f"--key-file={pair.key}",
            "--client-cert-auth",
            f"--trusted-ca-file={ca}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]

    def _api_server(self) -> list[str]:
        names = (self._host, FIRST_SERVICE, "kubernetes.default.svc")
        pair, user, ca = self._authority.server("kube-apiserver", *names), self.etcd_user, self._authority.file
        kubelet = self._authority.user("kube-apiserver-kubelet-client")
        return [
            f"--etcd-servers={self.etcd_url}",
            f"--etcd-cafile={ca}",
            f"--etcd-certfile={user.certificate}",
            f"--etcd-keyfile={user.key}",
            f"--bind-address={self._host}",
            f"--advertise-address={self._host}",
            f"--secure-port={self.port}",
            f"--tls-cert-file={pair.certificate}",
            f"--tls-private-key-file={pair.key}",
            f"--client-ca-file={ca}",
            f"--kubelet-certificate-authority={ca}",
            f"--kubelet-client-certificate={kubelet.certificate}",
            f"--kubelet-client-key={kubelet.key}",
            "--kubelet-preferred-address-types=InternalIP",
            "--anonymous-auth=false",
            "--authorization-mode=RBAC",
            "--enable-admission-plugins=OwnerReferencesPermissionEnforcement",
            f"--default-not-ready-toleration-seconds={EVICT_AFTER}",
            f"--default-unreachable-toleration-seconds={EVICT_AFTER}",
            f"--service-cluster-ip-range={SERVICES}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._signing}",
            f"--service-account-signing-key-file={self._signing}",
            f"--endpoint-reconciler-type={'none' if self._host == HOST else 'lease'}",
            "--allow-privileged=true",
            f"--audit-policy-file={Path(__file__).parent / 'audit.yaml'}",
            f"--audit-log-path={self.audit_log}",
            "--profiling=false",
        ]

    def _controller_manager(self) -> list[str]:
        return [
            f"--kubeconfig={self._kubeconfig('kube-controller-manager')}",
            f"--service-account-private-key-file={self._signing}",
            f"--root-ca-file={self._authority.file}",
            "--use-service-account-credentials=true",
            "--leader-elect=false",
            "--secure-port=0",
            "--node-monitor-period=2s",
            f"--node-monitor-grace-period={NODE_GRACE}s",
        ]

    def _scheduler(self) -> list[str]:
        own = self._kubeconfig("kube-scheduler")
        return [f"--kubeconfig={own}", "--leader-elect=false", "--secure-port=0"]

    def _etcd_healthy(self) -> bool:
        return self._answers(f"{self.etcd_url}/health", self.etcd_user)

    def _answers(self, url: str, pair: Pair) -> bool:
        try:
            with urllib.request.urlopen(url, context=self._tls(pair), timeout=5) as answer:
                return bool(answer.status == 200)
        except (urllib.error.URLError, OSError):
            return False

    def _tls(self, pair: Pair) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(self._authority.file))
        context.load_cert_chain(str(pair.certificate), str(pair.key))
        return context

    def _until(self, holds: Callable[[], bool], name: str) -> None:
        """Ask again and again: the servers have no other way to report that they are ready."""
        deadline = time.monotonic() + START_SECONDS
        while not holds():
            self._supervisor.check()
            if time.monotonic() > deadline:
                raise ProgramFailed(
                    f"{name} was not ready after {START_SECONDS:g} s; {self._supervisor[name].last_lines()}"
                )
            time.sleep(0.1)
