"""Progress: the last sign that a gang makes progress, for the clock ``progress``.

Signs that Muster sees without help of the program: the gang was assembled, and a member ended with exit code 0. A
program that works for hours between two ends shows none of them, so the clock runs only if the spec asks for it
(ADR 0047). If the program reports steps (``muster.report``), each report is a sign, too.
The time is kept in the record if that clock runs, and is written along with other news: a gang whose members end or
step one after another costs no write of its own. It is the instant at which Muster saw the sign: clocks of nodes may be
set otherwise.
"""

from msgspec.structs import replace

from muster.state.facts.context import Context
from muster.state.vocabulary.record import Phase, Record
from muster.state.vocabulary.rules import ClockName


def note(context: Context) -> Record:
    """Return the record with the last sign of progress of an assembled gang."""
    record = context.record
    if record.phase is not Phase.RUNNING or context.plan.clock(ClockName.PROGRESS) is None:
        return record
    reported = context.view.progress_of(record.epoch)
    moved_at = reported.moved_at if reported else None
    signs = (record.assembled_at, record.progressed_at, context.view.done_at, moved_at)
    last = max((at for at in signs if at is not None), default=None)
    return record if last == record.progressed_at else replace(record, progressed_at=last)
