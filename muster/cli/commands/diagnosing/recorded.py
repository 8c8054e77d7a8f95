"""The diagnosis of a run that musterd keeps the record of: in the status of the run, or on its page alone."""

import time
from collections.abc import MutableMapping
from urllib.parse import quote

from muster.api.errors import MusterError
from muster.api.values.printable import printable
from muster.cli.commands.diagnosing.answer import print_answer, read_stacks
from muster.cli.commands.diagnosing.lines import trouble
from muster.cli.doctor.attention import unattended
from muster.cli.musterd_page import asked, shown
from muster.cli.terminal.colours import plain, say
from muster.cli.terminal.patience import patient
from muster.client import Client
from muster.client.stacks.reading import stacks_of
from muster.client.subjects import parse
from muster.kube.unstructured import moment
from muster.rollcall.document import Detail
from muster.state.vocabulary.subject import title


async def roll_of_page(
    url: str, token: str, name: str, namespace: str, unknown: MutableMapping[str, str]
) -> Detail | None:
    """Return what the musterd at that address knows of a run; None where it gives nothing, and ``unknown`` has why.

    Raises ``MusterError`` for an address that cannot be asked.
    """
    shown(url, token)
    subject, own = parse(name)
    path = f"/experiments/{quote(namespace)}/{quote(title(subject.word, own))}.json"
    try:
        return await patient(asked(url, path, Detail, token), "asking musterd")
    except MusterError as error:
        unknown["page"] = f"{error}: what musterd has seen of it before is not known"
        return None


async def of_page(client: Client, name: str, roll: Detail, output: str | None, *, stacks: bool) -> bool:
    """Print what a musterd answered of a run; True where that is trouble."""
    bad = trouble(roll, time.time() - (moment(roll.since) or 0.0))
    unknown: dict[str, str] = {}
    ranks = await read_stacks(stacks_of(client, name), unknown) if stacks else None
    print_answer(roll, unknown, output, bad=bad, ranks=ranks)
    say("the record is musterd's, of this moment, from its page")
    return bad


async def of_record(client: Client, name: str, unknown: dict[str, str], output: str | None, *, stacks: bool) -> bool:
    """Print what status and pods of a run of Muster's show; True if that is trouble."""
    now = time.time()
    found = await patient(client.explain(name), f"reading {name}")
    roll = found.roll_call(now)
    if roll is None:
        raise MusterError(f"{name}: {'; '.join(found.unreadable) or found.waits_for or 'its status cannot be read'}")
    bad = trouble(roll, now - found.experiment.status.phase_at)
    ranks = await read_stacks(stacks_of(client, name), unknown) if stacks else None
    print_answer(roll, unknown, output, bad=bad, ranks=ranks)
    say(printable("the record is musterd's, of the last time it wrote; coordinator and steps were not asked again"))
    if warning := await unattended(client.resources, now):
        say(plain(warning))
    return bad or bool(warning)
