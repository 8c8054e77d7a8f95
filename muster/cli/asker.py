"""The author of a request, in words that a cancellation or a restart leaves on the experiment."""

import getpass
import socket
import time

from muster.api.values.printable import printable
from muster.api.values.timestamps import whole_time

LONGEST = 100
"""Characters of the name of a user or of a machine."""


def asker() -> str:
    """Return ``anna@laptop at 2026-11-23T04:17:05Z``: the user of this machine, as far as it knows one."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user id without a name
        user = "a user"
    return f"{printable(user, LONGEST)}@{printable(socket.gethostname(), LONGEST)} at {whole_time(time.time())}"
