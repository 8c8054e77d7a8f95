"""Links from the page to the runbooks: from the reason of a condition Stuck, and from each cause."""

from dataclasses import dataclass

from muster.daemon.web.page.html import Html, element
from muster.metrics import runbooks

OUTSIDE = "noopener noreferrer"
"""The relation of a link to another server: it learns nothing of the page."""


@dataclass(frozen=True, slots=True)
class Runbooks:
    """``base`` is where they are; without it there are no links. Only http, https and musterd's own are followed."""

    base: str = ""

    def of_reason(self, reason: str) -> str:
        """The address of the runbook of a reason of Stuck; empty where there is none."""
        return self._address(runbooks.of_reason(reason))

    def of_cause(self, cause: str) -> str:
        """The address of the runbook of a cause; empty where nothing is to be done about it."""
        return self._address(runbooks.of_cause(cause))

    def _address(self, name: str) -> str:
        known = self.base.startswith(("http://", "https://")) or self.base == runbooks.SERVED
        return f"{self.base.rstrip('/')}/{name}.md" if name and known else ""


def link(target: str) -> Html:
    """The link to a runbook, or nothing."""
    return element("a", "Runbook", href=target, rel=OUTSIDE, class_="runbook") if target else Html("")
