"""The part that this daemon takes in an election."""

from collections.abc import Callable
from random import Random

from muster.daemon.settings import Settings
from muster.kube.leaderelection.elector import Elector
from muster.kube.leaderelection.lease import Leases
from muster.kube.leaderelection.rules import Terms
from muster.kube.transport import Transport


def elector_of(
    settings: Settings,
    transport: Transport,
    instance: str,
    *,
    clock: Callable[[], float],
    monotonic: Callable[[], float],
    random: Random,
) -> Elector | None:
    """The elector that the settings ask for, if any. Two lives of one ``instance`` are two candidates."""
    if not settings.leader_elect:
        return None
    host = f"[{settings.progress_address}]" if ":" in settings.progress_address else settings.progress_address
    address = f"{host}:{settings.progress_port}" if host and settings.progress_port else ""
    return Elector(
        Leases(transport, settings.lease_namespace or "default", settings.lease_name, clock, address),
        f"{instance}_{random.getrandbits(64):016x}",
        Terms(settings.lease_duration, settings.renew_deadline, settings.retry_period),
        monotonic=monotonic,
        random=random,
    )
