"""The command group, and the entry point of the ``muster`` program."""

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from muster import __version__
from muster.api.errors import Forbidden, MusterError
from muster.api.manifest.problems import ProblemsError
from muster.cli.exits import FAILED, INTERRUPTED, INVALID
from muster.cli.lazy_group import LazyGroup, Verb
from muster.cli.terminal.colours import plain, prepare_streams, say

VERBS = {
    "diagnose": Verb("muster.cli.commands.diagnosing.diagnose:diagnose", "Show who is missing from a run, and why."),
    "init": Verb("muster.cli.commands.files.init:init", "Write a commented manifest to start from."),
    "lint": Verb("muster.cli.commands.files.lint:lint", "Print everything that is wrong with manifests."),
    "convert": Verb("muster.cli.commands.files.convert:convert", "Print the Experiment that a manifest becomes."),
    "render": Verb("muster.cli.commands.files.render:render", "Print the Kubernetes objects that a manifest becomes."),
    "run": Verb("muster.cli.commands.run:run", "Run an experiment on this machine and show it live."),
    "submit": Verb("muster.cli.commands.submit:submit", "Create an experiment from a manifest."),
    "list": Verb("muster.cli.commands.several.listing:list_experiments", "List experiments."),
    "top": Verb("muster.cli.commands.several.top:top", "Show experiments, the most urgent first."),
    "incidents": Verb("muster.cli.commands.incidents.incidents:incidents", "List causes that block several runs."),
    "nodes": Verb("muster.cli.commands.incidents.nodes:nodes", "List the nodes that failed runs, the worst first."),
    "get": Verb("muster.cli.commands.get:get", "Show an experiment, its members and what it waits for."),
    "goodput": Verb("muster.cli.commands.goodput.goodput:goodput", "Show where the time of experiments went."),
    "usage": Verb("muster.cli.commands.goodput.usage:usage", "Show the hours of accelerators that were held."),
    "explain": Verb("muster.cli.commands.explain:explain", "Show what it waits for, why, and what happened."),
    "bundle": Verb("muster.cli.commands.bundle:bundle", "Write an archive of all that is known of it."),
    "logs": Verb("muster.cli.commands.logs:logs", "Print the lines of all ranks by time."),
    "stacks": Verb("muster.cli.commands.stacks:stacks", "Show what each rank does at this moment."),
    "port-forward": Verb("muster.cli.commands.port_forward:port_forward", "Open a port of a member on this machine."),
    "wait": Verb("muster.cli.commands.lifecycle:wait", "Wait until an experiment has finished, or for a condition."),
    "cancel": Verb("muster.cli.commands.lifecycle:cancel", "End an experiment; the object stays."),
    "restart": Verb("muster.cli.commands.lifecycle:restart", "Restart the gang of an experiment."),
    "delete": Verb("muster.cli.commands.deleting:delete", "Delete experiments with their pods and logs."),
    "prune": Verb("muster.cli.commands.deleting:prune", "Delete the experiments that ended long ago."),
    "local": Verb("muster.cli.commands.local:local", "A Kubernetes cluster on this machine, with musterd."),
    "doctor": Verb("muster.cli.commands.doctor:doctor", "Check this machine and this cluster."),
    "version": Verb("muster.cli.commands.version:version", "Print the version of this command and of its API."),
}
"""The verbs, in the order in which the help lists them."""


class Program(LazyGroup):
    """The verbs. Errors are printed as sentences instead of tracebacks."""

    def invoke(self, ctx: click.Context) -> object:
        """Run a verb; print an error that is meant for the user, and exit with its status."""
        try:
            return super().invoke(ctx)
        except ProblemsError as error:
            say(plain("\n".join(filter(None, (str(error), error.advice)))))
            ctx.exit(INVALID)
        except Forbidden as error:
            from muster.kube.instrumented import denied  # a quota and a webhook refuse with 403, too

            say(plain(f"muster: {error}{'; `muster doctor` lists your rights' if denied(error) else ''}"))
            ctx.exit(FAILED)
        except MusterError as error:
            say(plain(f"muster: {error}"))
            ctx.exit(FAILED)
        except OSError as error:
            # The reader of our output has closed it (`muster get | head`): exit without a message. Otherwise a disk is
            # full, a file may not be read, or the working directory is gone.
            if not isinstance(error, BrokenPipeError):
                where = f"{error.filename}: " if isinstance(error.filename, str) else ""
                say(plain(f"muster: {where}{error.strerror or error}"))
            # What is left of the output cannot be written: let the interpreter's last flush succeed.
            sys.stdout = open("/dev/null", "w", encoding="utf-8")  # noqa: SIM115, PTH123 - open until the process ends
            ctx.exit(FAILED)


@click.group(
    cls=Program,
    verbs=VERBS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="muster %(version)s")
def muster() -> None:
    """Run distributed ML experiments on Kubernetes, and see who is missing.

    \b
    On this machine, without a cluster:
      muster run -n 4 -- python train.py   run a program as four jax workers, without a manifest
      muster init                          write a manifest to start from
      muster run manifest.yaml             run it here, watch it, exit with its outcome
      muster local up                      keep a cluster running for kubectl and the verbs below
    \b
    On any cluster, with your own rights alone:
      muster diagnose jobset/train         who is missing from a run, and why
    \b
    On any cluster that has Muster:
      muster submit manifest.yaml          create the experiment
      muster list                          all experiments; -w watches them
      muster top -A                        the most urgent first, live
      muster explain NAME                  what it waits for, and what happened
      muster logs NAME -f                  the lines of every rank

    Exit status: 0 succeeded, 1 failed, 2 invalid manifest or usage, 3 deadline, 130 interrupted.
    """  # noqa: D301 - click reads \b, the backspace


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    prepare_streams()
    name = "kubectl muster" if Path(sys.argv[0]).name.startswith("kubectl-") else "muster"
    try:
        code = muster.main(args=arguments, prog_name=name, standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)
