"""``spec.clocks``: deadlines of the stages of an epoch."""

from typing import Literal

from pydantic import Field

from muster.api.values.durations import parse_duration
from muster.api.values.fields import Duration, Shape

ClockAction = Literal["Fail", "Restart", "Alert"]


class Clock(Shape):
    """A deadline of one stage of an epoch."""

    after: Duration = Field(description="How long the stage may take.")
    action: ClockAction = Field(
        "Alert", description="What happens then: Fail the experiment, Restart the gang, or Alert only."
    )

    @property
    def after_seconds(self) -> int:
        """Return the limit of the stage, in seconds."""
        return parse_duration(self.after)


class Clocks(Shape):
    """Deadlines of the stages; a clock that is absent does not run. The total is spec.timeout."""

    pending: Clock | None = Field(None, description="From an epoch's start until every member has a node.")
    starting: Clock | None = Field(
        None,
        description="From the moment every member has a node until the first program runs. 10 minutes and Alert if "
        "absent.",
    )
    assembly: Clock | None = Field(None, description="From the first process of an epoch until no rank is missing.")
    run: Clock | None = Field(None, description="From the moment no rank is missing until the epoch ends.")
    progress: Clock | None = Field(
        None,
        description="From one sign of progress to the next: the gang is assembled, a member ends with exit code 0, a "
        "program reports. An announced pause does not hold it.",
    )
    terminating: Clock | None = Field(
        None,
        description="For old pods to end. Restart deletes by force those that do not: safe only on dead nodes.",
    )
