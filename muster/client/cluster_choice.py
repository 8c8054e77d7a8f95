"""Which cluster a program uses, and the error where none is configured."""

import os
from pathlib import Path

from muster.api.errors import ApiError
from muster.client.errors import NoCluster
from muster.kube.authentication.credentials import CONFIGURATION
from muster.kube.authentication.kubeconfig import users_source
from muster.kube.connection import Connection

USER_AGENT = "muster-client"
"""Not the daemon's: ``managedFields`` and audit logs distinguish what people wrote from what musterd wrote."""


async def connect(kubeconfig: Path | None, context: str | None, impersonate: str = "") -> Connection:
    """Return a connection to the cluster that kubectl would use, as that user. Raises ``NoCluster`` with what to do."""
    source = users_source(kubeconfig, context, os.environ)
    if source is None:
        raise NoCluster(
            "no cluster to talk to: there is no kubeconfig; set KUBECONFIG, pass --kubeconfig FILE, "
            "or start a cluster on this machine with `muster local up`"
        )
    try:
        return await Connection.open(source, agent=USER_AGENT, impersonate=impersonate)
    except ApiError as error:
        if error.reason != CONFIGURATION:
            raise
        raise NoCluster(error.message) from error
