"""``python -m tests.real [-m core] [pytest arguments]``: run the tests on a new ground, print the table and the rights.

Exit status: 0 if every row is as it should be, 1 if one is not or KUBECONFIG names a cluster that cannot be used, 3
without Go or its modules (and without a KUBECONFIG).
"""

import argparse
import json
import sys
import time
from pathlib import Path

from tests.real import rights
from tests.real.binaries import CANNOT_BUILD
from tests.real.given import NotUsable
from tests.real.ground import SYSTEM, Ground, ground
from tests.real.play import Play, chosen, last_line, say
from tests.real.stopping import REVOKED
from tests.tools.go_tool import CannotBuild

WORKERS = 6
"""Situations at the same time: most of them wait for clocks."""
UNFIT = 1
SECONDS = 3600.0
"""For all situations: eight minutes on 2 idle cores."""


def main(arguments: list[str]) -> int:
    what = "Play situations on a real control plane, which Go builds once; with KUBECONFIG on that cluster instead."
    choice = chosen(argparse.ArgumentParser("python -m tests.real", description=what, allow_abbrev=False), arguments)
    began = time.monotonic()
    try:
        with ground(say) as (built, supervisor):
            play = Play("tests/real", choice, built, SECONDS)
            well = play.all(("not alone", "-n", str(WORKERS)), ("alone",))
            for text in supervisor.unexpected:
                say(text)
            proper = _rights(built, whole=not choice)
            say(last_line(built, began))
            return 0 if well and proper and not supervisor.unexpected else 1
    except CannotBuild as missing:
        say(f"make real: {missing}")
        return CANNOT_BUILD
    except NotUsable as unfit:
        say(f"make real: KUBECONFIG cannot be used: {unfit}")
        return UNFIT


def _rights(built: Ground, *, whole: bool) -> bool:
    """Print what the audit log shows of musterd's rights; True if none was missing and in a whole run all were used."""
    if not built.own:
        say("rights: not measured, the audit log is that of another cluster")
        return True
    file = Path(built.folder) / REVOKED
    revoked = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    measured = rights.measure(Path(built.audit_log), rights.account(SYSTEM, "musterd"), rights.deployed(), revoked)
    for line in rights.lines(measured):
        say(line)
    return not measured.missing and not (whole and measured.unused)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
