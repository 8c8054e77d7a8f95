"""Tests that are one story in virtual time: a decorator of their world plays them."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from inspect import signature
from typing import Any

from tests.simulation.world.virtual_loop import VirtualLoop

Story = Callable[..., Coroutine[Any, Any, None]]


def in_virtual_time(story: Coroutine[Any, Any, None]) -> None:
    """Run it to its end."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(story)


def as_test(story: Story, play: Callable[[Story], None], *, given: int = 1) -> Callable[..., None]:
    """The test that lets ``play`` run the story. It gives the first ``given`` arguments, and pytest the others."""

    @wraps(story)
    def test(**arguments: Any) -> None:
        play(partial(story, **arguments))

    seen = signature(story)
    test.__signature__ = seen.replace(parameters=list(seen.parameters.values())[given:])  # type: ignore[attr-defined]
    return test
