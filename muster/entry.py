"""The console scripts: ``muster``, also as ``kubectl-muster`` with its completion, and ``musterd``.

Each checks that its extra is installed, and then runs.
"""

import gc
import os
import sys

from muster import extras

UNAVAILABLE = 69
"""Exit status if an extra is missing: EX_UNAVAILABLE of sysexits.h, "a support program or file does not exist"."""
UNUSABLE = 2
"""Exit status of musterd if its configuration cannot be used."""

COLLECT_AFTER = 100_000
"""New objects after which ``muster`` looks for garbage. Imports make none, and by Python's default (700) a fifth of the
time of a short command goes into looking."""


def muster() -> None:
    """Run the command line (extra ``cli``; ``local`` for the verbs that start a cluster)."""
    gc.set_threshold(COLLECT_AFTER)
    _require("muster", "local" if sys.argv[1:2] == ["run"] or sys.argv[1:3] == ["local", "up"] else "cli")
    from muster.cli.main import main

    try:
        main()
    finally:
        gc.freeze()  # the interpreter ends sooner with nothing to look at


def kubectl_complete() -> None:
    """Complete a line of ``kubectl muster`` (extra ``cli``): nothing is offered if a module is missing."""
    gc.set_threshold(COLLECT_AFTER)
    if extras.problem("cli") is None:
        from muster.cli.main import muster as group
        from muster.cli.options import for_kubectl

        sys.stdout.writelines(f"{line}\n" for line in for_kubectl(group, sys.argv[1:]))


def musterd() -> None:
    """Run the daemon (extra ``daemon``)."""
    _require("musterd", "daemon")
    from muster.daemon.main import main
    from muster.local.home import Home, default_home
    from muster.local.second_daemon import refusal

    if why := refusal(sys.argv[1:], os.environ, Home(default_home())):
        sys.stderr.write(f"musterd: {why}\n")
        sys.exit(UNUSABLE)
    main()


def _require(command: str, extra: str) -> None:
    """Exit with one line on standard error if a module of the extra is missing."""
    problem = extras.problem(extra)
    if problem is not None:
        sys.stderr.write(f"{command}: {problem}\n")
        sys.exit(UNAVAILABLE)
