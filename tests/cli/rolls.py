"""Documents of musterd's page, as the command line reads them."""

from typing import Any

import msgspec

from muster.rollcall.document import Detail
from muster.rollcall.make import detail
from muster.state.facts.context import Context
from tests.builders import NOW, plan, record, view


def roll_document(**fields: Any) -> Detail:
    """The document of a run of four, with other values in some fields."""
    known = msgspec.to_builtins(detail(Context.at(plan(), record(), view(), NOW)))
    return msgspec.convert({**known, **fields}, Detail)
