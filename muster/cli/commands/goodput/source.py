"""The options that name a Prometheus which scrapes musterd, and what it takes to reach it."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Source:
    """The address as it was given; empty without one."""

    url: str
    token_file: Path | None = None
    ca_file: Path | None = None


def prometheus_options(
    what: str, variable: str | None = None
) -> Callable[[Callable[Concatenate[Source, P], T]], Callable[..., T]]:
    """Give a command ``--prometheus``, with ``what`` as its help, as its first argument."""

    def decorate(command: Callable[Concatenate[Source, P], T]) -> Callable[..., T]:
        path = click.Path(path_type=Path)

        @click.option("--prometheus", default="", metavar="URL", envvar=variable, show_envvar=True, help=what)
        @click.option("--token-file", type=path, default=None, help="A bearer token, for --prometheus.")
        @click.option("--ca-file", type=path, default=None, help="Its authority's certificate, for --prometheus.")
        @wraps(command)
        def run(*args: Any, prometheus: str, token_file: Path | None, ca_file: Path | None, **kwargs: Any) -> T:
            if (token_file or ca_file) and not prometheus:
                raise click.UsageError("--token-file and --ca-file go with --prometheus")
            return command(Source(prometheus, token_file, ca_file), *args, **kwargs)

        return run

    return decorate
