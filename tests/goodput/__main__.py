"""``python -m tests.goodput``: print each bucket as a real gang logs it and as Muster counts it; 1 if one is off.

It takes five minutes: 200 steps of two real jax processes, one killed, one frozen for 70 s, both suspended for 30 s.
``--keep FOLDER`` keeps the logs and the state of the cluster there.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from tests.goodput.scene import play


def main() -> int:
    """Play it once."""
    parser = argparse.ArgumentParser(prog="python -m tests.goodput", description=__doc__)
    parser.add_argument("--keep", type=Path, default=None)
    folder = parser.parse_args().keep or Path(tempfile.mkdtemp(prefix="goodput-"))
    folder.mkdir(parents=True, exist_ok=True)
    found = asyncio.run(play(folder))
    for row in found:
        line = f"{row.bucket:<20}{row.logged:>10.2f} s{row.counted:>10.2f} s  {'' if row.holds else 'off'}"
        sys.stdout.write(f"{line.rstrip()}\n")
    return 0 if all(row.holds for row in found) else 1


if __name__ == "__main__":
    sys.exit(main())
