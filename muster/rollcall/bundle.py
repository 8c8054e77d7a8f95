"""A bundle: files about one run in one archive, which is the same for the same input.

Names are sorted, no file has an owner or an absolute path, and every file has the same time. Sizes are bounded: a text
is cut, and says so. Callers give texts that hold what may leave the cluster; what looks like a credential in them is
replaced here, as a second guard.
"""

import gzip
import io
import json
import re
import tarfile
from collections.abc import Mapping
from typing import Any, Final

from muster.api.values.secrets.credentials import without_credentials

MOST_BYTES: Final = 2**20
"""Bytes of one file."""
MOST_FILES: Final = 64
LONGEST_NAME: Final = 100
CUT: Final = "\n(cut here: the file was longer)\n"

_UNSAFE: Final = re.compile(r"[^A-Za-z0-9._-]+")


def clean(value: Any) -> Any:
    """JSON data in which every text has lost its credentials."""
    match value:
        case str():
            return without_credentials(value)
        case Mapping():
            return {str(key): clean(each) for key, each in value.items()}
        case list() | tuple():
            return [clean(each) for each in value]
    return value


def as_json(value: Any) -> str:
    """The data as JSON for people, with sorted keys. Controls in texts are escaped."""
    return json.dumps(clean(value), indent=1, sort_keys=True) + "\n"


def archive(folder: str, files: Mapping[str, str], at: float) -> bytes:
    """A ``tar.gz`` of these files below ``folder``; ``at`` is their time in wall seconds.

    Names may have folders (``epochs/1.json``); each part is made safe: it has no other characters than letters, digits
    and ``._-``, and does not begin with a dot. Files beyond ``MOST_FILES`` are left out, the last names first.
    """
    packed, seconds = io.BytesIO(), max(0, min(int(at), 2**33 - 1))
    top = _safe(folder)
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as zipped,
        tarfile.open(fileobj=zipped, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for name in sorted(files)[:MOST_FILES]:
            body = _bounded(files[name])
            entry = tarfile.TarInfo("/".join([top, *map(_safe, name.split("/"))]))
            entry.size, entry.mtime, entry.mode = len(body), seconds, 0o644
            tar.addfile(entry, io.BytesIO(body))
    return packed.getvalue()


def _bounded(text: str) -> bytes:
    body = text.encode("utf-8", "replace")
    if len(body) <= MOST_BYTES:
        return body
    return body[:MOST_BYTES].decode("utf-8", "ignore").encode() + CUT.encode()


def _safe(part: str) -> str:
    return _UNSAFE.sub("_", part)[:LONGEST_NAME].lstrip(".") or "_"
