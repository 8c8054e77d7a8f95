"""The client without ``await``: every method of ``Client``, run on an event loop of its own.

    with BlockingClient() as client:
        print(client.wait(client.submit(Path("manifest.yaml")).name).outcome)

Not for use inside a running event loop, nor from several threads at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from muster.client.client import Client

P = ParamSpec("P")
T = TypeVar("T")


def _blocking(
    method: Callable[Concatenate[Client, P], Coroutine[Any, Any, T]],
) -> Callable[Concatenate[BlockingClient, P], T]:
    @wraps(method)
    def run(self: BlockingClient, /, *args: P.args, **kwargs: P.kwargs) -> T:
        return self.run(method(self.client, *args, **kwargs))

    return run


def _stepping(
    method: Callable[Concatenate[Client, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[BlockingClient, P], Iterator[T]]:
    @wraps(method)
    def run(self: BlockingClient, /, *args: P.args, **kwargs: P.kwargs) -> Iterator[T]:
        return self.step(method(self.client, *args, **kwargs))

    return run


class BlockingClient:
    """``Client`` without ``await``; the arguments and errors are the same."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.client = Client(*args, **kwargs)
        self._runner = asyncio.Runner()

    def __enter__(self) -> BlockingClient:
        self.run(self.client.__aenter__())
        return self

    def __exit__(self, *_: object) -> None:
        self.run(self.client.__aexit__())
        self._runner.close()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Return the result of one call."""
        return self._runner.run(coroutine)

    def step(self, items: AsyncGenerator[T, None]) -> Iterator[T]:
        """Yield the items of a stream, each fetched when it is asked for."""

        async def fetch() -> tuple[T, ...]:
            async for item in items:
                return (item,)
            return ()

        try:
            while found := self.run(fetch()):
                yield found[0]
        finally:
            self.run(items.aclose())

    submit = _blocking(Client.submit)
    get = _blocking(Client.get)
    list = _blocking(Client.list)
    list_stuck = _blocking(Client.list_stuck)
    watch = _stepping(Client.watch)
    wait = _blocking(Client.wait)
    members = _blocking(Client.members)
    watch_members = _stepping(Client.watch_members)
    last_lines = _blocking(Client.last_lines)
    events = _blocking(Client.events)
    explain = _blocking(Client.explain)
    logs = _stepping(Client.logs)
    cancel = _blocking(Client.cancel)
    restart = _blocking(Client.restart)
    rerun = _blocking(Client.rerun)
    delete = _blocking(Client.delete)
