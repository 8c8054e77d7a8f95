"""Fields of a manifest for the operator ``jobset``."""

from typing import TYPE_CHECKING, Final

from muster.api.manifest.operators import ManifestOperator, Program, starter_in

if TYPE_CHECKING:
    from pydantic import BaseModel


def _types() -> "type[BaseModel]":
    from muster.api.manifest.types.jobset import JobSetTypes

    return JobSetTypes


def _each() -> "type[BaseModel]":
    from muster.api.manifest.types.jobset import JobSetType

    return JobSetType


DECLARED: Final = (
    ManifestOperator(
        name="jobset",
        types=_types,
        starter=starter_in(__package__),
        staged=True,
        each=_each,
        program=Program(about="they do not"),
    ),
)
