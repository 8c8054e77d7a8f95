"""Fields of a manifest for the operator ``kuberay``."""

from collections.abc import Mapping
from typing import Any, Final

from muster.api.manifest.operators import ManifestOperator, Program, Resources, model_in, starter_in

SUBMITTER: Final[Resources] = {"cpus": 0.5, "memory": 1.0}
"""As KubeRay's default for the submitter, whose limits are 1 CPU and 1 GiB."""


def _program(count: int, resources: Resources) -> Mapping[str, Any]:
    """Return a head, at which the program runs, and one Ray worker fewer than there are nodes."""
    workers = [{"name": "worker", "count": count - 1, "resources": resources}]
    return {"Head": {"resources": resources}, "Workers": workers if count > 1 else []}


DECLARED: Final = (
    ManifestOperator(
        name="kuberay",
        types=model_in("ray", "RayTypes"),
        starter=starter_in(__package__),
        respelled=("Head", "Workers"),
        fields=("rayVersion",),
        debugger="jupyter",
        hints={"dependsOn": "Ray workers wait for the head anyway"},
        success="a Ray experiment succeeds with its submitter; head and workers run until then",
        first_group="Ray keeps its jobs and actors in the head's memory: they are lost with it",
        program=Program(
            name="ray", about="a head and N - 1 workers; PROGRAM runs at the head", types=_program, beside=SUBMITTER
        ),
    ),
)
