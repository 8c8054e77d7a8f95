"""The field ``template``: it stays the plain mapping it was written as.

The models that check it are imported for a manifest that has one: most have none, and building them takes longer than
checking everything else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ValidationInfo, WithJsonSchema, WrapValidator

from muster.api.names import AICHOR_KIND, API_VERSION, KIND
from muster.api.values.fields import Wrong


@dataclass(frozen=True, slots=True)
class CheckedBy:
    """Marks a field that stays the plain mapping it was written as. ``model`` returns the model that checks it."""

    model: Callable[[], type[BaseModel]]


def _model() -> type[BaseModel]:
    from muster.api.manifest.template.pod import PodTemplate

    return PodTemplate


def _check(value: Any, handler: Callable[[Any], Any], info: ValidationInfo) -> Any:
    context = info.context or {}
    if context.get("kind") == AICHOR_KIND:
        raise Wrong(
            f"an {AICHOR_KIND} has no template", f"write kind: {KIND}, apiVersion: {API_VERSION}, and metadata.name"
        )
    context = {"operator": info.data.get("operator"), **context}
    _model().model_validate(value, by_alias=True, by_name=False, context=context)
    return handler(value)


Template = Annotated[
    dict[str, Any],
    CheckedBy(_model),
    WrapValidator(_check),
    WithJsonSchema({"type": "object", "maxProperties": 2, "x-kubernetes-preserve-unknown-fields": True}),
]
"""A pod template as written: checked, and immutable by convention."""
