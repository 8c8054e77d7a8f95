"""Only the modules of kubernetes_asyncio that are used are imported; other code finds the complete package."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def run(program: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_reading_a_kubeconfig_imports_no_models() -> None:
    program = """
import sys
from muster.kube.authentication.kubeconfig import defer_kubernetes_asyncio
defer_kubernetes_asyncio()
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config.kube_config import KubeConfigLoader
from kubernetes_asyncio.config.incluster_config import InClusterConfigLoader
print(sum(name.startswith("kubernetes_asyncio.client.models.") for name in sys.modules), Configuration.__name__)
"""
    assert run(program) == "0 Configuration"


def test_reading_a_kubeconfig_imports_nothing_of_urllib3_before_its_first_use() -> None:
    program = """
import sys
from muster.kube.authentication.kubeconfig import defer_kubernetes_asyncio
defer_kubernetes_asyncio()
from kubernetes_asyncio.config.kube_config import KubeConfigLoader
before = sum(name.startswith("urllib3.") for name in sys.modules)
from kubernetes_asyncio.client import Configuration
import urllib3
configuration = Configuration()
configuration.username, configuration.password = "user", "word"
print(before, configuration.get_basic_auth_token(), urllib3.PoolManager.__name__, urllib3.__version__ > "1")
"""
    assert run(program) == "0 Basic dXNlcjp3b3Jk PoolManager True"


def test_urllib3_that_was_imported_before_is_kept() -> None:
    program = """
import urllib3
before = urllib3.PoolManager
from muster.kube.authentication.kubeconfig import defer_kubernetes_asyncio
defer_kubernetes_asyncio()
from kubernetes_asyncio.client import Configuration
print(urllib3.PoolManager is before, type(urllib3).__name__)
"""
    assert run(program) == "True module"


def test_importing_the_connection_does_not_import_kubernetes_asyncio() -> None:
    program = "import sys, muster.kube.connection; print('kubernetes_asyncio' in sys.modules)"
    assert run(program) == "False"


def test_other_code_finds_the_complete_package() -> None:
    program = """
from muster.kube.authentication.kubeconfig import defer_kubernetes_asyncio
defer_kubernetes_asyncio()
defer_kubernetes_asyncio()
from kubernetes_asyncio.config.kube_config import KubeConfigLoader
import kubernetes_asyncio
from kubernetes_asyncio import client, config, watch
from kubernetes_asyncio.client import ApiClient, CoreV1Api, V1Pod
from kubernetes_asyncio.client.models import V1Job
from kubernetes_asyncio.client.exceptions import ApiException
assert client.V1Pod is V1Pod and client.models.V1Pod is V1Pod and client.ApiClient is ApiClient
assert V1Pod().to_dict()["kind"] is None and kubernetes_asyncio.__version__ == client.__version__
try:
    client.V1Nonsense
except AttributeError as error:
    print(error)
"""
    assert run(program) == "module 'kubernetes_asyncio.client' has no attribute 'V1Nonsense'"


def test_a_package_that_was_imported_before_is_kept() -> None:
    program = """
import kubernetes_asyncio
from muster.kube.authentication.kubeconfig import defer_kubernetes_asyncio
before = kubernetes_asyncio.client
defer_kubernetes_asyncio()
import sys
print(sys.modules["kubernetes_asyncio.client"] is before, before.V1Pod.__name__)
"""
    assert run(program) == "True V1Pod"
