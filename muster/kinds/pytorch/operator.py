"""Operator ``pytorch``: the members meet at rank 0, whose address is in ``MASTER_ADDR``.

One pod is one node of PyTorch. ``MASTER_ADDR``, ``MASTER_PORT``, ``WORLD_SIZE`` and ``RANK`` are AIchor's (its
operators page: WORLD_SIZE is the number of containers), and ``init_method="env://"`` reads them in a pod whose command
is ``python train.py``. ``PET_*`` are what ``torchrun`` takes for options that its command line does not have (pytorch
torch/distributed/argparse_util.py): ``torchrun train.py`` starts a process per GPU of the pod, one where it has none,
and sets WORLD_SIZE, RANK and LOCAL_RANK of each by itself. Kubeflow's PyTorchJob sets the same names.

When a peer is lost, a process ends by SIGABRT where NCCL's watchdog ends it (pytorch
torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp), or by an exception that quotes gloo or NCCL's ncclRemoteError. Where
one does not come, the store gives up (``DistStoreError``, ``DistNetworkError``, "store based barrier"; torch/csrc/
distributed/c10d/TCPStore.cpp) or torchrun's rendezvous does. The collectives cannot continue without a member, so the
survivors of a broken gang get a short grace.
"""

from muster.api.manifest.groups import Group
from muster.api.names import PYTORCH_PORT
from muster.kinds.declaration import RESTART_GRACE, SIGABRT_EXIT, Operator, size_of
from muster.state.vocabulary.group import Coordinator, ProbeKind
from muster.state.vocabulary.pod import Env, Source

MISMATCH = r"collective mismatch|op\.preamble\.length"
"""Error of gloo if a peer has sent data of another collective: the process is wrong, or its peer, and not lost
(gloo/transport/tcp/pair.cc)."""
SURVIVOR_TEXT = (
    rf"(?is)\A(?!.*(?:{MISMATCH}))(?=.*(?:"
    r"gloo/transport|remote process exited|watchdog|collective operation timeout"
    r"|DistStoreError|DistNetworkError|store.based.barrier|RuntimeError: Socket Timeout"
    r"|RendezvousTimeoutError|RendezvousConnectionError|monitoredBarrier))"
)
LAUNCHER = 5.0
"""Seconds between two looks of torchrun at its processes in PyTorch 1.13 (``--monitor_interval``; later releases look
every 0.1 s): the pod whose process was killed may end that much later than survivors in other pods."""
OPENED_BY = "rank 0 opens its store in torch.distributed.init_process_group(), or torchrun does as it starts"


def _env(group: Group, groups: tuple[Group, ...]) -> tuple[Env, ...]:
    size = str(size_of(groups))
    return (
        Env("MASTER_ADDR", Source.COORDINATOR_HOST),
        Env("MASTER_PORT", Source.LITERAL, str(PYTORCH_PORT)),
        Env("WORLD_SIZE", Source.LITERAL, size),
        Env("RANK", Source.RANK),
        Env("PET_MASTER_ADDR", Source.COORDINATOR_HOST),
        Env("PET_MASTER_PORT", Source.LITERAL, str(PYTORCH_PORT)),
        Env("PET_NNODES", Source.LITERAL, size),
        Env("PET_NODE_RANK", Source.RANK),
        Env("PET_NPROC_PER_NODE", Source.LITERAL, str(group.resources.gpus or 1)),
    )


def _coordinator(groups: tuple[Group, ...]) -> Coordinator | None:
    """Return rank 0. A single pod waits for no other, and need not open the port at all.

    The store's port may close before the program ends: ``destroy_process_group`` closes it.
    """
    probe = ProbeKind.TORCH if size_of(groups) > 1 else ProbeKind.NONE
    return Coordinator(0, PYTORCH_PORT, probe, may_close=True, opened_by=OPENED_BY)


PYTORCH = Operator(
    "pytorch",
    _env,
    _coordinator,
    survivor_exits=frozenset({SIGABRT_EXIT}),
    survivor_text=SURVIVOR_TEXT,
    launcher=LAUNCHER,
    restart_grace=RESTART_GRACE,
)
DECLARED = (PYTORCH,)
