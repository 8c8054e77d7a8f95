"""The cluster process: ``python -m muster.local --state DIR [--port N] [--memory-only] [--fresh]``.

When it is ready, it prints one JSON line (``muster.local.home.Announcement``). It logs to standard error and stops on
SIGTERM or SIGINT. Exit status: 0 after a clean stop, 1 if it could not start or a part of it failed, 2 for an invalid
command line.
"""

import argparse
import asyncio
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import structlog

from muster.api.errors import MusterError
from muster.local.cluster import Cluster
from muster.local.home import Home, default_home
from muster.local.node import Isolation


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m muster.local", description="A Kubernetes cluster in one process, for laptops, demos and tests."
    )
    parser.add_argument(
        "--state", type=Path, default=None, metavar="DIR", help="state directory (default: $MUSTER_HOME)"
    )
    parser.add_argument("--port", type=int, default=0, metavar="N", help="TCP port on 127.0.0.1 (default: a free one)")
    parser.add_argument("--memory-only", action="store_true", help="keep no objects on disk")
    parser.add_argument("--fresh", action="store_true", help="delete the objects and logs of earlier clusters first")
    parser.add_argument(
        "--workspace", type=Path, default=None, metavar="DIR", help="working directory of containers that set none"
    )
    choices = [isolation.value for isolation in Isolation]
    parser.add_argument("--isolation", choices=choices, help="isolation of pods (default: the best that works here)")
    return parser


async def serve(cluster: Cluster) -> None:
    """Run the cluster until a signal or the failure of a part; stop it in both cases."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    try:
        announcement = await cluster.start()
        sys.stdout.write(msgspec.json.encode(announcement).decode() + "\n")
        sys.stdout.flush()
        await cluster.run_until(stop)
    finally:
        await cluster.stop()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a cluster; the docstring of this module describes the exit status."""
    chosen = _parser().parse_args(arguments)
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))  # standard output carries data only
    home = Home((chosen.state or default_home()).expanduser().absolute())
    cluster = Cluster(
        home,
        port=chosen.port,
        memory_only=chosen.memory_only,
        fresh=chosen.fresh,
        isolation=Isolation(chosen.isolation) if chosen.isolation else None,
        workspace=chosen.workspace.expanduser().absolute() if chosen.workspace else None,
    )
    try:
        asyncio.run(serve(cluster))
    except (MusterError, OSError) as error:
        sys.stderr.write(f"muster.local: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
