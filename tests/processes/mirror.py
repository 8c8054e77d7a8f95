"""Print what a program finds, as JSON, and end as told: ``python -m tests.processes.mirror HOW``."""

import json
import os
import random
import signal
import sys
import time


def main() -> None:
    """Print, then end."""
    how = sys.argv[1]
    found = {
        "name": __name__,
        "arguments": sys.argv[1:],
        "directory": os.getcwd(),  # noqa: PTH109 - what the system says
        "variables": dict(os.environ),
        "input": sys.stdin.read(),
        "leads a session": os.getsid(0) == os.getpid(),
        "descriptors": sorted(os.listdir("/proc/self/fd")),  # noqa: PTH208
        "random": random.random(),
    }
    sys.stdout.write(json.dumps(found) + "\n")
    sys.stdout.flush()
    if how == "waits":
        signal.pause()
    if how == "raises":
        raise ValueError(how)
    if how == "is interrupted":
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell ignores it for what runs in the background
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    sys.exit({"says": "words", "succeeds": None}.get(how, 3))


if __name__ == "__main__":
    main()
