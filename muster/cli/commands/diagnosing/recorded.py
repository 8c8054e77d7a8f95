"""The diagnosis of a run that musterd keeps the record of."""

import time

from muster.api.errors import MusterError
from muster.api.values.printable import printable
from muster.cli.commands.diagnosing.answer import print_answer, read_stacks
from muster.cli.commands.diagnosing.lines import trouble
from muster.cli.doctor.attention import unattended
from muster.cli.terminal.colours import plain, say
from muster.cli.terminal.patience import patient
from muster.client import Client
from muster.client.stacks.reading import stacks_of


async def of_record(client: Client, name: str, namespace: str, output: str | None, *, stacks: bool) -> bool:
    """Print what the status and the pods of a run of Muster's say; True where that is trouble."""
    now, unknown = time.time(), dict[str, str]()
    found = await patient(client.explain(name, namespace=namespace), f"reading {name}")
    roll = found.roll_call(now)
    if roll is None:
        raise MusterError(f"{name}: {'; '.join(found.unreadable) or found.waits_for or 'its status cannot be read'}")
    ranks = await read_stacks(stacks_of(client, name, namespace=namespace), unknown) if stacks else []
    bad = trouble(roll, now - found.experiment.status.phase_at)
    print_answer(roll, unknown, output, bad=bad, ranks=ranks)
    say(printable("the record is musterd's, of the last time it wrote; coordinator and steps were not asked again"))
    if warning := await unattended(client.resources, now):
        say(plain(warning))
    return bad or bool(warning)
