"""Operator ``jax``: rank 0 is the coordinator; the others find it by address.

The variables are AIchor's (its JAX operator page): ``JAXOPERATOR_COORDINATOR_ADDRESS`` is
``$(JAXOPERATOR_COORDINATOR_HOST):1234``. The host is listed before it, so Kubernetes expands the value and no shell
is needed. ``JAX_COORDINATOR_ADDRESS`` is the one that ``jax.distributed.initialize`` reads by itself
(jax/_src/distributed.py); the bind address keeps two experiments that share a network namespace from answering on
each other's port, because gRPC listens with SO_REUSEPORT.

When a peer is lost, the other JAX processes abort (SIGABRT): their coordination agent cannot recover (openxla/xla
xla/pjrt/distributed/client.cc, the default missed-heartbeat callback). Or an exception of a collective ends them first
(gloo on CPUs; NCCL: ncclRemoteError). The coordinator's error, which each of them prints, names the lost rank:
"# of tasks that reached the barrier: 1/4. The first task at the barrier: 1" after an exception in rank 1, "The
following tasks are unhealthy (stopped sending heartbeats): 1" after a kill (measured).

A process gives up waiting, too: "DEADLINE_EXCEEDED: ... RegisterTask" and SIGABRT where not all have registered within
``initialization_timeout`` (300 s) and 5 s, "Gloo ... failed: Timed out waiting" in a collective (measured).

JAX ignores SIGTERM while its preemption service is on, so a survivor uses all the grace that it gets, and its
collectives are lost anyway: the grace of a restart is short.
"""

from muster.api.manifest.groups import Group
from muster.api.names import JAX_PORT
from muster.kinds.declaration import RESTART_GRACE, SIGABRT_EXIT, Operator, size_of
from muster.state.vocabulary.group import Coordinator, ProbeKind
from muster.state.vocabulary.pod import Env, Source
from muster.state.vocabulary.rules import CulpritRule

SURVIVOR_TEXT = (
    r"(?i)coordination.?service|distributed service|shutdown barrier|sending heartbeats"
    r"|gloo/transport|gloo \S+ failed|remote process exited"
    r"|barrier timed out|deadline_exceeded: .*register|nccl.{0,200}(?:timed? ?out|aborted)"
)
CULPRITS = (
    CulpritRule(
        r"(?s)Shutdown barrier has failed.*?reached the barrier: 1/\d+\."
        r"\s+The first task at the barrier: (?:\S*task:)?(\d+)",
        "it was alone at JAX's shutdown barrier: its program ended before those of the others",
    ),
    CulpritRule(
        r"stopped sending heartbeats\):\s+(?:\S*task:)?(\d+)",
        "it stopped sending heartbeats to the coordinator",
    ),
)


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
    """Return rank 0. A single process waits for no other, and need not open the port at all."""
    probe = ProbeKind.JAX if size_of(groups) > 1 else ProbeKind.NONE
    return Coordinator(0, JAX_PORT, probe, opened_by="rank 0 opens it in jax.distributed.initialize()")


JAX = Operator(
    "jax",
    _env,
    _coordinator,
    survivor_exits=frozenset({SIGABRT_EXIT}),
    survivor_text=SURVIVOR_TEXT,
    culprits=CULPRITS,
    restart_grace=RESTART_GRACE,
)
DECLARED = (JAX,)
