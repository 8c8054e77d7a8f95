"""The secrets in the environment of a pod, which are looked up only where a container has said something."""

import msgspec

from muster.api.values.secrets import environment
from muster.api.values.secrets.environment import NO_SECRETS, Secrets
from muster.watchers.pods.document import Spec


def secrets_of(spec: Spec | None) -> Secrets:
    """Those of all containers of the pod."""
    if spec is None:
        return NO_SECRETS
    own = msgspec.json.decode(spec.containers)
    inits = [
        {"env": msgspec.json.decode(each.env), "envFrom": msgspec.json.decode(each.envFrom)}
        for each in spec.initContainers or ()
    ]
    return environment.secrets_of({"containers": own, "initContainers": inits})
