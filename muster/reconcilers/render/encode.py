"""Encodes Kubernetes objects as JSON."""

import msgspec

from muster.api.errors import MusterError


class Unrenderable(MusterError):
    """An object holds text that cannot be encoded as JSON, so it can never be sent."""


def to_json(value: object, what: str) -> bytes:
    """Encode an object; ``what`` names it in the error.

    The only error of a well-typed object is a lone surrogate, which UTF-8 cannot hold.
    """
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError as error:
        start = max(error.start - 20, 0)
        near = error.object[start : error.end + 20]
        raise Unrenderable(
            f"{what} cannot be written as UTF-8: character {error.start} of {near!r} is half of a surrogate pair. "
            "Remove it from the manifest (it often comes from text cut in the middle of an emoji)."
        ) from error
