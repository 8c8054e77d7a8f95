"""``muster diagnose``: the roll call of one run, from what can be read now or from what musterd knows, without a write.

``RunDiagnosis`` watches a run of another controller, without a musterd. The record of a run of Muster's is in its
status; with ``--page`` the page of a musterd has the record of any run.
"""

import logging
import time
from collections.abc import Mapping, MutableMapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

import click
import structlog

from muster.api.errors import ApiError, Forbidden, MusterError
from muster.api.manifest.problems import quoted
from muster.api.values.durations import count_of
from muster.api.values.printable import printable
from muster.cli.commands.diagnosing.answer import print_answer, read_stacks, trouble
from muster.cli.doctor.attention import unattended
from muster.cli.exits import FOUND
from muster.cli.musterd_page import roll_of, shown
from muster.cli.options import (
    SPAN,
    ClusterChoice,
    cluster_options,
    experiment_names,
    output_option,
    read_token,
    token_option,
)
from muster.cli.terminal.colours import data, say
from muster.cli.terminal.patience import patient
from muster.client import Client
from muster.client.errors import RunByMuster
from muster.client.member import Member
from muster.client.snapshot import EventSummary
from muster.client.stacks.frames import RankStacks
from muster.client.stacks.reading import StacksReader, stacks_of
from muster.client.subjects import parse
from muster.client.watched import seated, selectors
from muster.client.watching import ObjectSource
from muster.daemon.one_run.watch import OneRun, chosen_pods, stated
from muster.kinds.declaration import Object, WatchedKind
from muster.kinds.planning.watched_plan import FRAMEWORKS, MAX_PORT, MOST
from muster.kinds.pods import OBSERVE
from muster.kinds.registry import WATCHED_KINDS
from muster.kube.connection import Connection
from muster.kube.instrumented import lacks
from muster.kube.resources import core
from muster.kube.unstructured import moment
from muster.rollcall.document import Detail
from muster.state.vocabulary.group import ProbeKind
from muster.state.vocabulary.subject import PODS, title


async def roll_of_page(
    url: str, token: str, name: str, namespace: str, unknown: MutableMapping[str, str]
) -> Detail | None:
    """Return what the musterd at that address knows of a run; None where it gives nothing, and ``unknown`` has why.

    Raises ``MusterError`` for an address that cannot be asked.
    """
    shown(url, token)
    subject, own = parse(name)
    try:
        return await patient(roll_of(url, namespace, title(subject.word, own), token), "asking musterd")
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
    return await unattended(client.resources, found.experiment) or bad


UNSTATED: Final = "none"
"""The operator where nothing states what runs in the pods."""
UNASKED: Final = "its operator is none: no coordinator was asked who has arrived (state --operator, --coordinator)"


@click.command(
    epilog="\b\nExamples:\n  muster diagnose jobset/train\n  muster diagnose rayjob/tune -n team -o json\n"
    "  muster diagnose pods -l app=train --operator pytorch --ranks 8\n  muster diagnose job/train --for 2m --stacks\n"
)
@click.argument("name", shell_complete=experiment_names)
@click.option("-l", "--selector", default="", help="Of `pods`: the label selector of the run's pods.")
@click.option("--operator", type=click.Choice(list(FRAMEWORKS)), default=None, help="What runs in the pods.")
@click.option("--coordinator", type=click.IntRange(1, MAX_PORT), default=None, help="The port of rank 0.")
@click.option(
    "--ranks", type=click.IntRange(1, MOST), default=None, help="How many pods there should be (`pods`, job/)."
)
@click.option("--for", "span", type=SPAN, default=0.0, help="Watch so long for a hang, or until trouble is found.")
@click.option("-w", "--watch", is_flag=True, help="Continue, and print each change.")
@click.option("--stacks", is_flag=True, help="Also what each rank does; takes get and create on pods/exec.")
@click.option("--page", default="", metavar="URL", help="Ask the musterd that watches over it, by its page.")
@token_option
@output_option()
@cluster_options
def diagnose(
    chosen: ClusterChoice,
    name: str,
    selector: str,
    operator: str | None,
    coordinator: int | None,
    ranks: int | None,
    span: float,
    watch: bool,
    stacks: bool,
    page: str,
    token_file: Path | None,
    output: str | None,
) -> None:
    """Name the missing ranks of NAME and the cause, without musterd: with your own rights, and without a write.

    NAME is KIND/NAME (jobset, job, jaxjob, trainjob, rayjob, raycluster, pytorchjob, mpijob, pods of one value of the
    label muster.dev/observe), `pods` with -l, or an Experiment, whose record is read instead. It reads object and pods
    of the run, and asks the coordinator who has arrived through the API server's port-forward.

    You need get of the object, list and watch of pods, and for the roll call get and create of pods/portforward.
    Without one of them it prints what is then not known. With --page it prints what that musterd knows of the run now;
    where musterd gives nothing, the command looks by itself.

    Exit status: 0 nothing found, 6 trouble found, 1 it cannot be read.
    """
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    if watch and (span or stacks):
        raise click.UsageError("--watch ends with Ctrl-C: leave it out, or leave out --for and --stacks")
    if token_file is not None and not page:
        raise click.UsageError("--token-file goes with --page")
    if page and (watch or span or selector):
        raise click.UsageError("--page shows what musterd knows of KIND/NAME now: leave out --for, --watch and -l")
    if bool(selector) != (name == PODS.kind.lower()):
        raise click.UsageError("write KIND/NAME, or `pods` with -l SELECTOR")
    if page and (operator or coordinator or ranks):
        raise click.UsageError("--page shows what musterd knows: leave out --operator, --coordinator and --ranks")
    if ranks and not name.lower().startswith(("pods", "job/")):
        raise click.UsageError("--ranks goes with `pods` and job/NAME: other objects have the number of their pods")

    async def run(client: Client) -> bool:
        unknown: dict[str, str] = {}
        if selector:
            kind = stated(chosen_pods(selector), operator or "", coordinator or 0, ranks or 0)
            return await RunDiagnosis(client, kind, "", output, unknown).play(span, watch=watch, stacks=stacks)
        named = watched_kind(name)
        token = read_token(token_file)
        if page and (roll := await roll_of_page(page, token, name, client.namespace, unknown)) is not None:
            return await of_page(client, name, roll, output, stacks=stacks)
        if named is not None:
            with suppress(RunByMuster):
                kind = stated(named, operator or "", coordinator or 0, ranks or 0)
                return await RunDiagnosis(client, kind, name, output, unknown).play(span, watch=watch, stacks=stacks)
        if operator or coordinator or ranks:
            raise click.UsageError(f"Muster runs {name}: leave out --operator, --coordinator and --ranks")
        if watch or span:
            other = f"`muster get {name}{chosen.flags} --watch`" if watch else f"`muster explain {name}{chosen.flags}`"
            raise click.UsageError(f"Muster runs {name}, and watches it for hangs: {other} shows what it finds")
        return await of_record(client, name, unknown, output, stacks=stacks)

    if chosen.run(run):
        raise click.exceptions.Exit(FOUND)


def watched_kind(name: str) -> WatchedKind | None:
    """Return the kind of that object; None where only Muster runs such. Raises ``MusterError``."""
    subject, own = parse(name)
    if not own:
        raise MusterError(f"{quoted(name)} names no run: write NAME, or KIND/NAME")
    return next((each for each in WATCHED_KINDS.values() if each.subject == subject), None)


class RunDiagnosis:
    """The diagnosis of one run. ``name`` is empty where a selector chooses its pods.

    ``unknown`` is what is not known before it begins.
    """

    def __init__(
        self, client: Client, kind: WatchedKind, name: str, output: str | None, unknown: Mapping[str, str]
    ) -> None:
        self._client, self._kind, self._name, self._output = client, kind, name, output
        self._namespace = namespace = client.namespace
        assert isinstance(client.transport, Connection)
        self._connection = client.transport
        self._source = None if kind.virtual else ObjectSource(client.resources, kind, namespace, name)
        self._run = OneRun(self._connection, kind, namespace, self._source, self._selectors)
        self._run.unknown.update(unknown)
        self._shown: tuple[object, ...] | None = None

    async def play(self, span: float, *, watch: bool, stacks: bool) -> bool:
        """Print what is found; True where that is trouble."""
        until = time.time() + span

        def enough() -> bool:
            if watch:
                if self._run.complete:
                    self._show_change()
                return False
            waits = time.time() < until and not self._trouble(self._run.document())
            return self._run.complete and not waits

        try:
            watching = self._run.run(enough, until)
            await (watching if watch else patient(watching, f"diagnosing {self._name or 'pods'}"))
        except Forbidden as error:
            what = lacks(error, f"get of {self._kind.subject.plural}")
            raise Forbidden(f"{what}: what is to run is not known ({error})") from error
        roll = self._found()
        if roll is None:
            if self._output is None and (entry := self._run.entry) and entry.plan and (own := entry.view.own):
                verdict = printable(f"; its status: {own.verdict} {own.message}") if own.verdict.over else ""
                wanted = f"{count_of(entry.plan.size, 'rank')} {'is' if entry.plan.size == 1 else 'are'}"
                data(f"{self._namespace}/{self._name}  {wanted} wanted{verdict}")
            if self._run.unknown:
                raise MusterError("; ".join(self._run.unknown.values()))
            labels = ", ".join(self._selectors({}))
            raise MusterError(f"no pod of namespace {self._namespace} has the labels {labels}")
        ranks = await read_stacks(self._ranks(), self._run.unknown) if stacks else None
        event = await self._musterd()
        bad = self._trouble(roll) or (event is not None and event.reason == "Stuck")
        print_answer(roll, self._run.unknown, self._output, bad=bad, ranks=ranks, event=event)
        return bad

    def _selectors(self, obj: Object) -> Sequence[str]:
        if not self._kind.virtual:
            return selectors(self._kind, dict(obj))
        own = self._name.rpartition("/")[2]
        return [f"{OBSERVE}={own}" if own else self._kind.pods[0].label]

    def _trouble(self, roll: Detail | None) -> bool:
        return roll is not None and trouble(roll, self._run.youngest)

    def _found(self) -> Detail | None:
        """Return the roll call of this moment. Where no coordinator can be asked, that is among the unknown."""
        plan = entry.plan if (entry := self._run.entry) is not None else None
        asked = plan is not None and plan.coordinator is not None and plan.coordinator.probe is not ProbeKind.NONE
        if plan is not None and plan.operator == UNSTATED and plan.size > 1 and not asked:
            self._run.unknown["operator"] = UNASKED
        return self._run.document()

    def _show_change(self) -> None:
        roll = self._found()
        if roll is None:
            return
        now = (roll.phase, roll.epoch, roll.stuck, roll.arrived, [each.sentence for each in roll.findings])
        if now != self._shown:
            if self._shown is not None and self._output is None:
                data("")
            self._shown = now
            print_answer(roll, self._run.unknown, self._output, bad=self._trouble(roll))

    async def _musterd(self) -> EventSummary | None:
        """Return the last Event of musterd, where one watches over it."""
        try:
            return None if self._source is None else await self._source.last_event()
        except ApiError as error:
            what = lacks(error, "list of events") if isinstance(error, Forbidden) else str(error)
        self._run.unknown["events"] = f"{what}: the last Event of musterd is not known"
        return None

    async def _ranks(self) -> list[RankStacks]:
        """Return what each rank does. Raises ``ApiError``."""
        entry, members = self._run.entry, dict[str, Member]()
        assert entry is not None
        assert entry.record is not None
        seats = {pod.uid: pod for pod in entry.view.pods() if pod.epoch == entry.record.epoch}
        for label in self._run.chosen:
            for raw in await self._client.resources.list(core(self._namespace, "pods"), {"labelSelector": label}):
                if seat := seats.get(raw["metadata"]["uid"]):
                    members[seat.uid] = seated(raw, seat)
        return await StacksReader(self._connection, self._namespace).read([*members.values()], entry.record.size)
