"""The values of secrets in the environment of a pod, which are looked up only where a container has said something."""

import msgspec

from muster.api.values.secrets import secret_values
from muster.watchers.pods.document import Spec


def secrets_of(spec: Spec | None) -> tuple[str, ...]:
    """The values of all containers of the pod."""
    if spec is None:
        return ()
    own = msgspec.json.decode(spec.containers)
    inits = [{"env": msgspec.json.decode(each.env)} for each in spec.initContainers or ()]
    return secret_values.secrets_of({"containers": own, "initContainers": inits})
