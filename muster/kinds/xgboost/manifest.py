"""Fields of a manifest for the operator ``xgboost``."""

from typing import Final

from muster.api.manifest.operators import ONE_PROCESS, ManifestOperator, Program, model_in, starter_in

DECLARED: Final = (
    ManifestOperator(
        name="xgboost",
        types=model_in("collective", "MasterTypes"),
        starter=starter_in(__package__),
        collective=True,
        respelled=("worker", "master"),
        program=Program(variables=lambda _workers: ONE_PROCESS),
    ),
)
