"""The address of a debug server, as it has printed it: Jupyter's with its token, a tunnel's with its code.

No object holds them (ADR 52). They are read from the log, with the right of the reader to read it.
"""

import re
from typing import Final

from muster.api.errors import Forbidden, MusterError
from muster.client.client import Client
from muster.client.errors import LogsGone, NoSuchRank
from muster.client.snapshot import Snapshot
from muster.kube.unstructured import mapping

LINES: Final = 400
"""Lines of each log that are looked at."""
_PRINTED: Final = (
    re.compile(r"https?://127\.0\.0\.1:[0-9]{1,5}/[!-~]{0,512}token=[0-9A-Za-z]{1,256}"),
    re.compile(
        r"https://(?:github\.com|(?:www\.|login\.)?microsoft\.com|login\.microsoftonline\.com)"
        r"/[0-9A-Za-z/._-]{1,128} and use code [0-9A-Za-z-]{1,32}"
    ),
    re.compile(r"https://vscode\.dev/tunnel/[!-~]{1,512}"),
)
"""Jupyter Server; ``code tunnel``: where to sign in, and then where it is.

A program writes its log itself: what leads to another host, or is not ASCII, is not shown as an address.
"""


async def debug_addresses(client: Client, seen: Snapshot) -> list[str]:
    """Return ``rank 0: https://vscode.dev/tunnel/…``, the latest of each rank; empty if none is printed or readable."""
    if not mapping(mapping(seen.raw.get("spec")).get("debug")) or seen.finished or not seen.phase:
        return []
    found: dict[int, str] = {}
    try:
        async for line in client.logs(seen.name, tail=LINES, namespace=seen.namespace):
            for pattern in _PRINTED:
                if match := pattern.search(line.text):
                    found[line.rank] = match[0]
    except (Forbidden, NoSuchRank, LogsGone):  # the message names the command that shows it, and that one the reason
        pass
    except MusterError as error:
        return [f"some rank: its log cannot be read now: {error}"]
    return [f"rank {rank}: {address}" for rank, address in sorted(found.items())]
