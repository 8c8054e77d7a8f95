"""What one address, and one pod, may ask of the progress endpoint at the same time.

Nobody is known by name before the API server has reviewed a token, so what comes before that is bounded by address: the
tokens that were refused, and the posts that wait for a review. A token says whose it is, and for whom: one that cannot
be for this run is refused unread, also by a standby. A pod has two posts at once.
"""

from base64 import urlsafe_b64decode
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import msgspec

from muster.daemon.experiments.sent import Refused
from muster.daemon.web.reviews import DENIED, REFUSALS, Remembered

OF_ADDRESS: Final = 8
"""Posts of one address whose tokens are reviewed, or which are passed on, at the same time."""
OF_POD: Final = 2
"""Posts of one pod at the same time. Each is heard after the one before it, and once in a second."""


class _Claims(msgspec.Struct):
    aud: str | list[str] = ""


_decoder = msgspec.json.Decoder(_Claims)


def is_for(token: str, audience: str) -> bool:
    """Whether the token says that it is for that audience. Nothing is verified here: the API server does that."""
    parts = token.split(".")
    if len(parts) != 3 or not all(parts):
        return False
    try:
        claims = _decoder.decode(urlsafe_b64decode(parts[1] + "=" * (-len(parts[1]) % 4)))
    except (ValueError, msgspec.MsgspecError, RecursionError):
        return False
    return audience == claims.aud if isinstance(claims.aud, str) else audience in claims.aud


class Senders:
    """Counts what addresses and pods ask for; ``clock`` is monotonic."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._refusals = Remembered[str, int](clock)
        self._asking: Counter[str] = Counter()
        self._posting: Counter[str] = Counter()

    def refused(self, address: str) -> None:
        """A token from that address was refused."""
        self._refusals.put(address, (self._refusals.get(address) or 0) + 1, DENIED)

    @contextmanager
    def asking(self, address: str) -> Iterator[None]:
        """A post from that address waits for what others answer. Raises ``Refused``."""
        if (self._refusals.get(address) or 0) >= REFUSALS:
            raise Refused(429, "TooManyRequests", f"{REFUSALS} tokens from this address were refused: wait.")
        with _one_more(self._asking, address, OF_ADDRESS, "posts from this address wait already."):
            yield

    @contextmanager
    def posting(self, uid: str) -> Iterator[None]:
        """The pod of that uid sends its body. Raises ``Refused``."""
        with _one_more(self._posting, uid, OF_POD, "posts of this pod are read already."):
            yield


@contextmanager
def _one_more(counted: Counter[str], key: str, most: int, what: str) -> Iterator[None]:
    if counted[key] >= most:
        raise Refused(429, "TooManyRequests", f"{most} {what}")
    counted[key] += 1
    try:
        yield
    finally:
        counted[key] -= 1
        if not counted[key]:
            del counted[key]
