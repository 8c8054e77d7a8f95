"""A command group that imports a command's module when the command is used.

Help and completion of the group come from its table: importing all commands for them takes ten times as long.
"""

import pkgutil
from collections.abc import Mapping
from typing import Any, NamedTuple

import click
from click.shell_completion import CompletionItem

from muster.api.manifest.problems import nearest

OTHER_WORDS = {
    "stop": "cancel",
    "kill": "cancel",
    "abort": "cancel",
    "rm": "delete",
    "remove": "delete",
    "status": "get",
    "show": "get",
    "describe": "explain",
    "why": "explain",
    "ps": "list",
    "ls": "list",
    "apply": "submit",
    "create": "submit",
    "start": "run",
    "rerun": "restart",
    "retry": "restart",
}
"""Verbs of other programs, with those of Muster."""


class Verb(NamedTuple):
    """Place of a command, ``module:function``, and the first sentence of its help."""

    where: str
    help: str


class LazyGroup(click.Group):
    """A group of the commands in ``verbs``, in that order."""

    def __init__(self, *args: Any, verbs: Mapping[str, Verb], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.verbs = verbs

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """Return the verbs, in the order a new user needs them."""
        return list(self.verbs)

    def get_command(self, _ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a verb."""
        verb = self.verbs.get(cmd_name)
        command: click.Command | None = verb and pkgutil.resolve_name(verb.where)
        return command

    def format_commands(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the verbs from the table."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, verb.help) for name, verb in self.verbs.items()])

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the verbs that begin so, from the table, and the group's own options."""
        verbs = [CompletionItem(name, help=verb.help) for name, verb in self.verbs.items()]
        return [each for each in verbs if each.value.startswith(incomplete)] + click.Command.shell_complete(
            self, ctx, incomplete
        )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the verb; propose the nearest one for a word that is none."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            other = OTHER_WORDS.get(args[0])
            near = other if other in self.verbs else nearest(args[0], self.verbs)
            hint = f"Did you mean {near}?" if near else f"`{ctx.command_path} --help` lists the commands."
            raise click.UsageError(f"{error.message} {hint}", ctx) from error
