"""A program without a manifest: ``muster run -n 4 -- python train.py`` is an experiment of four equal workers.

``--operator`` chooses how the workers find each other; it is jax by default. They get the variables of their operator
and, where they meet at rank 0, those that ``torchrun`` sets for a program with one process on each node.
"""

import shlex
import shutil
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import PurePath
from typing import Final

import click
from pydantic import ValidationError

from muster.api.manifest.changes import Share
from muster.api.manifest.error_text import explain
from muster.api.manifest.experiment import ExperimentSpec
from muster.api.manifest.load import AICHOR, Loaded
from muster.api.manifest.naming import check_name, slug
from muster.api.manifest.operators import Program, operators
from muster.api.manifest.problems import ManifestError
from muster.api.names import CONTAINER

IMAGE = "local"
"""Any name does: the local cluster pulls no image."""
GRACE = 3
"""Seconds from SIGTERM to SIGKILL. jax takes SIGTERM for a preemption notice and runs on: Ctrl-C lasts so long."""
PROGRAMS: Final[Mapping[str, tuple[str, Program]]] = dict(
    sorted((row.program.name or name, (name, row.program)) for name, row in operators().items() if row.program)
)
"""By the name that the command line has for it: the operator of the manifest, and the experiment that it makes."""


class OperatorName(click.Choice[str]):
    """The name of an operator; that of the manifest and that of the command line mean the same: kuberay and ray."""

    def __init__(self, *, of_manifests: bool = False) -> None:
        names = {name: operator for name, (operator, _) in PROGRAMS.items()}
        others = names if of_manifests else {operator: name for name, operator in names.items()}
        super().__init__([*operators()] if of_manifests else [*names])
        self._others = {other: name for other, name in others.items() if other not in self.choices}

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name that this place has for the operator. Raises ``click.BadParameter``."""
        return super().convert(self._others.get(value, value), param, ctx)


def choices() -> str:
    """Return the operators and what each does for the program, for the help."""
    rows = PROGRAMS.items()
    return ", ".join(f"{name} ({program.about})" if program.about else name for name, (_, program) in rows)


def program_manifest(
    words: Sequence[str],
    *,
    workers: int,
    restarts: int,
    share: Share,
    operator: str = "jax",
    given: Collection[str] = (),
) -> Loaded:
    """Return the experiment that runs ``words`` in ``workers`` members, each with a ``share`` of the machine.

    ``given`` are variables that the caller sets, which win over those of ``torchrun``. Raises ``ManifestError`` for
    words it cannot hold.
    """
    named, program = PROGRAMS[operator]
    variables = {name: value for name, value in program.variables(workers).items() if name not in given}
    env = [{"name": name, "value": value} for name, value in variables.items()]
    spec = {
        "operator": named,
        "image": IMAGE,
        "command": shell_line(words),
        "restartPolicy": {"backoffLimit": restarts},
        "gracefulTermination": {"terminationGracePeriodSeconds": GRACE},
        "types": program.types(workers, asdict(share)),
        **({"template": {"spec": {"containers": [{"name": CONTAINER, "env": env}]}}} if env else {}),
    }
    try:
        read = ExperimentSpec.read(spec)
    except ValidationError as error:
        raise ManifestError(explain(error, ExperimentSpec, operator=named, root=("spec",))) from error
    name = program_name(words)
    return Loaded(AICHOR, None if check_name(name, ()) else name, None, read, {}, {}, ())


def shell_line(words: Sequence[str]) -> str:
    """Return a line by which the shell becomes the program (signals reach it), with exactly these arguments.

    Kubernetes would replace ``$(NAME)`` of an injected variable even between quotes. It leaves ``$''(NAME)`` alone, and
    the shell joins the two parts again.
    """
    return "exec " + " ".join(shlex.quote(word).replace("$(", "$''(") for word in words)


def program_name(words: Sequence[str]) -> str:
    """Return what to call a run: the name of its script or module, else of its program."""
    for index, word in enumerate(words):
        if PurePath(word).suffix in (".py", ".sh"):
            return slug(PurePath(word).stem)
        if word == "-m" and index + 1 < len(words):
            return slug(words[index + 1].rpartition(".")[2])
    return slug(PurePath(words[0]).name)


class ProgramCommand(click.Command):
    """A command with a program after ``--``. click never sees the program, so options and another ``--`` stay in it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words before ``--``; keep the rest for ``program_words``."""
        before, after = (args[: args.index("--")], args[args.index("--") + 1 :]) if "--" in args else (args, None)
        ctx.meta[__name__] = after
        hint = "" if after is not None else _with_dashes(args)
        try:
            rest = super().parse_args(ctx, list(before))
        except click.UsageError as error:
            if not hint:
                raise
            raise click.UsageError(f"{error.format_message()}\n{hint}", ctx) from error
        if hint and ctx.params.get("file") == _program_in(args):
            raise click.UsageError(hint, ctx)
        return rest


def program_words(ctx: click.Context) -> list[str] | None:
    """Return the words after ``--``; None where there is no ``--``."""
    words: list[str] | None = ctx.meta[__name__]
    return words


def _program_in(args: Sequence[str]) -> str | None:
    """Return the first word that is a script or a program of this machine, and no manifest."""
    for word in args:
        suffix = PurePath(word).suffix
        if suffix in (".py", ".sh") or (not word.startswith("-") and not suffix and shutil.which(word)):
            return word
    return None


def _with_dashes(args: Sequence[str]) -> str:
    """Return the command line that was probably meant; empty where no word of it is a program."""
    program = _program_in(args)
    if program is None:
        return ""
    before, words = list(args[: args.index(program)]), list(args[args.index(program) :])
    interpreter = {".py": ["python3"], ".sh": ["sh"]}.get(PurePath(program).suffix, [])
    workers = [] if {"-n", "--workers"} & set(before) else ["-n", "1"]
    meant = shlex.join(["muster", "run", *before, *workers, "--", *interpreter, *words])
    return f"A program and its own options come after --: did you mean: {meant}"
