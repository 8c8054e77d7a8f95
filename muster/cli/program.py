"""A program without a manifest: ``muster run -n 4 -- python train.py`` is a jax experiment of four equal workers."""

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import PurePath

import click
from pydantic import ValidationError

from muster.api.manifest.error_text import explain
from muster.api.manifest.experiment import ExperimentSpec
from muster.api.manifest.load import AICHOR, Loaded
from muster.api.manifest.problems import ManifestError
from muster.api.naming import check_name, slug
from muster.cli.manifests import share_of

IMAGE = "local"
"""Any name does: the local cluster pulls no image."""


def program_manifest(words: Sequence[str], *, workers: int, restarts: int) -> Loaded:
    """The experiment that runs ``words`` in ``workers`` members. Raises ``ManifestError`` for words it cannot hold."""
    spec = {
        "operator": "jax",
        "image": IMAGE,
        "command": shell_line(words),
        "restartPolicy": {"backoffLimit": restarts},
        "types": {"worker": {"count": workers, "resources": asdict(share_of(workers))}},
    }
    try:
        read = ExperimentSpec.read(spec)
    except ValidationError as error:
        raise ManifestError(explain(error, ExperimentSpec, operator="jax", root=("spec",))) from error
    name = program_name(words)
    return Loaded(AICHOR, None if check_name(name, ()) else name, None, read, {}, {}, ())


def shell_line(words: Sequence[str]) -> str:
    """A line that makes the shell become the program (signals then reach the program), with exactly these arguments.

    Kubernetes would replace ``$(NAME)`` of an injected variable even between quotes. It leaves ``$''(NAME)`` alone, and
    the shell joins the two parts again.
    """
    return "exec " + " ".join(shlex.quote(word).replace("$(", "$''(") for word in words)


def program_name(words: Sequence[str]) -> str:
    """What to call a run: the name of its script or module, else of its program."""
    for index, word in enumerate(words):
        if PurePath(word).suffix in (".py", ".sh"):
            return slug(PurePath(word).stem)
        if word == "-m" and index + 1 < len(words):
            return slug(words[index + 1].rpartition(".")[2])
    return slug(PurePath(words[0]).name)


class ProgramCommand(click.Command):
    """A command with a program after ``--``. click never sees the program, so options and another ``--`` stay in it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse what stands before ``--``; keep the rest for ``program_words``."""
        before, after = (args[: args.index("--")], args[args.index("--") + 1 :]) if "--" in args else (args, None)
        ctx.meta[__name__] = after
        misplaced = after is None and not {"-n", "--workers"}.isdisjoint(args)
        try:
            return super().parse_args(ctx, before)
        except click.UsageError as error:
            if not misplaced:
                raise
            hint = "A program and its own options come after --: muster run -n 4 -- python train.py"
            raise click.UsageError(f"{error.format_message()}\n{hint}", ctx) from error


def program_words(ctx: click.Context) -> list[str] | None:
    """The words after ``--``; None where there is no ``--``."""
    words: list[str] | None = ctx.meta[__name__]
    return words
