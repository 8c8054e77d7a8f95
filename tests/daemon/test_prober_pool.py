"""How the daemon chooses the prober of a coordinator."""

import pytest

from muster.daemon.prober_pool import FACTORIES, prober_of
from muster.state.actions import ProbeTarget
from muster.state.coordinator import ProbeKind
from muster.state.pod_spec import Port


def target(kind: ProbeKind) -> ProbeTarget:
    ports = (Port("dashboard", 1), Port("agent", 1))
    return ProbeTarget(epoch=1, uid="uid-1", address="127.0.0.1:1", kind=kind, expected=2, ports=ports)


async def test_every_kind_of_coordinator_that_can_be_asked_has_a_prober() -> None:
    make = prober_of(lambda: 7.0)
    for kind in ProbeKind:
        if kind is ProbeKind.NONE:
            continue
        prober = make(target(kind))
        try:
            answer = await prober.snapshot()
        finally:
            await prober.close()
        assert (answer.at, answer.coordinator.serving) == (7.0, False)
    assert ProbeKind.NONE not in FACTORIES


def test_a_coordinator_that_cannot_be_asked_has_no_prober() -> None:
    with pytest.raises(ValueError, match="no prober for coordinators of kind none"):
        prober_of(lambda: 0.0)(target(ProbeKind.NONE))
