"""The command group, and the entry point of the ``muster`` program.

A verb's module, and with it everything it imports, is loaded only when that verb is used.
"""

import importlib
import sys
from collections.abc import Sequence

import click

from muster import __version__
from muster.api.errors import Forbidden, MusterError
from muster.api.manifest.problems import ProblemsError, nearest
from muster.cli.exits import FAILED, INTERRUPTED, INVALID
from muster.cli.terminal.colours import plain, say
from muster.cli.terminal.streams import prepare_streams

VERBS = {
    "init": "muster.cli.commands.init:init",
    "lint": "muster.cli.commands.files.lint:lint",
    "convert": "muster.cli.commands.files.convert:convert",
    "render": "muster.cli.commands.files.render:render",
    "run": "muster.cli.commands.run:run",
    "submit": "muster.cli.commands.submit:submit",
    "list": "muster.cli.commands.listing:list_experiments",
    "top": "muster.cli.commands.top:top",
    "get": "muster.cli.commands.get:get",
    "explain": "muster.cli.commands.explain:explain",
    "logs": "muster.cli.commands.logs:logs",
    "stacks": "muster.cli.commands.stacks:stacks",
    "wait": "muster.cli.commands.wait:wait",
    "cancel": "muster.cli.commands.cancel:cancel",
    "delete": "muster.cli.commands.delete:delete",
    "prune": "muster.cli.commands.prune:prune",
    "local": "muster.cli.commands.local:local",
    "doctor": "muster.cli.commands.doctor:doctor",
    "version": "muster.cli.commands.version:version",
}
"""Verb to ``module:function``, in the order in which the help lists them."""


class LazyGroup(click.Group):
    """A group that imports a command when it is used, and prints errors as sentences instead of tracebacks."""

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The verbs, in the order a new user needs them."""
        return list(VERBS)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb."""
        where = VERBS.get(cmd_name)
        if where is None:
            return None
        module, _, name = where.partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb; propose the nearest one for a word that is none."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = nearest(args[0], VERBS)
            hint = f"Did you mean {near}?" if near else "`muster --help` lists the commands."
            raise click.UsageError(f"{error.message} {hint}", ctx) from error

    def invoke(self, ctx: click.Context) -> object:
        """Run a verb; print an error that is meant for the user, and exit with its status."""
        try:
            return super().invoke(ctx)
        except ProblemsError as error:
            say(plain(str(error)))
            ctx.exit(INVALID)
        except Forbidden as error:
            say(plain(f"muster: {error}; `muster doctor` lists your rights"))
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


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
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
    On any cluster that has Muster:
      muster submit manifest.yaml          create the experiment
      muster list                          all experiments; -w watches them
      muster top -A                        what hurts most, live
      muster explain NAME                  what it waits for, and what happened
      muster logs NAME -f                  the lines of every rank

    Exit status: 0 succeeded, 1 failed, 2 invalid manifest or usage, 3 deadline, 130 interrupted.
    """  # noqa: D301 - click reads \b, the backspace


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit."""
    prepare_streams()
    try:
        code = muster.main(args=arguments, prog_name="muster", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)
