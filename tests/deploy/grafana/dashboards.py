"""The dashboards as Grafana reads them: from their JSON files, without the code that wrote them."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "deploy" / "grafana" / "json"
FILES = sorted(FOLDER.glob("*.json"))

_SELECTOR = re.compile(r"\b([a-z_]+)\{([^}]*)\}")
_NAME = re.compile(r"\b(?:muster|process|python)_[a-z0-9_]+")
_MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_GROUPED = re.compile(r"\b(?:by|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")


@dataclass(frozen=True, slots=True)
class Query:
    """One query of a panel. ``over_time`` says whether the panel draws a time range or shows one moment."""

    dashboard: str
    panel: str
    number: int
    ref: str
    expr: str
    legend: str
    over_time: bool

    def __str__(self) -> str:
        return f"{self.dashboard} panel {self.number} ({self.panel}), query {self.ref}: {self.expr}"

    @property
    def variables(self) -> frozenset[str]:
        """The dashboard variables that it reads, without those that Grafana sets."""
        return frozenset(re.findall(r"\$(?!__)(\w+)", self.expr))

    @property
    def metrics(self) -> frozenset[str]:
        return frozenset(_NAME.findall(self.expr))

    @property
    def labels(self) -> Iterator[tuple[str, str]]:
        """Each metric that it selects, with each label that the selector names."""
        for metric, matchers in _SELECTOR.findall(self.expr):
            for label in _MATCHER.findall(matchers):
                yield metric, label

    @property
    def grouped(self) -> frozenset[str]:
        """The labels that it groups by or joins on."""
        lists = _GROUPED.findall(self.expr)
        return frozenset(label.strip() for found in lists for label in found.split(",") if label.strip())


@dataclass(frozen=True, slots=True)
class Dashboard:
    path: Path
    content: dict[str, Any]

    @property
    def panels(self) -> list[dict[str, Any]]:
        """Its panels, without the headings of rows."""
        return [panel for panel in self.content["panels"] if panel["type"] != "row"]

    @property
    def queries(self) -> list[Query]:
        """All queries: of its panels, and those whose moments it marks."""
        return [
            Query(
                self.content["uid"],
                panel["title"],
                panel["id"],
                target["refId"],
                target["expr"],
                target.get("legendFormat", ""),
                bool(target.get("range")),
            )
            for panel in self.panels
            for target in panel["targets"]
        ] + [
            Query(self.content["uid"], mark["name"], -place, "Anno", mark["expr"], mark["titleFormat"], over_time=True)
            for place, mark in enumerate(self.marks, 1)
        ]

    @property
    def marks(self) -> list[dict[str, Any]]:
        """Its annotations, without the one that every dashboard has."""
        return [mark for mark in self.content["annotations"].get("list", ()) if not mark.get("builtIn")]

    @property
    def variables(self) -> dict[str, dict[str, Any]]:
        return {variable["name"]: variable for variable in self.content["templating"]["list"]}

    @property
    def links(self) -> Iterator[str]:
        """The addresses of all links: of the dashboard, of panels, of cells."""
        for link in self.content.get("links", ()):
            yield link.get("url") or ""
        for panel in self.panels:
            for link in panel.get("links", ()):
                yield link["url"]
            for override in panel["fieldConfig"]["overrides"]:
                for one in override["properties"]:
                    if one["id"] == "links":
                        yield from (link["url"] for link in one["value"])


def dashboards() -> list[Dashboard]:
    return [Dashboard(path, json.loads(path.read_text(encoding="utf-8"))) for path in FILES]
