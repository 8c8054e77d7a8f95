"""Checks by its Lease that a musterd looks after the experiments of a cluster."""

from muster.api.errors import ApiError
from muster.api.values.durations import age
from muster.api.values.printable import printable
from muster.kube.resources import ResourceClient, custom
from muster.kube.unstructured import mapping, moment, text, whole

LEASE = "musterd"
"""Name of the Lease, unless the settings of musterd have another."""
USUAL = 15
"""Seconds for which a Lease holds that states none."""
SKEW = 30.0
"""Seconds by which the clocks of two machines may differ."""


async def unattended(resources: ResourceClient, now: float) -> str:
    """Return a sentence where no musterd has renewed its Lease in time; empty where one has, or that cannot be read."""
    path = custom("coordination.k8s.io/v1", None, "leases")
    try:
        found = await resources.list(path, {"fieldSelector": f"metadata.name={LEASE}"})
    except ApiError:
        return ""
    renewals = []
    for lease in found:
        spec = mapping(lease.get("spec"))
        renewed = moment(spec.get("renewTime"))
        if renewed is None or now - renewed <= whole(spec, "leaseDurationSeconds", USUAL) + SKEW:
            return ""
        renewals.append((renewed, text(mapping(lease.get("metadata")), "namespace")))
    if not renewals:
        return ""
    last, namespace = max(renewals)
    return f"no musterd looks after it: the Lease {printable(namespace)}/{LEASE} was renewed last {age(now - last)} ago"
