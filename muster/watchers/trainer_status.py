"""Reads what a program has sent to the progress endpoint; ``muster.api.trainer_status`` has its form."""

from typing import Any

import msgspec

from muster.api.values.printable import printable
from muster.kinds.kubeflow.trainer_status import TrainerStatus, report_in
from muster.state.view.progress import StepReport
from muster.watchers.probes.reports import report_of, value_in


class _Body(msgspec.Struct):
    trainerStatus: TrainerStatus | None = None  # noqa: N815 - the wire's name
    muster: Any = None


_decoder = msgspec.json.Decoder(_Body)


class Unreadable(ValueError):
    """The body is no status."""


def read_status(body: bytes, rank: int) -> StepReport | None:
    """The report in that body, of that rank; None where it says nothing of progress. Raises ``Unreadable``."""
    try:
        sent = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(printable(str(error), 200)) from None
    if sent.muster is not None and (said := value_in(sent.muster)) is not None:
        return report_of(rank, said)
    return report_in(sent.trainerStatus, rank) if sent.trainerStatus is not None else None
