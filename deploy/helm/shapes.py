"""Parts of the chart's values: types, patterns, and a mapping that refuses unknown keys."""

from collections.abc import Iterable
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

from muster.daemon.settings import NAME

LABEL = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
"""A DNS label (RFC 1123)."""
HOSTS = NAME.replace("^", r"^(\*\.)?", 1)
"""A DNS subdomain, also with a wildcard in front."""

Port = Annotated[int, Field(ge=1, le=65535)]
Object = dict[str, Any]
"""Object that Kubernetes itself checks."""
Create = Literal["auto", "always", "never"]
AUTO = "auto: where the cluster serves monitoring.coreos.com/v1"
DURATION = r"^([0-9]+(ms|[smhdwy]))+$"


def listed(names: Iterable[str], *more: str) -> str:
    """Return the pattern of a list of these names, separated by commas."""
    one = f"({'|'.join((*names, *more))})"
    return f"{one}(,{one})*"


class Strict(BaseModel):
    """A mapping that refuses keys it does not know."""

    model_config = ConfigDict(extra="forbid", alias_generator=to_camel, populate_by_name=True)
