"""Fields of a manifest for the operator ``jax``."""

from collections.abc import Mapping
from typing import Final

from muster.api.manifest.operators import ONE_PROCESS, TORCHRUN, ManifestOperator, Program, model_in, starter_in
from muster.api.names import PYTORCH_PORT


def _torchrun(workers: int) -> Mapping[str, str]:
    return {
        **ONE_PROCESS,
        "RANK": "$(JAXOPERATOR_PROCESS_ID)",
        "WORLD_SIZE": str(workers),
        "MASTER_ADDR": "$(JAXOPERATOR_COORDINATOR_HOST)",
        "MASTER_PORT": str(PYTORCH_PORT),
    }


DECLARED: Final = (
    ManifestOperator(
        name="jax",
        types=model_in("collective", "JaxTypes"),
        starter=starter_in(__package__),
        collective=True,
        respelled=("worker",),
        hints={"Master": "the only type is worker; rank 0 is its first member"},
        program=Program(about=TORCHRUN, variables=_torchrun),
    ),
)
