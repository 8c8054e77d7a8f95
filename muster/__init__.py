"""Muster runs distributed ML experiments on Kubernetes and reports which ranks are missing.

Programs import ``muster.client`` (the SDK) and ``muster.api`` (manifests, names, errors). Training programs import
``report`` and ``pause`` from here, or from ``muster.jax`` and ``muster.torch``, where they are the same two, and
``muster.xgboost``. The other packages belong to the commands ``muster`` and ``musterd``.
"""

from contextlib import AbstractContextManager
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_CHOSEN = "muster.programs"
"""The module of the reporter, imported by name at the first report: the daemon imports nothing that programs import."""


def report(step: Any, /, **scalars: Any) -> None:
    """Report that this process has reached that step, a whole number, with up to eight numbers (``scalars``).

    The report goes to the store of jax or PyTorch if the program has joined one of their gangs, else to the endpoint
    that ``spec.progressEndpoint`` gives to the members; without any it does nothing. Call it in each step, in every
    process, before the first collective of the step: then a rank that does not reach that step is behind the others,
    and is named.

    Muster shows steps per second and the slowest rank, and calls the gang hung when no process has reported for a
    minute (45 s if one is a step behind), or for five times its longest pause. Announce a longer one with ``pause``;
    reports of the same step count too, so a long evaluation may call this as well. It never waits and never raises.
    """
    import_module(_CHOSEN).reports.report(step, scalars)


def pause(seconds: float, kind: str = "") -> AbstractContextManager[None]:
    """Announce that the program makes no step for that many seconds, in which no hang is reported.

    ``with muster.pause(600): save_checkpoint()``, in each process that makes the checkpoint. The end of the block ends
    the pause, also with an exception. A pause that takes longer is called hung, so give the time that it takes on a bad
    day. It needs a ``report`` before it, or ``spec.assist``.

    ``kind`` is the bucket of the goodput: ``checkpoint_save``, ``checkpoint_restore`` or ``data_loading``; all else is
    ``other``.
    """
    announced: AbstractContextManager[None] = import_module(_CHOSEN).reports.pause(seconds, kind)
    return announced
