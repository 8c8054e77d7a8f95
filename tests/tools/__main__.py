"""``python -m tests.tools``: build or fetch what tests run and package indexes do not have, and print that.

With ``--all`` also etcdutl, Vale, and the programs of Flux's and Argo CD's libraries, which take longer.

pytest keeps what its tests print, so a build within a test looks like a hang. What cannot be had is named; the tests
that need it are skipped.
"""

import argparse
import os
import sys

from tests.deploy.prometheus.binaries import Unavailable, program
from tests.tools.go_tool import ACTIONLINT, ARGO, ETCDUTL, FLUX, HELM, VALE, CannotBuild


def main() -> int:
    """Have each program; always 0, because every test that misses one reports it."""
    asked = argparse.ArgumentParser(prog="python -m tests.tools")
    asked.add_argument("--all", action="store_true", help="also those whose tests are skipped without them")
    wanted = (HELM, ACTIONLINT, ETCDUTL, VALE, FLUX, ARGO) if asked.parse_args().all else (HELM, ACTIONLINT)
    for tool in wanted:
        try:
            if not os.environ.get(tool.variable):
                tool.built()
        except CannotBuild as reason:
            _say(f"no {tool.program}: {reason}")
    for name in ("promtool", "alertmanager"):
        try:
            program(name)
        except Unavailable as reason:
            _say(f"no {name}: {reason}")
    return 0


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
