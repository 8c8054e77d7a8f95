"""Kubernetes objects to JSON bytes."""

import msgspec

from muster.api.errors import MusterError


class Unrenderable(MusterError):
    """An object holds text that JSON cannot carry, so that no API server will ever see it."""


def to_json(value: object, what: str) -> bytes:
    """Encode; ``what`` names the object for the one error a well-typed object can cause (half of a surrogate pair)."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError as error:
        start = max(error.start - 20, 0)
        near = error.object[start : error.end + 20]
        raise Unrenderable(
            f"{what} cannot be written as UTF-8: character {error.start} of {near!r} is half of a surrogate pair. "
            "Remove it from the manifest (it often comes from text cut in the middle of an emoji)."
        ) from error
