"""Fields of a manifest for the operator ``xgboost``."""

from typing import TYPE_CHECKING, Final

from muster.api.manifest.operators import ONE_PROCESS, ManifestOperator, Program, starter_in

if TYPE_CHECKING:
    from pydantic import BaseModel


def _types() -> "type[BaseModel]":
    from muster.api.manifest.types.collective import MasterTypes

    return MasterTypes


DECLARED: Final = (
    ManifestOperator(
        name="xgboost",
        types=_types,
        starter=starter_in(__package__),
        collective=True,
        respelled=("worker", "master"),
        program=Program(variables=lambda _workers: ONE_PROCESS),
    ),
)
