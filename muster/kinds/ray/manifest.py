"""What a manifest may say for the operator ``kuberay``."""

from typing import TYPE_CHECKING, Final

from muster.api.manifest.operators import ManifestOperator, starter_in

if TYPE_CHECKING:
    from pydantic import BaseModel


def _types() -> "type[BaseModel]":
    from muster.api.manifest.types.ray import RayTypes

    return RayTypes


DECLARED: Final = (ManifestOperator(name="kuberay", types=_types, starter=starter_in(__package__)),)
