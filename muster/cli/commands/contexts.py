"""Several clusters at once: the option ``--contexts``, and what each of them answers.

A cluster that cannot be reached, or refuses, hides none of the others: it is named with its error.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, NamedTuple, TypeAlias, TypeVar

import click

from muster.api.errors import MusterError
from muster.api.values.printable import printable
from muster.cli.options import ClusterChoice
from muster.cli.terminal.colours import say
from muster.cli.terminal.patience import patient
from muster.client import Client, Snapshot

PATIENCE = 10.0
"""Seconds in which a cluster must answer."""
MOST = 32
"""Clusters of one command."""

T = TypeVar("T")
Incidents: TypeAlias = Callable[[Client, Iterable[Snapshot], str | None], Awaitable[Sequence[str]]]
"""Reads the incidents of one cluster, of the experiments in a namespace or in all, and gives their lines."""

contexts_option = click.option(
    "--contexts",
    default="",
    metavar="A,B",
    help="Contexts of the kubeconfig, separated by commas: what each cluster has. One that does not "
    "answer is named, and the exit status is 1.",
)


@dataclass(frozen=True, slots=True)
class ClusterAnswer(Generic[T]):
    """Answer of one cluster or one page, or why it is not known. ``place`` is empty if only one is asked."""

    place: str
    found: T | None = None
    problem: str = ""


async def answer(place: str, asked: Awaitable[T], patience: float) -> ClusterAnswer[T]:
    """Return what is asked of a place; it must come within so many seconds."""
    place = printable(place)
    try:
        async with asyncio.timeout(patience):
            return ClusterAnswer(place, await asked)
    except TimeoutError:
        return ClusterAnswer(place, problem=f"no answer within {patience:g} s")
    except (MusterError, OSError) as error:
        return ClusterAnswer(place, problem=printable(str(error)))


def named(option: str) -> list[str]:
    """Return the names between commas, each once."""
    return list(dict.fromkeys(filter(None, (name.strip() for name in option.split(",")))))


def choices(chosen: ClusterChoice, contexts: str) -> dict[str, ClusterChoice]:
    """Return the choice of each context. Raises ``UsageError``."""
    names = named(contexts)
    if not names:
        raise click.UsageError("--contexts names no context: list them with kubectl config get-contexts -o name")
    if len(names) > MOST:
        raise click.UsageError(f"--contexts names {len(names)} contexts, and at most {MOST} are asked")
    if chosen.context is not None:
        raise click.UsageError("--context and --contexts exclude each other")
    return {name: replace(chosen, context=name, quiet=True) for name in names}


class Listed(NamedTuple):
    """Experiments of one cluster, the lines of its incidents, where those were asked for, and what may not be read."""

    experiments: Sequence[Snapshot]
    incidents: Sequence[str] = ()
    unknown: Sequence[str] = ()


class Wanted(NamedTuple):
    """Choice of what is listed of a cluster: its experiments, or its objects of a kind."""

    everywhere: bool
    kind: str = ""
    stuck: bool = False
    """Without a kind, also the watched runs that are Stuck."""
    incidents: Incidents | None = None


async def listed(client: Client, wanted: Wanted, context: str = "") -> Listed:
    """Return what is wanted of one cluster, each with its context, where several are asked."""
    found = await client.list(everywhere=wanted.everywhere, kind=wanted.kind)
    unknown: list[str] = []
    if wanted.stuck and not wanted.kind:
        found = [*found, *await client.list_stuck(everywhere=wanted.everywhere, unknown=unknown)]
    lines: Sequence[str] = ()
    if wanted.incidents is not None:
        lines = await wanted.incidents(client, found, None if wanted.everywhere else client.namespace)
    if context:
        found = [replace(seen, context=context) for seen in found]
        lines, unknown = ([f"{printable(context)}: {line}" for line in some] for some in (lines, unknown))
    return Listed(found, lines, unknown)


async def ask(name: str, choice: ClusterChoice, wanted: Wanted) -> ClusterAnswer[Listed]:
    """Return what is wanted of the cluster of that context."""

    async def read() -> Listed:
        async with choice.client() as client:
            return await listed(client, wanted, name)

    return await answer(name, read(), PATIENCE)


async def ask_all(chosen: ClusterChoice, contexts: str, wanted: Wanted) -> Sequence[ClusterAnswer[Listed]]:
    """Return the answer of each context, asked all at once, or else that of the one cluster that is chosen.

    Raises ``UsageError``, and ``MusterError`` where the only cluster that is asked does not answer.
    """
    clusters = choices(chosen, contexts) if contexts else {}

    async def every() -> Sequence[ClusterAnswer[Listed]]:
        return await asyncio.gather(*(ask(name, choice, wanted) for name, choice in clusters.items()))

    if clusters:
        return await patient(every(), "asking the clusters")
    async with chosen.client() as client:
        return [ClusterAnswer("", await patient(listed(client, wanted), "listing experiments"))]


def problems(answers: Iterable[ClusterAnswer[T]], what: str = "context") -> list[str]:
    """Return a line for each cluster (or page) that did not answer."""
    return [
        f"{f'{what} {each.place}' if each.place else 'API server'}: {each.problem}" for each in answers if each.problem
    ]


def conclude(answers: Iterable[ClusterAnswer[T]], what: str = "context") -> None:
    """Name what may not be read, and the clusters (or pages) that did not answer; the exit status is then 1."""
    say(*(line for each in answers if isinstance(each.found, Listed) for line in each.found.unknown))
    if found := problems(answers, what):
        say(*(f"muster: {line}" for line in found))
        raise click.exceptions.Exit(1)
