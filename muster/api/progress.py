"""The protocol between a program and the daemon about progress: names, bounds and pace of the reports of ranks.

A rank writes its report as one small value under ``KEYS/<rank>`` into the store that its framework meets at, over the
one before, and the probe reads them: the key-value store of jax's coordination service, or PyTorch's TCPStore. Each
value is a JSON object::

    {"step": 1840, "calls": 1841, "at": 512.25, "longest": 2.5, "pause": 900, "scalars": {"loss": 2.31}}

and, of where its time went, ``"first": 1801, "begun": 312.5, "saved": 40.0, "restored": 3.1, "paused": 43.1, "kind":
"checkpoint_save"``, and ``loaded`` beside ``saved``.

``at`` is the program's own monotonic clock, so that steps per second need no agreement between clocks. ``longest`` is
the longest time between two calls of ``report``, in seconds, without pauses that were announced. ``pause`` is present
while the program has announced one: that many seconds without a further report are no hang. ``processes`` is present if
the pod has several, in the value of the first: the n-th of the others writes ``KEYS/<rank>.<n>``. ``kind`` is the
purpose of the pause. ``saved``, ``restored`` and ``loaded`` are the seconds of such pauses that are over, ``paused``
those of all. ``first`` is the first step that was reported, and ``begun`` the time of ``at``, without all pauses, at
which its steps began. ``restarts`` is torchrun's count of the restarts of the process, present from 1 on. ``works`` is
sent to the endpoint alone, while the process computes, reads or writes: it counts as at work for so many seconds more.

Without a store the value goes to Kubeflow's progress endpoint (KEP-2779), of musterd or of Kubeflow's Trainer. The
program POSTs its status to the URL of one environment variable, with the token in the file that the second names, and
trusts the authority in the file of the third. Two alphas name these differently; members get all of both. The body::

    {"trainerStatus": {"progressPercentage": 12, "estimatedRemainingSeconds": 512, "lastUpdatedTime": "2026-...",
                       "metrics": [{"name": "current_step", "value": "1840"}, {"name": "loss", "value": "2.31"}]}}

``muster.report`` adds ``muster``, a value as above: Kubeflow's own endpoint passes over fields that it does not know.

Sources: kubeflow/trainer docs/proposals/2779-trainjob-progress, pkg/statusserver, pkg/runtime/framework/plugins;
transformers 5.24, integrations/integration_utils.py (KubeflowCallback). Only the standard library is used here, because
training programs import this module.
"""

from muster.assist.mounted.place_watch import longest_interval

KEYS = "muster/progress"
"""The directory of the keys."""
RESTART_COUNT = "TORCHELASTIC_RESTART_COUNT"
"""The variable in which torchrun gives a process the number of restarts (``--max-restarts``)."""
MAX_RESTARTS = 9_999
MAX_STEP = (1 << 53) - 1
"""The largest whole number that every reader of JSON has exactly."""
MAX_SCALARS = 8
MAX_SCALAR_NAME = 32
SAVE, RESTORE, LOAD = "checkpoint_save", "checkpoint_restore", "data_loading"
"""Kinds of a pause that have a bucket of their own in the goodput."""
MAX_VALUE = 1024
"""Bytes of one rank's value."""

MAX_PROCESSES = 64
"""Processes of one pod that report."""
MAX_WORKS = 120.0
"""The most seconds for which one report shows that a process is at work."""
report_interval = longest_interval
"""The seconds between two reports of one process, in a gang of that many."""


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
