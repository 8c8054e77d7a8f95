"""``muster run`` from the submission of its experiment to the end of its last pod."""

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import Awaitable, Collection
from time import monotonic
from typing import Any

from muster.api.causes import Cause
from muster.api.errors import ApiError, MusterError
from muster.api.values.durations import age
from muster.api.values.printable import printable
from muster.cli.musterd_page import roll_of
from muster.cli.options import ClusterChoice, asker
from muster.cli.processes import evidence
from muster.cli.processes.evidence import Printed, Tracebacks, futile
from muster.cli.processes.interrupts import Interrupts
from muster.cli.processes.stack import LocalCluster
from muster.cli.terminal.colours import plain
from muster.cli.terminal.display import Display, Ending
from muster.cli.terminal.progress import watch_to_end
from muster.client import Client, LogLine, NoSuchExperiment, Snapshot
from muster.client.explaining.lines import rows
from muster.client.explaining.style import restarts
from muster.kube.cancellation import cancel_and_wait, cancelling
from muster.kube.unstructured import moment
from muster.state.facts.sentences import blocking, of_last_failure, sentence
from muster.state.summary.ends import REASON as RESUMED
from muster.state.vocabulary.plan import Plan

ROLL_SECONDS = 0.5
"""Between two requests for the daemon's roll call. It is only displayed; nothing is decided by it."""
CANCEL_SECONDS = 10.0
"""Seconds in which the daemon is to end a cancelled experiment."""
GRACE_MARGIN = 5.0
"""Seconds beyond the grace period of the pods after which they are no longer waited for."""
LOG_SECONDS = 3.0
"""Seconds of the wait for the last lines of the log after the end."""
FOLLOWED = 32
"""The largest gang whose ranks' logs are all followed; of a larger one only the leader's."""
REMEMBERED = 20
"""Last lines kept of each rank; those of a rank that is not shown are printed if it is the one that fails."""


class RunFollower:
    """Follows the experiment ``seen``, which has that plan, on ``display``. Use once."""

    def __init__(self, client: Client, seen: Snapshot, display: Display, plan: Plan, cluster: LocalCluster) -> None:
        self._client = client
        self._seen = seen
        self._display = display
        self._plan = plan
        self._cluster = cluster
        self._ranks = () if plan.size <= FOLLOWED else (plan.leader,)
        self._grace = max((group.pod.grace for group in plan.groups), default=0)
        """Seconds that each member gets to end."""
        self._shown = {plan.leader}
        self._recent: dict[int, deque[Printed]] = {}
        self._tracebacks = Tracebacks()
        self._folded: set[int] = set()
        self._epoch = 0
        self._cause: Cause | None = None
        self._futile = ""
        self._resumed_at = max((line.at for line in seen.status.story), default=0.0)
        self._stop = asyncio.Event()
        self._alive: dict[str, int] = {}
        self._pods_changed = asyncio.Event()
        self._began = monotonic()
        self._grace_ends: float | None = None
        self._counted = 0
        self._waited = 0.0
        self._interrupted = False
        self.cut_short = False
        """An interruption ended the wait for the pods, or for the daemon: they may still run."""

    async def to_the_end(self, interrupts: Interrupts) -> Snapshot:
        """Return the experiment when it has finished, or as it is after a second interruption.

        The first interruption cancels it, and waits until its pods have ended. Raises ``ChildEnded`` if cluster or
        daemon end before it, ``Vanished`` if it is deleted.
        """
        following = watch_to_end(self._client, self._seen.name, self._seen.namespace, self._take)
        watch = asyncio.create_task(following, name="run-watch")
        logs = asyncio.create_task(self._logs(), name="run-logs")
        tasks: list[asyncio.Task[Any]] = [watch, logs]
        tasks += [asyncio.create_task(work, name="run-display") for work in (self._roll(), self._pods())]
        deciding: list[asyncio.Task[Any]] = [watch]
        if self._cluster.children:
            deciding.append(asyncio.create_task(self._cluster.watch(), name="run-supervise"))
            tasks.append(deciding[-1])
        try:
            ended = await self._until(deciding, (interrupts.next(), self._stop.wait()))
            answered = 0  # interruptions; one that comes together with the end must not be lost
            if not ended:
                answered = interrupts.count
                self._interrupted = answered > 0
                await self._cancel()
                ended = await self._until(deciding, (interrupts.next(), asyncio.sleep(CANCEL_SECONDS)))
            if ended and self._graceful and interrupts.count == answered:
                ending = asyncio.create_task(self._pods_end(), name="run-pods-end")
                tasks.append(ending)
                began = monotonic()
                self._grace_ends = began + self._grace
                self._count_down()
                patience = asyncio.sleep(self._grace + GRACE_MARGIN)
                await self._until([ending, *deciding[1:]], (interrupts.next(), patience))
                self._waited = monotonic() - began
            self.cut_short = interrupts.count > answered if ended else interrupts.count > 1
            if self._seen.finished and interrupts.count < 2:
                await asyncio.wait({logs}, timeout=LOG_SECONDS)
            return self._seen
        finally:
            await cancel_and_wait(*tasks)

    def outcome(self) -> str:
        """Return how it ended, in one sentence."""
        seen, status = self._seen, self._seen.status
        if not seen.finished:
            return f"{seen.name} was left as {printable(seen.phase) or 'Submitted'}"
        began, ended = status.started_at, status.finished_at
        took = monotonic() - self._began
        if began is not None and ended is not None:
            took = ended - began + self._waited
        again = restarts(status.restarts_begun)
        why = seen.message or seen.reason
        if self._interrupted and seen.reason == "Cancelled":
            why = "cancelled, because this command was interrupted"
            if status.cause is not None and status.cause.evidence and status.cause.at == ended:
                why = f"{why}; {blocking(status.cause)}"
        if self._futile and self._cause is not None:
            why = f"{printable(sentence(self._cause))}; not restarted: {self._futile}"
        raised = evidence.exception_before(self._last_cause, self._tracebacks)
        if raised and seen.outcome == "Failed":
            why = f"{why}; {raised}"
        return printable(f"{seen.name} {seen.phase} after {age(took)}{again and f', {again}'}: {why}")

    def printed(self) -> list[str]:
        """Return the last lines of all ranks that are followed."""
        return [line.text for lines in self._recent.values() for line in lines]

    def traceback(self) -> list[str]:
        """Return the logs' evidence of a failure, once more: later lines may have scrolled it away."""
        if not self._seen.finished or self._seen.outcome == "Succeeded":
            return []
        last = {rank: lines[-1] for rank, lines in self._recent.items() if lines}
        return evidence.of_end(self._last_cause, self._tracebacks, last, self._plan.failures.survivor_text)

    @property
    def _last_cause(self) -> Cause | None:
        """Return why the epoch ended whose logs were read last."""
        return self._cause if self._cause is not None and self._cause.epoch == self._epoch else None

    async def last_lines(self) -> list[str]:
        """Return after a deadline the last log line of each rank, and its age. What it waited for is among them."""
        if self._seen.outcome != "Deadline":
            return []
        try:
            found = await self._client.last_lines(self._seen.name, namespace=self._seen.namespace)
        except MusterError as error:
            return [plain(f"the last lines cannot be read: {error}")]
        shown = rows(found, time.time(), self._seen.status.finished_at)
        return ["last line of each rank:", *(f"  {row}" for row in shown)] if found else []

    @property
    def _graceful(self) -> bool:
        """Return True if pods of the ended experiment may still have something to save: it was stopped, not broken."""
        return not self._futile and (self._seen.reason == "Cancelled" or self._seen.outcome == "Deadline")

    async def _until(self, deciding: Collection[asyncio.Task[Any]], others: Collection[Awaitable[Any]]) -> bool:
        """Wait for the first of all; whether it is one of ``deciding``, and raise what that one raised."""
        beside = [asyncio.ensure_future(other) for other in others]
        async with cancelling(*beside):
            done, _ = await asyncio.wait({*deciding, *beside}, return_when=asyncio.FIRST_COMPLETED)
            for task in deciding:
                if task in done:
                    task.result()
                    return True
            return False

    async def _cancel(self) -> None:
        name = self._seen.name
        if not self._futile:
            self._display.say(
                f"cancelling {name}: its pods have {self._grace:g} s to end; interrupt again to stop them at once"
            )
        try:
            async with asyncio.timeout(CANCEL_SECONDS):
                await self._client.cancel(name, by=f"muster run of {asker()}", namespace=self._seen.namespace)
        except (ApiError, NoSuchExperiment, TimeoutError) as error:
            self._display.say(plain(f"it could not be cancelled: {error}"))

    def _take(self, seen: Snapshot) -> None:
        self._seen = seen
        self._display.show(seen)
        if seen.phase in ("Assembling", "Running"):
            self._shown = {self._plan.leader}
            if seen.status.epoch != self._epoch:
                self._epoch = seen.status.epoch
                self._recent.clear()
                self._folded.clear()
                self._tracebacks = Tracebacks()
        cause = seen.status.cause
        if cause is not None and cause != self._cause:
            self._cause = cause
            if not seen.finished:  # then the outcome has it
                self._display.say(printable(of_last_failure(seen.status)))
            if cause.rank is not None and cause.rank not in self._shown:
                self._shown.add(cause.rank)
                for line in self._recent.get(cause.rank, ()):
                    if not line.shown:
                        self._display.log(cause.rank, line.text)
            self._consider_restart()
        resumed = next((line for line in reversed(seen.status.story) if line.reason == RESUMED), None)
        if resumed is not None and resumed.at > self._resumed_at:
            self._resumed_at = resumed.at
            self._display.say(printable(resumed.message))

    def _consider_restart(self) -> None:
        """Stop instead of restarting where a restart would end in the same way."""
        cause = self._cause
        if cause is None or cause.disruption or self._futile or self._seen.phase != "Restarting":
            return
        followed = not self._ranks or cause.rank in self._ranks
        printed = self._recent.get(cause.rank if followed and cause.rank is not None else self._plan.leader)
        self._futile = futile(cause.exit_code, printed[-1].text if printed else "")
        if self._futile:
            self._display.say(printable(f"not restarted, as it would end in the same way: {self._futile}"))
            self._stop.set()

    async def _logs(self) -> None:
        lines = self._client.logs(self._seen.name, self._ranks, follow=True, namespace=self._seen.namespace)
        try:
            async with contextlib.aclosing(lines) as stream:
                async for found in stream:
                    self._take_line(found)
                    self._consider_restart()
        except MusterError as error:
            self._display.say(plain(f"the log cannot be followed any further: {error}"))

    def _take_line(self, found: LogLine) -> None:
        rank, line = found.rank, found.text
        shown = self._tracebacks.take(rank, line) or rank in self._shown
        if shown and evidence.STATE_DUMP in line:
            shown = False
            if rank not in self._folded:
                self._folded.add(rank)
                where = ClusterChoice(self._cluster.kubeconfig, None, self._seen.namespace).flags
                shows = f"muster logs {self._seen.name}{where} shows it"
                self._display.say(f"rank {rank}: raylet's state dump is left out; {shows}")
        printed = Printed(line, shown, moment(found.time))
        self._recent.setdefault(rank, deque(maxlen=REMEMBERED)).append(printed)
        if shown:
            self._display.log(rank, line)
        if self._tracebacks.ended_with(rank, line):
            asyncio.get_running_loop().call_later(evidence.RUNS_ON, self._look_again, rank, printed)

    def _look_again(self, rank: int, exception: Printed) -> None:
        """Report that a rank runs on after its traceback, if it has printed nothing since."""
        silent = self._recent.get(rank, (None,))[-1] is exception
        if silent and self._seen.phase == "Running" and rank in self._alive.values():
            assisted = any(group.pod.assist for group in self._plan.groups)
            self._display.say(evidence.runs_on(rank, exception.text, assisted=assisted))

    async def _roll(self) -> None:
        while True:
            with contextlib.suppress(MusterError):
                self._display.show_roll(await roll_of(self._cluster.daemon_url, self._seen.namespace, self._seen.name))
            await asyncio.sleep(ROLL_SECONDS)

    async def _pods(self) -> None:
        """Keep the names of the pods that have not ended."""
        changes = self._client.watch_members(self._seen.name, namespace=self._seen.namespace)
        try:
            async with contextlib.aclosing(changes) as stream:
                async for change in stream:
                    if change.kind == "DELETED" or change.member.phase in ("Succeeded", "Failed"):
                        self._alive.pop(change.member.pod, None)
                    else:
                        self._alive[change.member.pod] = change.member.rank
                    self._pods_changed.set()
                    self._count_down()
        except MusterError as error:
            self._display.say(plain(f"the pods cannot be watched any further: {error}"))

    def _count_down(self) -> None:
        """Show how many ranks have not ended, and how long they may take, if they are waited for and it changed."""
        if self._grace_ends is not None and len(self._alive) != self._counted:
            self._counted = len(self._alive)
            self._display.show_ending(Ending(self._counted, self._grace_ends, self._interrupted))

    async def _pods_end(self) -> None:
        while self._alive:
            self._pods_changed.clear()
            await self._pods_changed.wait()
