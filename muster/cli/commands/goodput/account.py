"""Time in buckets, of one experiment or of several together, and how a terminal shows it: one bar for each bucket."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import click

from muster.api.goodput import Bucket, StepTime, whole_seconds
from muster.api.values.durations import age
from muster.api.values.printable import printable
from muster.client.explaining.style import COLOURS
from muster.rollcall import tone_of

COLUMNS: Final = 40
"""Width of the bar of a bucket that has all the time."""
EIGHTHS: Final = " ▏▎▍▌▋▊▉"


@dataclass(frozen=True, slots=True)
class Account:
    """Milliseconds by bucket. ``weighted`` is the same with each experiment times the accelerators that it holds."""

    title: str
    milliseconds: Mapping[Bucket, float]
    weighted: Mapping[Bucket, float]
    experiments: int = 1
    by_steps: int = 0
    """Number of the experiments that report steps."""
    holding: int = 0
    """Number of them that hold accelerators."""
    step_time: StepTime | None = None
    """Step time of one experiment that reports enough steps."""

    @property
    def wall(self) -> float:
        """Return the sum of all buckets."""
        return sum(self.milliseconds.values())

    @property
    def goodput(self) -> float | None:
        """Return the productive part; None where no time has passed."""
        return share(self.milliseconds, Bucket.PRODUCTIVE)

    @property
    def weighted_goodput(self) -> float | None:
        """Return the productive part of the time of accelerators; None where none are held."""
        return share(self.weighted, Bucket.PRODUCTIVE)

    def document(self) -> dict[str, Any]:
        """Return the account as data, in seconds."""
        return {
            "title": self.title,
            "experiments": self.experiments,
            "reportingSteps": self.by_steps,
            "holdingAccelerators": self.holding,
            "wallSeconds": round(self.wall / 1000, 3),
            "goodput": self.goodput,
            "seconds": {each.value: round(self.milliseconds.get(each, 0) / 1000, 3) for each in Bucket},
            "acceleratorGoodput": self.weighted_goodput,
            "acceleratorSeconds": {each.value: round(self.weighted.get(each, 0) / 1000, 3) for each in Bucket},
            "usualStepSeconds": round(self.step_time.usual / 1000, 6) if self.step_time else None,
            "beyondUsualStepsSeconds": self.step_time.beyond / 1000 if self.step_time else None,
        }

    def lines(self) -> Iterator[str]:
        """Yield a heading, and a bar for each bucket that has time."""
        yield self._heading()
        seconds = whole_seconds(self.milliseconds)
        for bucket in Bucket:
            if (part := share(self.milliseconds, bucket)) is None or self.milliseconds.get(bucket, 0) < 1:
                continue
            held = share(self.weighted, bucket)
            cells = [
                f"  {bucket.value:<18}",
                f"{age(seconds[bucket]):>7}",
                f"{percent(part):>7}",
                *([f"{percent(held):>7} of accelerators"] if held is not None else []),
                click.style(bar(part), fg=COLOURS[tone_of(bucket)]),
            ]
            yield "  ".join(cells).rstrip()
        if self.step_time is not None and (beyond := round(self.step_time.beyond / 1000)):
            usual = f"{self.step_time.usual / 1000:.3g} s"
            yield f"  of the productive time {age(beyond)} went beyond the usual step of {usual}"

    def _heading(self) -> str:
        words = [printable(self.title)]
        if self.goodput is None:
            return f"{words[0]}  no time is counted yet"
        words.append(f"goodput {percent(self.goodput)} of {age(round(self.wall / 1000))}")
        if self.weighted_goodput is not None and self.experiments > 1:
            words.append(f"{percent(self.weighted_goodput)} by accelerators")
        if self.experiments > 1:
            words.append(f"{self.experiments} experiments")
        return "  ".join(words)


def together(title: str, accounts: Iterable[Account]) -> Account:
    """Return the sums of several."""
    found = list(accounts)
    return Account(
        title,
        {bucket: sum(each.milliseconds.get(bucket, 0) for each in found) for bucket in Bucket},
        {bucket: sum(each.weighted.get(bucket, 0) for each in found) for bucket in Bucket},
        experiments=sum(each.experiments for each in found),
        by_steps=sum(each.by_steps for each in found),
        holding=sum(each.holding for each in found),
    )


def share(of: Mapping[Bucket, float], bucket: Bucket) -> float | None:
    """Return the part that a bucket has; None where there is nothing to share."""
    whole = sum(of.values())
    return of.get(bucket, 0) / whole if whole > 0 else None


def percent(part: float) -> str:
    """Return ``61.2 %``. What is less than all, or more than nothing, is not rounded to it."""
    rounded = min(max(part, 0.001), 0.999) if 0 < part < 1 else part
    return f"{100 * rounded:.1f} %"


def bar(part: float) -> str:
    """Return a bar as long as the part, in eighths of a column, and at least one of them."""
    whole, rest = divmod(max(1, round(8 * COLUMNS * part)), 8)
    return "█" * whole + (EIGHTHS[rest] if rest else "")
