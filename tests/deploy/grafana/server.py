"""A Prometheus on a free port of loopback, which scrapes once a second and is asked over its HTTP API."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp

from muster.cli.processes.stack import free_port
from tests.deploy.prometheus.live.pipeline import serve

Labels = Mapping[str, str]
Points = Sequence[tuple[float, float]]
"""Times in wall seconds, and values."""


class QueryFailed(AssertionError):
    """Prometheus did not accept a query."""


@dataclass(frozen=True, slots=True)
class Series:
    """One series of an answer; of an instant query it has one point."""

    labels: Labels
    points: Points

    @property
    def last(self) -> float:
        return self.points[-1][1]


@dataclass(frozen=True, slots=True)
class Prometheus:
    """The API of a server that runs."""

    url: str
    session: aiohttp.ClientSession

    async def query(self, expr: str, at: float | None = None) -> list[Series]:
        """The value of an expression at one moment: now, without ``at``."""
        params = {"query": expr} | ({"time": str(at)} if at is not None else {})
        found = await self._ask("query", params)
        if found["resultType"] == "scalar":
            return [Series({}, [_point(found["result"])])]
        return [Series(one["metric"], [_point(one["value"])]) for one in found["result"]]

    async def query_range(self, expr: str, start: float, end: float, step: float) -> list[Series]:
        """The values of an expression between two moments."""
        found = await self._ask("query_range", {"query": expr, "start": str(start), "end": str(end), "step": str(step)})
        return [Series(one["metric"], [_point(pair) for pair in one["values"]]) for one in found["result"]]

    async def label_values(self, selector: str, label: str) -> list[str]:
        """The values of a label among the series of a selector."""
        found = await self._ask(f"label/{label}/values", {"match[]": selector})
        return [str(value) for value in found]

    async def exemplars(self, expr: str, start: float, end: float) -> list[Labels]:
        """The labels of the exemplars of a query's series between two moments."""
        found = await self._ask("query_exemplars", {"query": expr, "start": str(start), "end": str(end)})
        return [one["labels"] for series in found for one in series["exemplars"]]

    async def _ask(self, path: str, params: Mapping[str, str]) -> Any:
        async with self.session.get(f"{self.url}/api/v1/{path}", params=params) as answer:
            body = await answer.json()
        if body["status"] != "success":
            raise QueryFailed(f"{params}: {body['error']}")
        return body["data"]


@asynccontextmanager
async def prometheus(
    folder: Path, target: str, *, rules: Sequence[Path] = (), features: str = ""
) -> AsyncIterator[Prometheus]:
    """A Prometheus that scrapes ``target`` (host:port) for the duration of the block, with its data in ``folder``.

    It evaluates the files of ``rules``, and has the ``features`` that its flag turns on. Raises ``Unavailable`` where
    this machine has no Prometheus and cannot fetch one.
    """
    scrape = {"job_name": "musterd", "honor_labels": True, "static_configs": [{"targets": [target]}]}
    settings = {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
        "scrape_configs": [scrape],
        "rule_files": [str(path) for path in rules],
    }
    await asyncio.to_thread(_write, folder / "prometheus.yaml", json.dumps(settings))  # JSON is YAML
    port = free_port()
    options = (*((f"--enable-feature={features}",) if features else ()), "--log.level=warn")
    async with serve("prometheus", folder, port, *options), aiohttp.ClientSession() as session:
        yield Prometheus(f"http://127.0.0.1:{port}", session)


def _point(pair: Sequence[Any]) -> tuple[float, float]:
    return float(pair[0]), float(pair[1])


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
