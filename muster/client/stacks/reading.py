"""Reads the stacks of a gang: two commands in each rank's container, with the caller's right to execute them.

    async with Client() as client:
        found = await stacks_of(client, "train-x7k2p")

The right for it (``get`` and ``create`` on ``pods/exec``) lets its holder do anything in a container, so the daemon has
none, and no role of the chart gives it.
"""

import asyncio
import re
import secrets
from collections.abc import Callable, Collection, Sequence

from muster.api.errors import ApiError, Forbidden
from muster.api.names import CONTAINER
from muster.api.values.printable import MESSAGE, printable
from muster.client.client import Client
from muster.client.errors import NoSuchRank, may_not
from muster.client.member import Member
from muster.client.stacks.answers import read_answers, read_stacks, why_none
from muster.client.stacks.frames import RankStacks
from muster.client.stacks.processes import dump_command, list_command, read_listing, workers
from muster.kube.connection import Connection
from muster.kube.execution import Sockets, execute
from muster.kube.unstructured import mapping
from muster.state.vocabulary.subject import EXPERIMENT

AT_ONCE = 32
"""Ranks that are asked at the same time, each over a connection of its own."""
PATIENCE = 20.0
"""Seconds for one rank."""

_ADDRESS = re.compile(r'(https?://[^/"\s]+)/[^"\s]*')
"""The address at which the API server asks a kubelet, whose path holds the whole command."""

Done = Callable[[int, int], None]
"""Called with the number of ranks that were asked, and of all that are."""


async def stacks_of(
    client: Client,
    name: str,
    ranks: Collection[int] = (),
    *,
    at_once: int = AT_ONCE,
    patience: float = PATIENCE,
    namespace: str | None = None,
    done: Done = lambda _count, _of: None,
) -> list[RankStacks]:
    """Return the Python stacks of all ranks or of some at this moment, by rank.

    Raises ``NoSuchExperiment``, ``NoSuchRank`` for a rank without a pod, and ``Forbidden``.
    """
    seen = await client.get(name, namespace=namespace)
    members = [each for each in await client.members(name, namespace=namespace) if not ranks or each.rank in ranks]
    present = {each.rank for each in members}
    if absent := sorted(set(ranks) - present):
        which = ", ".join(map(str, absent))
        raise NoSuchRank(f"experiment {seen.namespace}/{seen.name}: rank {which} has no pod now")
    if not isinstance(client.transport, Connection):
        raise TypeError("commands are executed over a Connection only")
    assist = mapping(seen.raw.get("spec")).get("assist") is True if seen.subject == EXPERIMENT else None
    reader = StacksReader(client.transport, seen.namespace, assist=assist, patience=patience)
    size = 0 if ranks else seen.status.size
    return await reader.read(members, size, at_once=at_once, done=lambda count: done(count, len(members)))


class StacksReader:
    """Asks the ranks of one gang. ``assist`` is its ``spec.assist``; None where its kind has no such field."""

    def __init__(
        self, sockets: Sockets, namespace: str, *, assist: bool | None = None, patience: float = PATIENCE
    ) -> None:
        self._sockets = sockets
        self._namespace = namespace
        self._assist = assist
        self._patience = patience

    async def read(
        self,
        members: Sequence[Member],
        size: int = 0,
        *,
        at_once: int = AT_ONCE,
        done: Callable[[int], None] = lambda _count: None,
    ) -> list[RankStacks]:
        """Return the stacks of each member, and why each other rank below ``size`` has none, by rank.

        ``done`` is called with the number of ranks so far. Raises ``Forbidden`` if the first may not be asked.
        """
        found: list[RankStacks] = []
        waiting = iter(sorted(members, key=lambda member: not member.running))

        async def work() -> None:
            for member in waiting:
                found.append(await self._rank(member))
                done(len(found))

        if first := next(waiting, None):  # a missing right is met once, and not by all
            found.append(await self._rank(first, allowed=False))
            done(1)
        async with asyncio.TaskGroup() as tasks:
            for _ in range(max(1, at_once)):
                tasks.create_task(work())
        gone = set(range(size)) - {each.rank for each in members}
        found += [RankStacks(rank, "", unread="it has no pod now") for rank in gone]
        return sorted(found, key=lambda each: each.rank)

    async def _rank(self, member: Member, *, allowed: bool = True) -> RankStacks:
        if not member.running:
            why = f": {printable(member.why, MESSAGE)}" if member.why else ""
            what = "container has exited" if member.phase in ("Succeeded", "Failed") else "container does not run"
            return RankStacks(member.rank, member.pod, unread=f"{what} ({member.state}{why})")
        try:
            async with asyncio.timeout(self._patience):
                return await self._running(member)
        except TimeoutError:
            return RankStacks(member.rank, member.pod, unread=f"no answer within {self._patience:g} s")
        except Forbidden as error:
            if not allowed:
                raise may_not("execute commands in", self._namespace, "exec", error) from error
            return RankStacks(member.rank, member.pod, unread="you may not execute commands in its pod")
        except ApiError as error:
            return RankStacks(member.rank, member.pod, unread=printable(_ADDRESS.sub(r"\1", error.message), MESSAGE))

    async def _running(self, member: Member) -> RankStacks:
        nonce = f"muster-{secrets.token_hex(8)}"
        listing = read_listing(await self._run(member, list_command(nonce)), nonce)
        chosen = workers(listing.processes)
        answered = await self._run(member, dump_command(nonce, listing.spy, chosen)) if chosen else ""
        stacks, said = read_stacks(chosen, tuple(read_answers(answered, nonce)))
        why = "" if stacks else why_none(listing, chosen, said, self._assist)
        return RankStacks(member.rank, member.pod, stacks, printable(why, MESSAGE))

    async def _run(self, member: Member, command: list[str]) -> str:
        container = member.container or CONTAINER
        done = await execute(self._sockets, self._namespace, member.pod, container, command)
        return done.output.decode("utf-8", "replace")
