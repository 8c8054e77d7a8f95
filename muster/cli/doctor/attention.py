"""Checks by its Lease that a musterd looks after the experiments of a cluster."""

import time

import click

from muster.api.errors import ApiError
from muster.api.values.durations import age
from muster.api.values.printable import printable
from muster.cli.terminal.colours import say
from muster.client import Snapshot
from muster.client.explaining.style import BAD
from muster.kube.resources import ResourceClient, custom
from muster.kube.unstructured import mapping, moment, text, whole

LEASE = "musterd"
"""Name of the Lease, unless the settings of musterd have another."""
USUAL = 15
"""Seconds for which a Lease holds that states none."""
SKEW = 30.0
"""Seconds by which the clocks of two machines may differ."""


async def unattended(resources: ResourceClient, seen: Snapshot) -> bool:
    """Return True, and print it, if the run has not ended and no musterd renewed its Lease in time.

    False where the Lease cannot be read, and for a run of another manager.
    """
    if seen.finished or seen.managed_by:
        return False
    path = custom("coordination.k8s.io/v1", None, "leases")
    try:
        found = await resources.list(path, {"fieldSelector": f"metadata.name={LEASE}"})
    except ApiError:
        return False
    renewals, now = [], time.time()
    for lease in found:
        spec = mapping(lease.get("spec"))
        renewed = moment(spec.get("renewTime"))
        if renewed is None or now - renewed <= whole(spec, "leaseDurationSeconds", USUAL) + SKEW:
            return False
        renewals.append((renewed, text(mapping(lease.get("metadata")), "namespace")))
    if not renewals:
        return False
    last, namespace = max(renewals)
    where, ago = f"{printable(namespace)}/{LEASE}", age(now - last)
    say(click.style(f"no musterd with the Lease {where} looks after it: that was renewed last {ago} ago", fg=BAD))
    return True
