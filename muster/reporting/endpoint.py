"""The channel of programs without a common store: Kubeflow's progress endpoint, of musterd or of Kubeflow's Trainer.

The address, a token and the authority are in the environment if the run asks for them (``spec.progressEndpoint``). The
token is read for each post, because the kubelet replaces it. The body is what Kubeflow's own endpoint takes, with a
field for Muster beside it.
"""

import json
import os
import ssl
import time
import urllib.request
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from muster.api.progress import CA_CERT, PREFIXES, TOKEN, URL, post_interval
from muster.reporting.reporter import Latest, finite, value_of

TIMEOUT = 5.0
"""Seconds for one post, which the reporter's thread makes."""


class Endpoint(NamedTuple):
    """The progress endpoint, from this process."""

    url: str
    token: str
    authority: str
    processes: int

    @property
    def quiet(self) -> float:
        """See ``Place``. A post that comes too early is refused."""
        return post_interval(self.processes)

    @property
    def prompt(self) -> bool:
        """See ``Place``."""
        return False

    @property
    def shows_work(self) -> bool:
        """See ``Place``. A store would show where a program is, and here is none."""
        return True

    def next(self, now: float) -> float:
        """See ``Place``."""
        return now + post_interval(self.processes)

    def write(self, latest: Latest) -> None:
        """See ``Place``."""
        if not self.url.startswith("https://"):
            raise ValueError(f"{self.url}: a token is sent by https only")
        secret = Path(self.token).read_text(encoding="utf-8").strip()
        headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        request = urllib.request.Request(self.url, body_of(latest), headers, method="POST")  # noqa: S310 - https
        trusted = ssl.create_default_context(cafile=self.authority or None)
        with urllib.request.urlopen(request, timeout=TIMEOUT, context=trusted):  # noqa: S310 - https
            pass


def body_of(latest: Latest) -> bytes:
    """Return the body of a post. Raises if the step is no whole number from 0 on."""
    value = json.loads(value_of(latest))
    metrics = {"current_step": value["step"], **finite(latest.scalars)}
    status = {
        "lastUpdatedTime": datetime.fromtimestamp(time.time(), UTC).isoformat(),
        "metrics": [{"name": name, "value": str(number)} for name, number in metrics.items()],
    }
    return json.dumps({"trainerStatus": status, "muster": value}).encode()


def endpoint(environ: Mapping[str, str] = os.environ) -> Endpoint | None:
    """Return the endpoint that the environment names; None if it names none."""
    for prefix in PREFIXES:
        url, token = environ.get(prefix + URL), environ.get(prefix + TOKEN)
        if url and token:
            size = environ.get("WORLD_SIZE", "")
            return Endpoint(url, token, environ.get(prefix + CA_CERT, ""), int(size) if size.isdigit() else 1)
    return None
