"""The members that others wait for in a collective."""

import re
from itertools import islice
from typing import Final

from muster.api.values.timestamps import whole_time
from muster.state.facts.causes.table import Causes
from muster.state.facts.collectives import behind, unseen, way
from muster.state.facts.context import Context
from muster.state.facts.diagnosis.finding import Diagnosis
from muster.state.vocabulary.record import ConditionType

_RANK: Final = re.compile(r"Z: (?:process(?:es)? [0-9, -]+ of )?ranks? ([0-9]{1,7})\b")


def of_collectives(context: Context, most: int) -> dict[int, Diagnosis]:
    """The members that others wait for in a collective, at most ``most``; none where the gang gets on."""
    seen = behind(context)
    if seen is None:
        return _as_recorded(context)
    found: dict[int, Diagnosis] = {}
    for each in seen.behind:
        for late in each.late:
            waiting = f"{each.waiting} of {each.size} wait in it"
            process = "" if late.member == late.rank else f"its process {late.rank} "
            pod = context.tally.members.get(late.member)
            where = f"pod {pod.name}" + (f" on node {pod.node}" if pod.node else "") if pod else "its pod"
            said = f"{where}; no collective began or ended since {whole_time(seen.moved_at)}; {waiting}"
            found.setdefault(late.member, Diagnosis(Causes.COLLECTIVE_BEHIND, f"{process}{way(each, late)}", said))
    return dict(islice(found.items(), most))


def _as_recorded(context: Context) -> dict[int, Diagnosis]:
    """The first of them, as the record has it: this daemon has taken over, and has not looked often enough."""
    said = context.record.condition(ConditionType.STUCK)
    if said is None or not unseen(context) or (rank := _RANK.search(said.message)) is None:
        return {}
    return {int(rank[1]): Diagnosis(Causes.COLLECTIVE_BEHIND, "others wait for it in a collective", said.message)}
