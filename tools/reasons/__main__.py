"""``python -m tools.reasons`` writes docs/reasons.md from the rows and from the table of causes."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from muster.metrics.runbooks import PLACES, of_reason
from muster.state.facts.audience import of_reason as audience
from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.causes.table import CAUSES, counted
from tools.reasons.rows import CAUSE, ENDED, STUCK, WAITING, Row

PAGE = Path(__file__).parents[2] / "docs/reasons.md"
NOTHING = "nothing"
"""The remedy that a row does not print."""
EACH = " -n NAMESPACE"

_HEAD = """\
<!-- Made by `python -m tools.reasons` from tools/reasons and muster/state/facts/causes. Do not edit. -->
# Reasons and causes

Each reason of a status, a condition or an Event, and each cause of a missing rank: what it means and what to do.
`muster explain NAME` prints those of a run, with evidence. Commands take `-n NAMESPACE`.

## Waiting

Reasons of `status` while nothing is wrong yet. An obstacle has its reason below at once; `Stuck` follows if it lasts.

"""
_STUCK = """
## Stuck

`Stuck` is an alert: it ends nothing. It clears when what it names is over. In parentheses are the audience of the
alert and its runbook. What the API server refuses is tried again after 5, 10, 20 and then every 30 s.

"""
_ENDED = """
## Why an experiment ended

"""
_CAUSE = """
## Why an epoch ended

`status.cause.reason`, and the label `reason` of `muster_gang_restarts_total`. A restart that is not charged is a
[disruption](policies.md#what-follows-a-failure). A clock with the action `Restart` has its own reason and is charged.
Where the gang gave up waiting for a rank, the reason is among the [causes](#causes).

"""
_CAUSES = """
## Causes

Why a rank is missing or not at work, the most decisive cause first. In parentheses is the wider cause under which
`muster_experiment_ranks_missing_by_cause` counts it. **Charged** is for a gang that
[gave up waiting](policies.md#a-gang-that-gives-up) for that rank: who pays for the restart (`user` one of
`backoffLimit`, `platform` nothing), and its reason.
"""


def page() -> str:
    """Return the document."""
    parts = (
        _HEAD,
        _rows(WAITING),
        _STUCK,
        _stuck(STUCK),
        _ENDED,
        _rows(ENDED),
        _CAUSE,
        _charged(CAUSE),
        _CAUSES,
        map(_of_cause, CAUSES),
    )
    return "".join(text for part in parts for text in part)


def _rows(rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        remedy = "" if row.remedy == NOTHING else f" **Do:** {row.remedy}"
        yield f"- {_names(row)}: {row.meaning}{remedy}\n"


def _charged(rows: Iterable[Row]) -> Iterator[str]:
    yield from (f"- {_names(row)}: {row.meaning} **Charged:** {row.remedy}\n" for row in rows)


def _stuck(rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        alert = of_reason(row.reasons[0])
        book = f"[{alert.removeprefix('Muster')}](runbooks/{PLACES[alert]})"
        yield f"- {_names(row)} ({audience(row.reasons[0])}, {book}): {row.meaning} **Do:** {row.remedy}\n"


def _names(row: Row) -> str:
    return ", ".join(f"`{reason}`" for reason in row.reasons)


def _of_cause(cause: MissingCause) -> str:
    """Return a cause below a heading of its own, to which a runbook leads."""
    wider = f"(`{counted(cause)}`) " if counted(cause) is not cause else ""
    other = f" **Watched run:** {_step(cause.watched)}." if cause.watched else ""
    charge = cause.charge
    paid = f" **Charged:** {'platform' if charge.platform else 'user'}, `{charge.reason}`" if charge else ""
    return f"\n### `{cause}`\n\n{wider}{cause.meaning} **Do:** {_step(cause.next_step)}.{other}{paid}\n"


def _step(text: str) -> str:
    """Return a next step without the option that each command takes."""
    return text.rstrip(".").replace(EACH, "")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
