"""Fields of a manifest for the operator ``pytorch``."""

from typing import Final

from muster.api.manifest.operators import ONE_PROCESS, TORCHRUN, ManifestOperator, Program, model_in, starter_in

DECLARED: Final = (
    ManifestOperator(
        name="pytorch",
        types=model_in("collective", "MasterTypes"),
        starter=starter_in(__package__),
        collective=True,
        respelled=("worker", "master"),
        program=Program(about=TORCHRUN, variables=lambda _workers: ONE_PROCESS),
    ),
)
