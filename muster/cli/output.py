"""``-o json`` and ``-o yaml``: the same data, for programs."""

from collections.abc import Callable
from typing import Any, TypeVar

import click
import msgspec
import yaml

from muster.cli.voice import data

F = TypeVar("F", bound=Callable[..., Any])


def output_option(*more: str) -> Callable[[F], F]:
    """The option ``-o``; ``more`` are formats beyond json and yaml."""
    choice = click.Choice(["json", "yaml", *more])
    return click.option("-o", "--output", type=choice, default=None, help="Print data in this format.")


def show(value: Any, form: str) -> None:
    """Print ``value`` (of JSON types, Structs or dataclasses) as ``json`` or ``yaml``."""
    plain = msgspec.to_builtins(value)
    if form == "json":
        data(msgspec.json.format(msgspec.json.encode(plain), indent=2).decode())
    else:
        data(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True).rstrip("\n"))
