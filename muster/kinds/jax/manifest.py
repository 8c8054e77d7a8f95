"""What a manifest may say for the operator ``jax``."""

from typing import TYPE_CHECKING, Final

from muster.api.manifest.operators import ManifestOperator, starter_in

if TYPE_CHECKING:
    from pydantic import BaseModel


def _types() -> "type[BaseModel]":
    from muster.api.manifest.types.collective import JaxTypes

    return JaxTypes


DECLARED: Final = (ManifestOperator(name="jax", types=_types, starter=starter_in(__package__), collective=True),)
