"""Standard streams that can be written to whatever the caller left: closed descriptors, a locale without UTF-8."""

import io
import os
import sys


def prepare_streams() -> None:
    """Replace closed standard streams by /dev/null, and have them print what their encoding lacks as escapes.

    A scheduler or ``>&-`` may start a process without them. The first free descriptor is opened, so no file that is
    opened later takes the number of a standard stream.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115, PTH123 - open until the end
        elif mode == "w" and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
