"""What commands that play plans have in common: lines at once, and one order of sets in every process."""

import os
import sys

HASH_SEED = "0"
"""The iteration order of a set of strings differs between processes; here it must not."""


def with_fixed_hashes(module: str) -> None:
    """Start the process again as that module, unless its hashes are fixed already."""
    if os.environ.get("PYTHONHASHSEED") != HASH_SEED:
        os.environ["PYTHONHASHSEED"] = HASH_SEED
        os.execv(sys.executable, [sys.executable, "-m", module, *sys.argv[1:]])


def say(text: str) -> None:
    """Print the text, and flush."""
    sys.stdout.write(f"{text.rstrip()}\n")
    sys.stdout.flush()
