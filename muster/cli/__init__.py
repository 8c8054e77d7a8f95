"""The ``muster`` command.

One small file per verb; a verb's file, and with it everything it needs, is loaded only when the verb is used. Standard
output carries data, standard error carries talk. The exit status is in ``muster.cli.exits``.
"""

import sys
from collections.abc import Sequence

import click

from muster import __version__
from muster.cli.exits import INTERRUPTED
from muster.cli.verbs import Muster


@click.group(cls=Muster, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="muster %(version)s")
def muster() -> None:
    """Run distributed ML experiments on Kubernetes, and see who is missing.

    \b
    On this machine, without a cluster:
      muster run manifest.yaml           run it here, watch it, exit with its outcome
      muster local up                    keep a cluster running for kubectl and the verbs below
    \b
    On any cluster that has Muster:
      muster submit manifest.yaml        create the experiment
      muster get -w                      watch all experiments
      muster explain NAME                what it waits for, and what happened
      muster logs NAME -f                the lines of every rank

    Exit status: 0 succeeded, 1 failed, 2 invalid manifest or usage, 3 deadline, 130 interrupted.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    try:
        code = muster.main(args=arguments, prog_name="muster", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)
