"""PyTorchJobs that Kubeflow's training operator runs (kubeflow.org/v1, v1.9.4: pkg/controller.v1/pytorch).

Where there is a Master, it is rank 0, and worker N is rank N + 1 (envvar.go): it opens the store at which all meet. A
job without one has no address of a store in its environment. An elastic one meets at the rendezvous of ``torchrun``,
and any number of its workers may be enough. So only a Master is asked who has arrived.
"""

from typing import Final

from muster.api.names import PYTORCH_PORT
from muster.kinds.kubeflow.watched import API_VERSION, training_kind
from muster.kinds.planning.watched_plan import Framework
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.subject import Subject

DECLARED: Final = (
    training_kind(
        Subject(API_VERSION, "PyTorchJob", "pytorchjobs"),
        "pytorchReplicaSpecs",
        ("master", "worker"),
        Framework("pytorch", ProbeKind.TORCH, PYTORCH_PORT),
        about="all PyTorchJobs",
        members="the Master first, then the workers by replica index",
    ),
)
