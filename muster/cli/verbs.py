"""The verbs, where each lives, and what becomes of the errors they raise."""

import importlib
import sys

import click

from muster.api.errors import MusterError
from muster.api.manifest.problems import ProblemsError
from muster.cli.exits import FAILED, INVALID

VERBS = {
    "run": "muster.cli.commands.run:run",
    "lint": "muster.cli.commands.lint:lint",
    "submit": "muster.cli.commands.submit:submit",
    "get": "muster.cli.commands.get:get",
    "explain": "muster.cli.commands.explain:explain",
    "logs": "muster.cli.commands.logs:logs",
    "wait": "muster.cli.commands.wait:wait",
    "cancel": "muster.cli.commands.cancel:cancel",
    "local": "muster.cli.commands.local:local",
    "version": "muster.cli.commands.version:version",
}


class Muster(click.Group):
    """A group whose commands are imported when they are asked for, and whose errors are sentences, not tracebacks."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The verbs, in the order a newcomer meets them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Load a verb."""
        where = VERBS.get(cmd_name)
        if where is None:
            return None
        module, _, name = where.partition(":")
        command: click.Command = getattr(importlib.import_module(module), name)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run a verb; an error that a person must read ends it with a sentence and a status."""
        try:
            return super().invoke(ctx)
        except ProblemsError as error:
            click.echo(str(error), err=True)
            ctx.exit(INVALID)
        except MusterError as error:
            click.echo(f"muster: {error}", err=True)
            ctx.exit(FAILED)
        except BrokenPipeError:
            # Whoever read our output has closed it (`muster get | head`): end quietly, also at the interpreter's
            # last flush.
            sys.stdout = open("/dev/null", "w", encoding="utf-8")  # noqa: SIM115, PTH123 - open until the process ends
            ctx.exit(FAILED)
