"""``muster port-forward``: a port of a member, on this machine."""

import asyncio
import contextlib
from dataclasses import replace

import click

from muster.api.errors import ApiError, Forbidden, MusterError, NotFound
from muster.api.values.printable import printable
from muster.cli.options import ClusterChoice, Parsed, cluster_options, experiment_names
from muster.cli.terminal.colours import data, plain, say
from muster.cli.terminal.patience import patient
from muster.client import Client, Member, NoSuchRank
from muster.client.errors import may_not
from muster.kube.cancellation import cancel_and_wait

HERE = "127.0.0.1"


def here_and_there(value: str) -> tuple[int, int]:
    """Return the port here (0: any) and the port in the pod of ``8265``, ``9000:8265`` or ``:8265``."""
    here, colon, there = value.partition(":")
    numbers = [number for number in (here or "0", there if colon else here) if _is_port(number)]
    if len(numbers) < 2 or not int(numbers[1]):
        raise ValueError(f"{value!r} is not PORT or HERE:PORT, each from 1 to 65535")
    return int(numbers[0]), int(numbers[1])


def _is_port(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 6 and int(text) < 65_536


@click.command(
    "port-forward",
    epilog="\b\nExamples:\n  muster port-forward train-x7k2p\n  muster port-forward train-x7k2p 9000:8265\n"
    "  muster port-forward train-x7k2p 6006 --rank 2\n",
)
@click.argument("name", shell_complete=experiment_names)
@click.argument("ports", type=Parsed("ports", here_and_there), required=False)
@click.option("--rank", type=click.IntRange(min=0), default=0, help="The member whose port it is. [0]")
@cluster_options
def port_forward(chosen: ClusterChoice, name: str, ports: tuple[int, int] | None, rank: int) -> None:
    """Open a port of a member of NAME on this machine, until Ctrl-C (exit status 130).

    PORTS is PORT, HERE:PORT or :PORT, as in `kubectl port-forward`. Without it, it is the dashboard of a Ray run. You
    need the verbs get and create on pods/portforward. A connection ends when either program closes its side, and the
    command when the pod is gone.
    """

    async def run(client: Client) -> None:
        if ports is None:
            here, there = await patient(_dashboard(client, name), f"reading {name}")
        else:
            here, there = ports
        member = await patient(_member(client, name, rank, chosen), f"reading {name}")
        await _serve(client, member, here, there)

    chosen.run(run)


async def _dashboard(client: Client, name: str) -> tuple[int, int]:
    port = (await client.get(name)).status.dashboard.rpartition(":")[2]
    if not _is_port(port):
        raise click.UsageError(f"{printable(name)} has no dashboard: write the PORT to open")
    return int(port), int(port)


async def _member(client: Client, name: str, rank: int, chosen: ClusterChoice) -> Member:
    for member in await client.members(name):
        if member.rank == rank:
            return member
    where = replace(chosen, namespace=client.namespace).flags
    raise NoSuchRank(f"rank {rank} of {name} has no pod now; `muster get {name}{where}` shows its members")


async def _serve(client: Client, member: Member, here: int, there: int) -> None:
    from muster.kube.connection import Connection
    from muster.kube.execution import forward

    connection = client.transport
    assert isinstance(connection, Connection)
    ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    carried: set[asyncio.Task[None]] = set()

    def end(error: ApiError) -> None:
        if not ended.done():
            ended.set_exception(error)

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def write(received: bytes) -> None:
            writer.write(received)
            await writer.drain()

        try:
            await forward(connection, client.namespace, member.pod, there, reader, write)
        except Forbidden as error:
            end(may_not("forward ports of", client.namespace, "portforward", error))
        except NotFound:
            end(NotFound(f"{member.pod} is gone; the same command opens the port of the pod that has its rank now"))
        except MusterError as error:
            say(plain(f"muster: {error}"))
        except ConnectionError:  # the program here has closed its side
            pass
        finally:
            writer.close()
            with contextlib.suppress(ConnectionError):
                await writer.wait_closed()

    def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.create_task(carry(reader, writer))
        carried.add(task)
        task.add_done_callback(carried.discard)

    server = await asyncio.start_server(accept, HERE, here)
    try:
        port = server.sockets[0].getsockname()[1]
        data(f"http://{HERE}:{port}")
        say(printable(f"port {there} of {member.pod} (rank {member.rank}) is at {HERE}:{port} until Ctrl-C"))
        await ended
    finally:
        server.close()
        await cancel_and_wait(*carried)  # a browser keeps its connections, and would be waited for
