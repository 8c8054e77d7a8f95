"""``python -m deploy.reasons`` writes docs/reasons.md from the rows and from the table of causes."""

from collections.abc import Iterable, Iterator
from pathlib import Path

from deploy.reasons.rows import CAUSE, ENDED, STUCK, WAITING, Row
from muster.metrics.runbooks import of_reason
from muster.state.facts.audience import of_reason as audience
from muster.state.facts.causes.cause import MissingCause
from muster.state.facts.causes.table import CAUSES

PAGE = Path(__file__).parents[2] / "docs/reasons.md"

_HEAD = """\
<!-- Made by `python -m deploy.reasons` from deploy/reasons and muster/state/facts/causes. Do not edit. -->
# Reasons and causes

Each reason of a status, a condition or an Event, and each cause of a missing rank: what it means and what to do.
`muster explain NAME` prints those of a run, with evidence.

## Waiting

Reasons of `status` while nothing is wrong yet. An obstacle has its reason below from its first moment; `Stuck` follows
if it lasts.

| reason | meaning | what to do |
|---|---|---|
"""
_STUCK = """
## Stuck

`Stuck` is an alert: it ends nothing. It is cleared when what it names is over, and when the run ends or is suspended.
`for` is the audience of the alert. What the API server refuses is tried again after 5, 10, 20 and then every 30 s.
Errors that often pass within a second are reported once they have lasted 2 s.

| reason | meaning | what to do | for | runbook |
|---|---|---|---|---|
"""
_ENDED = """
## Ended

| reason | meaning | what to do |
|---|---|---|
"""
_CAUSE = """
## Why an epoch ended

`status.cause.reason`, and the label `reason` of `muster_gang_restarts_total`. A restart that is not charged is a
disruption: the first one waits for no back-off, those that follow in a row wait as long as failures do, and
`restartPolicy.maxDisruptions` limits the row. A clock with the action `Restart` has its own reason and is charged.
Where the gang gave up waiting for a rank, the reason is in the last column of [causes](#causes).

| reason | meaning | charged to `backoffLimit` |
|---|---|---|
"""
_CAUSES = """
## Causes

Why a rank is missing or not at work. The list is closed, and the most decisive cause comes first, as in a sentence. In
parentheses is the wider cause under which `muster_experiment_ranks_missing_by_cause` counts it. The last column is the
reason and the payer of the restart, where the gang [gave up waiting](policies.md#a-gang-that-gives-up) for that rank.

| cause | meaning | what to do | charged |
|---|---|---|---|
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
        _rows(CAUSE),
        _CAUSES,
        map(_of_cause, CAUSES),
    )
    return "".join(text for part in parts for text in part)


def _rows(rows: Iterable[Row]) -> Iterator[str]:
    yield from (f"| {_names(row)} | {row.meaning} | {row.remedy} |\n" for row in rows)


def _stuck(rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        alert = of_reason(row.reasons[0])
        book = f"[{alert.removeprefix('Muster')}](runbooks/{alert}.md)"
        yield f"| {_names(row)} | {row.meaning} | {row.remedy} | {audience(row.reasons[0])} | {book} |\n"


def _names(row: Row) -> str:
    return ", ".join(f"`{reason}`" for reason in row.reasons)


def _of_cause(cause: MissingCause) -> str:
    name = f"`{cause}`" + (f" (`{cause.counted_as}`)" if cause.counted_as else "")
    other = f" **Watched run:** {cause.watched}" if cause.watched else ""
    charge = cause.charge
    paid = f"`{charge.reason}`, {'platform' if charge.platform else 'user'}" if charge else ""
    cells = (cause.meaning, cause.next_step + other, paid)
    return f"| {name} | {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
