"""The field ``spec.types``: it is read by the models of the operator, and those of other operators are not imported."""

from collections.abc import Iterator
from typing import Any, Protocol

from pydantic import BaseModel, GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from muster.api.gang import MAX_MEMBERS
from muster.api.manifest.groups import Group
from muster.api.manifest.operators import operators
from muster.api.values.fields import Wrong


class Types(Protocol):
    """The types of an experiment, whatever its operator."""

    def groups(self) -> Iterator[Group]:
        """Return the groups, in rank order."""
        ...


def types_of(operator: object) -> type[BaseModel] | None:
    """Return the model of the types of an operator; None for what is no operator."""
    found = operators().get(operator) if isinstance(operator, str) else None
    return found.types() if found else None


class ByOperator:
    """Marks a field that holds the types of the operator, which is a field before it."""

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(read_types)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        return {"type": "object"}


def read_types(value: Any, info: ValidationInfo) -> Any:
    """Return the types of the operator that was read before them. Without a known operator they are not checked."""
    operator = info.data.get("operator")
    shape = types_of(operator)
    if shape is None:
        return value
    context = {**(info.context or {}), "operator": operator}
    types = value
    if not isinstance(value, shape):
        types = shape.model_validate(value, by_alias=True, by_name=False, context=context)
    members = sum(group.members for group in types.groups())
    if members > MAX_MEMBERS:
        raise Wrong(f"{members} members", f"an experiment has at most {MAX_MEMBERS}; lower count or completions")
    return types
