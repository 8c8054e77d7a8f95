"""Several clusters at once: the option ``--contexts``, and what each of them answers.

A cluster that cannot be reached, or refuses, hides none of the others: it is named with its error.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import click

from muster.api.errors import MusterError
from muster.api.values.printable import printable
from muster.cli.options import ClusterChoice
from muster.cli.terminal.colours import say
from muster.client import Client, Snapshot

PATIENCE = 10.0
"""Seconds in which a cluster must answer."""
MOST = 32
"""Clusters of one command."""

Incidents: TypeAlias = Callable[[Client, Iterable[Snapshot], str | None], Awaitable[Sequence[str]]]
"""Reads the incidents of one cluster, of the experiments in a namespace or in all, and gives their lines."""

F = TypeVar("F", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True)
class Answer:
    """Experiments of one cluster, or why they are not known."""

    context: str
    found: Sequence[Snapshot] = ()
    problem: str = ""
    incidents: Sequence[str] = ()
    """Their lines, where they were asked for."""


def contexts_option(command: F) -> F:
    """Return the option ``--contexts``."""
    return click.option(
        "--contexts",
        default="",
        metavar="A,B",
        help="Contexts of the kubeconfig, separated by commas: what each cluster has. One that does not "
        "answer is named, and the exit status is 1.",
    )(command)


def choices(chosen: ClusterChoice, contexts: str) -> dict[str, ClusterChoice]:
    """Return the choice of each context. Raises ``UsageError``."""
    names = list(dict.fromkeys(filter(None, (name.strip() for name in contexts.split(",")))))
    if not names:
        raise click.UsageError("--contexts names no context: list them with kubectl config get-contexts -o name")
    if len(names) > MOST:
        raise click.UsageError(f"--contexts names {len(names)} contexts, and at most {MOST} are asked")
    if chosen.context is not None:
        raise click.UsageError("--context and --contexts exclude each other")
    return {name: replace(chosen, context=name, quiet=True) for name in names}


async def listed(
    client: Client, choice: ClusterChoice, *, everywhere: bool, kind: str = "", stuck: bool = False
) -> Sequence[Snapshot]:
    """Return the experiments of one cluster, or its objects of a kind.

    With ``stuck``, and without a kind, also the watched runs that are Stuck.
    """
    found = await client.list(namespace=choice.namespace, everywhere=everywhere, kind=kind)
    if not stuck or kind:
        return found
    return [*found, *await client.list_stuck(namespace=choice.namespace, everywhere=everywhere)]


async def ask(
    name: str,
    choice: ClusterChoice,
    *,
    everywhere: bool,
    kind: str = "",
    stuck: bool = False,
    incidents: Incidents | None = None,
) -> Answer:
    """Return the experiments of one cluster (see ``listed``), and its incidents if they are asked for."""
    lines: Sequence[str] = ()
    try:
        async with asyncio.timeout(PATIENCE), choice.client() as client:
            found = await listed(client, choice, everywhere=everywhere, kind=kind, stuck=stuck)
            if incidents is not None:
                lines = await incidents(client, found, None if everywhere else choice.namespace or client.namespace)
    except TimeoutError:
        return Answer(name, problem=f"no answer within {PATIENCE:g} s")
    except (MusterError, OSError) as error:
        return Answer(name, problem=str(error))
    return Answer(
        name,
        [replace(seen, context=name) for seen in found],
        incidents=[f"{printable(name)}: {line}" for line in lines],
    )


async def ask_all(
    chosen: dict[str, ClusterChoice],
    *,
    everywhere: bool,
    kind: str = "",
    stuck: bool = False,
    incidents: Incidents | None = None,
) -> list[Answer]:
    """Return the answer of each context, asked all at once, in the order in which they are named."""
    asked = (
        ask(name, choice, everywhere=everywhere, kind=kind, stuck=stuck, incidents=incidents)
        for name, choice in chosen.items()
    )
    return list(await asyncio.gather(*asked))


def problems(answers: Sequence[Answer]) -> list[str]:
    """Return a line for each cluster that did not answer."""
    return [printable(f"context {each.context}: {each.problem}") for each in answers if each.problem]


def conclude(answers: Sequence[Answer]) -> None:
    """Name the clusters that did not answer; the exit status is then 1."""
    for line in problems(answers):
        say(f"muster: {line}")
    if any(each.problem for each in answers):
        raise click.exceptions.Exit(1)
