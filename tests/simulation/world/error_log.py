"""The daemon's log while a world is played: what it calls an error is one, unless the world killed it meanwhile."""

import logging
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import structlog

if TYPE_CHECKING:
    from tests.simulation.world.world import World


@contextmanager
def listening(world: "World") -> Iterator[None]:
    """Read the log into the world."""

    def take(logger: Any, level: str, line: MutableMapping[str, Any]) -> NoReturn:
        dead = world.lives and world.lives[-1].door.dead
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
