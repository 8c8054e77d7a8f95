"""The devices that a run holds now: those of its pods that are on a node and have not ended.

A pod without a node holds nothing, whatever it asks for. For a run of Muster's the plan has the devices of each pod of
a group; for a run of another controller each pod has its own.
"""

from collections.abc import Iterator

from muster.api.values.devices import Devices, total
from muster.state.view.view import View
from muster.state.vocabulary.plan import Engine, Plan


def held(plan: Plan, view: View) -> Devices:
    """Return the devices that its pods hold, those of older epochs too."""
    return total(_parts(plan, view)) if plan.devices or plan.engine is Engine.WATCH else ()


def _parts(plan: Plan, view: View) -> Iterator[tuple[Devices, int]]:
    for tally in view.epochs.values():
        if plan.engine is Engine.WATCH:
            yield from tally.devices.items()
            continue
        for name, counts in tally.groups.items():
            if counts.placed:
                yield plan.devices.get(name, ()), counts.placed
        for pod in tally.older.values():
            if pod.live and pod.node:
                yield plan.devices.get(pod.group, ()), 1
