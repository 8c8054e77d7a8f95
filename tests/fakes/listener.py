"""Stops listeners of fakes without losing a connection."""

import asyncio


def accepting() -> bool:
    """A connection of this loop is accepted and has no transport yet."""
    return any("_accept_connection" in getattr(task.get_coro(), "__name__", "") for task in asyncio.all_tasks())


async def stop_listening(server: asyncio.Server) -> None:
    """Close the server when each accepted connection has its transport.

    ``Server.close`` of Python 3.11 fails one that has none: its socket then stays open, and nobody serves it.
    """
    while accepting():  # noqa: ASYNC110 - of the loop itself
        await asyncio.sleep(0)
    server.close()
