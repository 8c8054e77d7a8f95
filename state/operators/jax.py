"""Operator ``jax``: rank 0 is the coordinator; the others find it by address.

The variables are AIchor's (its JAX operator page): ``JAXOPERATOR_COORDINATOR_ADDRESS`` is
``$(JAXOPERATOR_COORDINATOR_HOST):1234``. The host is listed before it, so Kubernetes expands the value and no shell
is needed. ``JAX_COORDINATOR_ADDRESS`` is the one that ``jax.distributed.initialize`` reads by itself
(jax/_src/distributed.py); the bind address keeps two experiments that share a network namespace from answering on
each other's port, because gRPC listens with SO_REUSEPORT.

When a peer is lost, the other JAX processes abort (SIGABRT): their coordination agent cannot recover (openxla/xla
xla/pjrt/distributed/client.cc, the default missed-heartbeat callback). JAX ignores SIGTERM while its preemption
service is on, so a survivor uses all the grace that it gets, and its collectives are lost anyway: the grace of a
restart is short.
"""

from muster.api.manifest.groups import Group
from muster.api.names import JAX_PORT
from muster.state.operators.operator import Operator, size_of
from muster.state.plan import Coordinator, ProbeKind
from muster.state.pod_spec import Env, Source

COORDINATOR_RANK = 0
SIGABRT_EXIT = 134
"""128 + SIGABRT, the exit code of an aborted process."""
RESTART_GRACE = 2


def _env(_group: Group, groups: tuple[Group, ...]) -> tuple[Env, ...]:
    return (
        Env("JAXOPERATOR_COORDINATOR_HOST", Source.COORDINATOR_HOST),
        Env("JAXOPERATOR_COORDINATOR_ADDRESS", Source.LITERAL, f"$(JAXOPERATOR_COORDINATOR_HOST):{JAX_PORT}"),
        Env("JAXOPERATOR_NUM_PROCESSES", Source.LITERAL, str(size_of(groups))),
        Env("JAXOPERATOR_PROCESS_ID", Source.RANK),
        Env("JAX_COORDINATOR_ADDRESS", Source.LITERAL, "$(JAXOPERATOR_COORDINATOR_ADDRESS)"),
        Env("MUSTER_POD_IP", Source.POD_IP),
        Env("JAX_COORDINATOR_BIND_ADDRESS", Source.LITERAL, f"$(MUSTER_POD_IP):{JAX_PORT}"),
    )


def _coordinator(groups: tuple[Group, ...]) -> Coordinator | None:
    """A single process waits for no other, and need not open the port at all."""
    return Coordinator(COORDINATOR_RANK, JAX_PORT, ProbeKind.JAX if size_of(groups) > 1 else ProbeKind.NONE)


JAX = Operator(_env, _coordinator, survivor_exits=frozenset({SIGABRT_EXIT}), restart_grace=RESTART_GRACE)
