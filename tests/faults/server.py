"""The local cluster's API server without a node agent, as a process: ``python -m tests.faults.server``.

When it serves, it prints one JSON line with its URL and token. It ends when its standard input does.
"""

import asyncio
import json
import secrets
import sys

from muster.api.schema.crd import custom_resource_definition
from muster.local.apiserver import ApiServer

BOOKMARK = 1.0
"""Seconds between bookmarks: one instead of sixty, so that a silent watch is detected in seconds."""


async def serve() -> None:
    """Serve until standard input ends."""
    token = secrets.token_urlsafe(32)
    api = ApiServer(token=token, bookmark_seconds=BOOKMARK)
    url = await api.start()
    try:
        crd = custom_resource_definition()
        kinds = api.store.resource("apiextensions.k8s.io/v1", "customresourcedefinitions")
        api.store.ensure(kinds, "", crd)
        sys.stdout.write(json.dumps({"url": url, "token": token}) + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)
    finally:
        await api.stop()


if __name__ == "__main__":
    asyncio.run(serve())
