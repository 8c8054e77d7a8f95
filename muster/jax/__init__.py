"""The functions for JAX programs: ``from muster.jax import initialize, pause, report``.

jax reads the coordinator's address from the environment, but neither the number of processes nor its own process id
(jax/_src/distributed.py), so every program repeats the same three lines. ``initialize`` has them, and avoids a trap:
with an image that holds the ``kubernetes`` package, jax's cluster detection looks for a service account token that
members do not have, and fails although everything it needs was given.

Only the standard library is imported until ``initialize`` is called. The daemon never imports this package.
"""

import inspect
import os
from collections.abc import Mapping
from typing import Any

from muster import pause, report
from muster.api.errors import MusterError
from muster.assist.mounted.sitecustomize import help_this_process

__all__ = ["NotAMember", "arguments", "initialize", "pause", "report"]

ADDRESS = "JAXOPERATOR_COORDINATOR_ADDRESS"
PROCESSES = "JAXOPERATOR_NUM_PROCESSES"
PROCESS = "JAXOPERATOR_PROCESS_ID"

DETECTION_CAN_BE_OFF = (0, 4, 36)
"""jax 0.4.35 has the argument, and raises AttributeError for every value of it."""
SHUTDOWN_SECONDS = 60
"""Seconds that ranks at their end wait for the others (jax's default: 300 s). Then jax aborts every rank."""


class NotAMember(MusterError):
    """The program does not run as a member of a JAX experiment."""


def arguments(environ: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of ``jax.distributed.initialize`` in that environment. Raises ``NotAMember``."""
    missing = [name for name in (ADDRESS, PROCESSES, PROCESS) if not environ.get(name)]
    if missing:
        raise NotAMember(
            f"{', '.join(missing)} not set: this program does not run under the operator jax; "
            "start it with `muster run`, or call jax.distributed.initialize yourself"
        )
    try:
        processes, process = int(environ[PROCESSES]), int(environ[PROCESS])
    except ValueError as error:
        raise NotAMember(f"{PROCESSES} and {PROCESS} must be whole numbers: {error}") from error
    return {"coordinator_address": environ[ADDRESS], "num_processes": processes, "process_id": process}


def initialize(**options: Any) -> None:
    """Join the gang: ``jax.distributed.initialize`` with all that Muster knows; ``options`` are passed unchanged.

    Returns when every rank has arrived. Raises ``NotAMember`` outside of an experiment, and what jax raises.

    From then on a failure (an uncaught exception, or a SystemExit with another code than 0) ends the process without
    waiting for the others, and SIGURG writes its stacks for ``muster stacks``, as with ``spec.assist``. A rank that
    succeeds waits ``SHUTDOWN_SECONDS`` for the others; if ranks end further apart, pass ``shutdown_timeout_seconds``.
    """
    found = arguments(os.environ)
    import jax

    if jax.__version_info__ >= DETECTION_CAN_BE_OFF:
        found["cluster_detection_method"] = "deactivate"
    if "shutdown_timeout_seconds" in inspect.signature(jax.distributed.initialize).parameters:  # not in jax 0.7.0
        found["shutdown_timeout_seconds"] = SHUTDOWN_SECONDS
    help_this_process()  # before the rendezvous: it may raise, too
    jax.distributed.initialize(**{**found, **options})
