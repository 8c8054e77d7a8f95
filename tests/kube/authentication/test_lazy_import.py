"""Only the modules of kubernetes_asyncio that are used are imported; other code finds the complete package."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DEFER = "from muster.kube.authentication.kubeconfig import defer_kubernetes_asyncio\ndefer_kubernetes_asyncio()\n"


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        pytest.param(
            DEFER
            + """
from kubernetes_asyncio.client import Configuration
from kubernetes_asyncio.config.kube_config import KubeConfigLoader
from kubernetes_asyncio.config.incluster_config import InClusterConfigLoader
import sys
print(sum(name.startswith("kubernetes_asyncio.client.models.") for name in sys.modules), Configuration.__name__)
""",
            "0 Configuration",
            id="reading a kubeconfig imports no models",
        ),
        pytest.param(
            DEFER
            + """
from kubernetes_asyncio.config.kube_config import KubeConfigLoader
import sys
before = sum(name.startswith("urllib3.") for name in sys.modules)
from kubernetes_asyncio.client import Configuration
import urllib3
configuration = Configuration()
configuration.username, configuration.password = "user", "word"
print(before, configuration.get_basic_auth_token(), urllib3.PoolManager.__name__, urllib3.__version__ > "1")
""",
            "0 Basic dXNlcjp3b3Jk PoolManager True",
            id="urllib3 is imported at its first use",
        ),
        pytest.param(
            f"import urllib3\nbefore = urllib3.PoolManager\n{DEFER}"
            "from kubernetes_asyncio.client import Configuration\n"
            "print(urllib3.PoolManager is before, type(urllib3).__name__)",
            "True module",
            id="urllib3 that was imported before is kept",
        ),
        pytest.param(
            "import sys, muster.kube.connection; print('kubernetes_asyncio' in sys.modules)",
            "False",
            id="the connection alone imports nothing of it",
        ),
        pytest.param(
            DEFER
            + """
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
""",
            "module 'kubernetes_asyncio.client' has no attribute 'V1Nonsense'",
            id="other code finds the complete package",
        ),
        pytest.param(
            f"import kubernetes_asyncio, sys\nbefore = kubernetes_asyncio.client\n{DEFER}"
            'print(sys.modules["kubernetes_asyncio.client"] is before, before.V1Pod.__name__)',
            "True V1Pod",
            id="a package that was imported before is kept",
        ),
    ],
)
def test_what_a_process_imports_of_kubernetes_asyncio(program: str, printed: str) -> None:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert (done.stdout.strip(), done.returncode) == (printed, 0), done.stderr
