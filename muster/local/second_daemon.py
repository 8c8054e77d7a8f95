"""A second daemon on a local cluster: `muster local up` runs one already, without leader election.

Two daemons that both write do not break an experiment, because every write has a precondition. But both create, restart
and report, and nothing shows why. So a `musterd` that is started by hand for that cluster is refused.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from muster.local.home import Home

OPTION = "--kubeconfig"
VARIABLES = ("MUSTER_KUBECONFIG", "KUBECONFIG")
HELP = frozenset({"-h", "--help"})


def refusal(arguments: Sequence[str], environ: Mapping[str, str], home: Home) -> str:
    """Return why a daemon with that command line is not started; empty where nothing is against it."""
    running, noted = home.running(), home.noted_daemon()
    if running is None or noted is None or not HELP.isdisjoint(arguments):
        return ""
    chosen = _kubeconfig(arguments, environ)
    if not chosen or Path(chosen).expanduser().resolve() != Path(running.kubeconfig).resolve():
        return ""
    return (
        f"a daemon runs on this local cluster already (process {noted.pid}, {noted.url}), started by `muster local "
        "up`; use that one, or end both with `muster local down`"
    )


def _kubeconfig(arguments: Sequence[str], environ: Mapping[str, str]) -> str:
    for at, word in enumerate(arguments):
        if word == OPTION and at + 1 < len(arguments):
            return arguments[at + 1]
        if word.startswith(f"{OPTION}="):
            return word.partition("=")[2]
    found = next((environ[name] for name in VARIABLES if environ.get(name)), "")
    return found.split(":")[0]
