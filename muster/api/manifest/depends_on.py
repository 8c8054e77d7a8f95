"""The gates of a group (``types.<t>.dependsOn``)."""

from typing import Annotated, Final, Literal

from pydantic import Field

from muster.api.values.fields import GroupName, Shape, listed

MAX_GATES: Final = 32


class DependsOn(Shape):
    """Another type that must have come so far before pods of this one are created."""

    group: GroupName = Field(description="The awaited type.")
    status: Literal["Created", "Ready", "Complete", "Serving"] = Field(
        description="Created: all its pods exist. Ready: all are ready, or have succeeded. Complete (jobset only): all "
        "have succeeded. Serving: its rank 0 answers as the coordinator."
    )


Gates = Annotated[
    tuple[DependsOn, ...],
    listed(MAX_GATES),
    Field(description="What other types must have come to before pods of this one are created."),
]
