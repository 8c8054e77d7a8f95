"""The zero values that Go code stores for fields that the manifest leaves out.

A mutating webhook decodes an object into Go structs and stores it again: JobSet's own, and Kueue's for each kind that
it queues. A field without ``omitempty`` then holds Go's zero value, as ``status: ""`` of a podFailurePolicy's
``onPodConditions`` does. Controllers that read it back do not distinguish it from an absent one: it is absent here too.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import model_validator

from muster.api.values.fields import Shape


class Stored(Shape):
    """Base of the models of objects of other kinds: null is absent, and so is ``""`` where the default is a value.

    A text whose default is None is a pointer in Go. There ``""`` is a value, which Kubernetes refuses as well.
    """

    @model_validator(mode="before")
    @classmethod
    def _without_zeros(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        plain = {
            key
            for name, field in cls.model_fields.items()
            if not field.is_required() and field.default is not None
            for key in (name, field.alias)
        }
        return {key: value for key, value in data.items() if value is not None and (value != "" or key not in plain)}
