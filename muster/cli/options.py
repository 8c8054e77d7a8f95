"""The options that commands share, from the cluster to the format, the names that a shell completes, and who asks.

The client and what writes JSON and YAML are imported when they are used: help needs neither.
"""

from __future__ import annotations

import getpass
import json
import os
import shlex
import socket
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, Final, ParamSpec, TypeVar

import click
from click.shell_completion import CompletionItem

from muster.api.errors import MusterError
from muster.api.values.durations import parse_duration
from muster.api.values.printable import printable
from muster.api.values.timestamps import whole_time
from muster.cli.terminal.colours import data, plain, say

if TYPE_CHECKING:
    from yaml import SafeDumper

    from muster.api.errors import ApiError
    from muster.client import Client
    from muster.local.home import Home


P = ParamSpec("P")
T = TypeVar("T")

LONGEST_TOKEN = 8192


@dataclass(frozen=True, slots=True)
class ClusterChoice:
    """Which cluster and namespace the command line names."""

    kubeconfig: Path | None
    context: str | None
    namespace: str | None
    quiet: bool = False
    """Interruptions of a watch, and waits that the server asks for, are not printed."""
    user: str = ""
    """As whom every request is sent; empty: as the user of the context."""

    @property
    def flags(self) -> str:
        """Return its options as they were given, with a space before each: another command needs them, too."""
        given = {"--kubeconfig": self.kubeconfig, "--context": self.context, "-n": self.namespace, "--as": self.user}
        return "".join(f" {option} {shlex.quote(str(value))}" for option, value in given.items() if value)

    def client(self) -> Client:
        """Return a client for it, not yet open. Its namespace is the chosen one, else that of the context.

        Where neither an option, nor the environment, nor the user's own configuration names a cluster, the local
        cluster of ``muster local up`` is used if it runs.
        """
        from muster.kube.authentication.kubeconfig import kubeconfig_paths
        from muster.local.home import Home, default_home

        kubeconfig = self.kubeconfig
        if not kubeconfig_paths(kubeconfig, os.environ) and (local := Home(default_home()).running()):
            kubeconfig = Path(local.kubeconfig)
        return client_of(kubeconfig, self.context, self.namespace or "", quiet=self.quiet, user=self.user)

    def run(self, work: Callable[[Client], Awaitable[T]]) -> T:
        """Return the result of ``work`` with an open client."""
        import asyncio

        async def opened() -> T:
            async with self.client() as client:
                return await work(client)

        return asyncio.run(opened())

    def ask(self, work: Callable[[Client], Awaitable[T]], what: str, done: Callable[[], str] = str) -> T:
        """Return the result of ``work`` with an open client. A long wait for it is printed as ``what``."""
        from muster.cli.terminal.patience import patient

        return self.run(lambda client: patient(work(client), what, done))


def local_home(client: Client) -> Home | None:
    """Return the home of ``muster local up`` if its cluster is that of this open client."""
    from muster.local.home import Home, default_home

    home = Home(default_home())
    running = home.running()
    return home if running is not None and client.place.startswith(f"{running.url} ") else None


def client_of(
    kubeconfig: Path | None, context: str | None = None, namespace: str = "", *, quiet: bool = False, user: str = ""
) -> Client:
    """Return a client that prints on standard error when a watch is interrupted, unless it is ``quiet``."""
    from muster.client import Client

    def retrying(error: ApiError, seconds: float) -> None:
        if not quiet:
            say(plain(f"muster: {error}; trying again in {seconds:.1f} s"))

    return Client(kubeconfig, context, namespace=namespace, retrying=retrying, impersonate=user)


def cluster_options(command: Callable[Concatenate[ClusterChoice, P], T]) -> Callable[..., T]:
    """Give a command ``--kubeconfig``, ``--context``, ``-n`` and ``--as``, which it receives as its first argument."""

    @click.option(
        "--kubeconfig", type=click.Path(path_type=Path), default=None, help="Default: $KUBECONFIG, ~/.kube/config."
    )
    @click.option("--context", default=None, help="Context of the kubeconfig; its current one by default.")
    @click.option("-n", "--namespace", default=None, help="Default: the namespace of the context.")
    @click.option("--as", "user", type=Parsed("user", user), default="", help="Impersonate this user, as kubectl does.")
    @wraps(command)
    def run(
        kubeconfig: Path | None, context: str | None, namespace: str | None, user: str, *args: Any, **kwargs: Any
    ) -> T:
        return command(ClusterChoice(kubeconfig, context, namespace, user=user), *args, **kwargs)

    return run


class Parsed(click.ParamType[T]):
    """A value that ``parse`` makes of a word; its ``ValueError`` has the sentence for the user."""

    def __init__(self, name: str, parse: Callable[[str], T]) -> None:
        self.name, self._parse = name, parse

    def convert(self, value: str | T, param: click.Parameter | None, ctx: click.Context | None) -> T:
        """Return the value; a default may be one already."""
        try:
            return self._parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


def user(value: str) -> str:
    """Return the name of a user, which a header of HTTP can hold."""
    if not (value.isascii() and value.isprintable()):
        raise ValueError("a user's name has printable ASCII characters")
    return value


def span(value: str) -> float:
    """Return the seconds of ``90`` or of a duration (``1h 30m``)."""
    if value.isascii() and value.isdecimal() and len(value) < 10:
        return float(value)
    return float(parse_duration(value))


SPAN: Final = Parsed("duration", span)


def read_token(file: Path | None) -> str:
    """Return the bearer token in a file; empty without a file. Raises ``MusterError`` where it holds none."""
    if file is None:
        return ""
    with file.open(encoding="ascii", errors="replace") as opened:
        token = opened.read(LONGEST_TOKEN + 1).strip()
    if not token or len(token) > LONGEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise MusterError(f"{file}: holds no token of a cluster: kubectl create token NAME > {file} makes one")
    return token


F = TypeVar("F", bound=Callable[..., Any])


def all_of(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return several options as one decorator, in the order of the help."""
    return lambda command: reduce(lambda decorated, option: option(decorated), reversed(options), command)


def output_option(*more: str) -> Callable[[F], F]:
    """Return the option ``-o``; ``more`` are formats beyond json and yaml."""
    choice = click.Choice(["json", "yaml", *more])
    return click.option("-o", "--output", type=choice, default=None, help="Print data in this format.")


token_option = click.option(
    "--token-file", type=click.Path(path_type=Path), default=None, help="A token of the cluster, for --page."
)


def show(value: Any, form: str) -> None:
    """Print ``value`` (of JSON types, Structs or dataclasses) as ``json`` or ``yaml``."""
    import msgspec

    builtins = msgspec.to_builtins(value)
    data(json_text(builtins, indent=2) if form == "json" else yaml_text(builtins))


def json_text(value: Any, *, indent: int) -> str:
    """Return JSON in which every character is printable: the others are written as escapes, which is the same JSON."""
    import msgspec

    text = msgspec.json.format(msgspec.json.encode(value), indent=indent).decode()
    lines = text.split("\n")
    return text if all(map(str.isprintable, lines)) else "\n".join("".join(map(_escaped, line)) for line in lines)


def yaml_text(value: Any, dumper: type[SafeDumper] | None = None) -> str:
    """Return YAML in which every character is printable, written by ``dumper`` where it has none to escape."""
    import yaml

    text = yaml.dump(value, Dumper=dumper or yaml.SafeDumper, sort_keys=False, allow_unicode=True).rstrip("\n")
    if all(map(str.isprintable, text.split("\n"))):
        return text
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=False).rstrip("\n")


def _escaped(character: str) -> str:
    return character if character.isprintable() else json.dumps(character)[1:-1]


PATIENCE = 1.0
"""Seconds that a TAB may wait for the cluster."""
MOST = 200
"""Names that are offered."""
FILES, NO_FILES = 0, 4
"""Directives of cobra's completions: files are offered, too, or not (cobra: ShellCompDirective)."""


def experiment_names(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the experiments whose names begin so, each with its phase; none where no cluster answers in time.

    They are those of the cluster and namespace that the line names so far.
    """
    import asyncio

    import muster.client.cluster_choice  # noqa: F401 - the cluster's second does not count what is imported for it
    from muster.client import Snapshot

    kubeconfig, context, namespace = (ctx.params.get(name) for name in ("kubeconfig", "context", "namespace"))
    chosen = ClusterChoice(kubeconfig, context, namespace, quiet=True, user=ctx.params.get("user") or "")

    async def read(unopened: Client) -> list[Snapshot]:
        async with asyncio.timeout(PATIENCE), unopened as client:
            return list(await client.list())

    try:
        found = asyncio.run(read(chosen.client()))
    except Exception:  # noqa: BLE001 - whatever is wrong, a TAB prints nothing
        return []
    names = [each for each in found if each.name.startswith(incomplete) and each.name.isprintable()]
    return [CompletionItem(each.name, help=printable(each.phase)) for each in names[:MOST]]


def for_kubectl(group: click.Command, words: Sequence[str]) -> Iterator[str]:
    """Yield what ``kubectl_complete-muster`` prints: a candidate a line, and what the shell is to do with them.

    ``words`` follow ``kubectl muster``; the last one is incomplete (kubectl: docs, "Extend kubectl with plugins").
    """
    from click.shell_completion import ShellComplete

    *before, incomplete = words or ("",)
    found = ShellComplete(group, {}, "muster", "_MUSTER_COMPLETE").get_completions(list(before), incomplete)
    for each in found:
        if each.type == "plain":
            yield f"{each.value}\t{printable(each.help)}" if each.help else str(each.value)
    yield f":{NO_FILES if all(each.type == 'plain' for each in found) else FILES}"


MOST_NAME = 100
"""Characters of the name of a user or of a machine."""


def asker() -> str:
    """Return ``anna@laptop at 2026-11-23T04:17:05Z``: the user of this machine, as far as it knows one."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a user id without a name
        user = "a user"
    return f"{printable(user, MOST_NAME)}@{printable(socket.gethostname(), MOST_NAME)} at {whole_time(time.time())}"
