"""The incidents, first on the page of all experiments."""

from collections.abc import Sequence
from urllib.parse import quote

from muster.api.values.accelerators import Accelerators, words
from muster.daemon.web.page.html import Child, Html, Part, element, part
from muster.daemon.web.page.times import coarse
from muster.state.facts.incidents.signs import Run
from muster.state.facts.incidents.tracking import Incident

SHOWN = 8
"""Runs of an incident that are linked to."""


def incidents(found: Sequence[Incident], now: float, accelerators: Accelerators) -> Part:
    """A line for each, and its first runs."""
    return part("section", "incidents", *(_incident(each, now, accelerators) for each in found))


def _incident(one: Incident, now: float, accelerators: Accelerators) -> Html:
    held = words(accelerators.of(one.devices))
    said = f"{one.sentence}, since {coarse(max(0.0, now - one.began))}"
    children: list[Child] = [
        element("strong", f"{said}; {held} accelerators held" if held else said),
        f" {one.remedy}. ",
    ]
    for run in one.runs[:SHOWN]:
        children += [element("a", run.name, href=_address(run)), " "]
    if len(one.runs) > SHOWN:
        children.append(f"and {len(one.runs) - SHOWN} more")
    return element("p", *children, class_="badge bad")


def _address(run: Run) -> str:
    return f"/experiments/{quote(run.namespace, safe='')}/{quote(run.name)}"
