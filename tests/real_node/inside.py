"""The run inside its namespaces: make the ground, play the situations, print the table. Started by `__main__`."""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from tests.real.play import Play, chosen, last_line, say
from tests.real_node.ground import ground
from tests.real_node.images.build import Images
from tests.real_node.programs import Programs

WORKERS = 8
"""Situations at the same time: most of them wait for clocks."""
SECONDS = 2400.0
"""For all situations: 15 minutes on 2 idle cores."""


def main(folder: Path, arguments: list[str]) -> int:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # the first process of a namespace ignores it otherwise
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    began = time.monotonic()
    made = json.loads((folder / "made.json").read_text(encoding="utf-8"))
    with ground(folder, Programs(**made["programs"]), Images(**made["images"]), say) as (built, supervisor):
        if arguments[:1] == ["--"]:  # a shell on it, or any other command
            return subprocess.call(arguments[1:], env={**os.environ, "KUBECONFIG": built.admin})
        choice = chosen(argparse.ArgumentParser(allow_abbrev=False), arguments)
        play = Play("tests/real_node", choice, built, SECONDS)
        well = play.all(("not alone", "-n", str(WORKERS), "--maxschedchunk=1"), ("alone",))
        for text in supervisor.unexpected:
            say(text)
        say(last_line(built, began))
        return 0 if well and not supervisor.unexpected else 1


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
