"""The progress endpoint as members are given it: address and authority, of the settings."""

from collections.abc import Callable
from pathlib import Path

import structlog

from muster.daemon.settings import Settings
from muster.reconcilers.render.progress import Endpoint

log = structlog.get_logger()

MOST = 32_768
"""Bytes of the authority: it is an annotation of each pod, and those have 256 KB together."""


def endpoint_for(settings: Settings) -> Callable[[], Endpoint | None]:
    """What gives the endpoint. The file of the authority is read again when it has changed."""
    file, url = settings.progress_ca, settings.progress_url
    if settings.progress_port is None or file is None:
        return lambda: None
    known: list[tuple[float, Endpoint]] = []

    def endpoint() -> Endpoint | None:
        try:
            changed = file.stat().st_mtime
            if not known or known[0][0] != changed:
                known[:] = [(changed, Endpoint(url, authority_in(file)))]
        except (OSError, ValueError) as error:
            log.warning("the authority of the progress endpoint cannot be read", file=str(file), error=str(error))
        return known[0][1] if known else None

    return endpoint


def authority_in(file: Path) -> str:
    """The PEM text of an authority. Raises ``OSError``, ``ValueError``."""
    text = file.read_text(encoding="ascii")
    if "-----BEGIN CERTIFICATE-----" not in text or len(text) > MOST:
        raise ValueError(f"PEM text of at most {MOST} bytes is expected")
    return text
