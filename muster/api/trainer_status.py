"""The protocol between a program and musterd on Kubeflow's progress endpoint (KEP-2779), which has two alphas.

A program POSTs its status to the URL of one environment variable, with the token in the file that the second names, and
trusts the authority in the file of the third. The names changed between the alphas; members get all of both. The body::

    {"trainerStatus": {"progressPercentage": 12, "estimatedRemainingSeconds": 512, "lastUpdatedTime": "2026-...",
                       "metrics": [{"name": "current_step", "value": "1840"}, {"name": "loss", "value": "2.31"}]}}

``muster.report`` adds ``muster``, a value as ``muster.api.progress`` describes it: Kubeflow's own endpoint passes over
fields that it does not know.

Sources: kubeflow/trainer docs/proposals/2779-trainjob-progress, pkg/statusserver, pkg/runtime/framework/plugins;
transformers 5.24, integrations/integration_utils.py (KubeflowCallback). Only the standard library is used here.
"""

PREFIXES = ("KUBEFLOW_TRAINER_SERVER_", "KUBEFLOW_TRAINER_STATUS_")
"""Prefixes of the variables: of the second alpha, which transformers reads, and of the first."""
URL, TOKEN, CA_CERT = "URL", "TOKEN", "CA_CERT"
MOUNT = "/var/run/secrets/kubeflow/trainer"
"""The folder of token and authority in the container."""
TOKEN_FILE, CA_FILE = "token", "ca.crt"
STEP_METRICS = ("current_step", "step", "global_step")
"""Metrics whose value is the step, the first of them counts."""
TOTAL_METRIC = "total_steps"

MAX_BODY = 1 << 16
"""Bytes of a body, as of Kubeflow's endpoint."""
FASTEST_POST, SLOWEST_POST = 5.0, 60.0
POSTS_PER_SECOND = 20
"""Posts of one gang that musterd takes in a second between those seconds, each on a connection of its own."""


def status_path(namespace: str, name: str) -> str:
    """Return the path of the endpoint for a run, as Kubeflow's."""
    return f"/apis/trainer.kubeflow.org/v1alpha1/namespaces/{namespace}/trainjobs/{name}/status"


def audience(namespace: str, name: str) -> str:
    """Return the audience of the tokens that are taken for a run, as Kubeflow's."""
    return f"trainer.kubeflow.org/v1alpha1/namespaces/{namespace}/trainjobs/{name}/status"


def post_interval(processes: int) -> float:
    """Return the seconds between two posts of one process, in a gang of that many."""
    return min(max(processes / POSTS_PER_SECOND, FASTEST_POST), SLOWEST_POST)
