"""The daemon's log while a plan is played: an error is a violation, unless the daemon has been killed."""

import logging
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import structlog

if TYPE_CHECKING:
    from tests.simulation.world.world import World


@contextmanager
def error_log(world: "World") -> Iterator[None]:
    """Redirect structlog to the world for the duration of the block."""

    def take(logger: Any, level: str, line: MutableMapping[str, Any]) -> NoReturn:
        dead = world.runs and world.runs[-1].transport.dead
        event, error = line.pop("event"), line.pop("exc_info", None)
        if level in ("error", "critical") and not dead:
            world.violate(f"the daemon logs an error: {event} {line} {error!r}")
        if world.say and not dead:
            fields = " ".join(f"{key}={value}" for key, value in line.items())
            world.say(f"{world.loop.time():9.3f}       log {level:8} {event} {fields}")
        raise structlog.DropEvent

    before = structlog.get_config()
    quiet = logging.INFO if world.say else logging.ERROR
    structlog.configure(
        processors=[take], wrapper_class=structlog.make_filtering_bound_logger(quiet), cache_logger_on_first_use=False
    )
    try:
        yield
    finally:
        structlog.configure(**before)
