"""A daemon as far as the HTTP server needs it, and an experiment that it shows."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import ClientSession

from muster.daemon.web.pages import Pages
from muster.daemon.web.server import HttpServer
from muster.metrics.collector import Subject
from muster.metrics.instruments import Instruments
from muster.state.view.roll import RankState
from muster.state.vocabulary.pod import PodPhase
from muster.state.vocabulary.record import Cause, Condition, ConditionType, Phase, StoryLine
from muster.state.vocabulary.rules import ClockAction, ClockName
from tests.builders import NOW, Clock, answer, plan, pod, record, view

EVIL = "<script>alert(1)</script>\"'&\ud800\0"


@dataclass
class Daemon:
    """The part of a daemon that the server needs."""

    here: list[Subject] = field(default_factory=list)
    problems: dict[str, str] = field(default_factory=dict)

    def dead(self) -> Mapping[str, str]:
        return {part: text for part, text in self.problems.items() if part == "loop"}

    def unready(self) -> Mapping[str, str]:
        return self.problems

    def role(self) -> str:
        return ""

    def subjects(self) -> list[Subject]:
        return self.here

    def find(self, namespace: str, name: str) -> Subject | None:
        return next((s for s in self.here if (s.plan.namespace, s.plan.title) == (namespace, name)), None)


@asynccontextmanager
async def serving(
    daemon: Daemon, pages: Mapping[str, Any] | None = None, *, registry: Any = None, **options: Any
) -> AsyncIterator[str]:
    """Yield the address of an HTTP server of that daemon; ``pages`` are options of its pages."""
    registry = registry or Instruments("1", tracked_pods=lambda: 0, queue_depth=lambda: 0).registry
    shown = Pages(daemon, daemon.role, lambda: NOW, **pages or {})
    server = HttpServer(registry, daemon, shown, "127.0.0.1", 0, **options)
    port = await server.start()
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        await server.stop()


@asynccontextmanager
async def asking(
    daemon: Daemon, pages: Mapping[str, Any] | None = None, **options: Any
) -> AsyncIterator[ClientSession]:
    """Yield a client of such a server."""
    async with serving(daemon, pages, **options) as address, ClientSession(address) as client:
        yield client


async def text_of(client: ClientSession, path: str) -> str:
    """Return the body of an answer."""
    async with client.get(path) as response:
        return await response.text()


def assembling() -> Subject:
    """Return an experiment whose rank 2 finds no node, so that its roll is three of four."""
    idle = pod(
        2, ready=False, started=False, scheduled=False, node="", phase=PodPhase.PENDING, waiting_reason="Unschedulable"
    )
    ranks = (RankState.ARRIVED, RankState.ARRIVED, RankState.MISSING, RankState.ARRIVED)
    now = record(
        phase=Phase.ASSEMBLING,
        started_at=NOW - 60,
        restarts=1,
        message="3/4 ranks arrived; missing rank 2",
        cause=Cause(0, "OOMKilled", EVIL, NOW - 70, pod="run-worker-0-1-0", rank=1, exit_code=137, signal=9),
        conditions=(Condition(ConditionType.STUCK, True, "RanksMissing", "3/4 ranks arrived", 1, NOW),),
        story=(StoryLine(NOW - 60, 0, "Started", EVIL), StoryLine(NOW, 0, "Stuck", "RanksMissing", warning=True)),
    )
    seen = view(pod(0), pod(1), idle, pod(3), heard=answer(*ranks))
    return Subject(plan(clocks={ClockName.TOTAL: Clock(3600, ClockAction.FAIL)}), now, seen)
