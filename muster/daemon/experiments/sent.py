"""Progress reports of members: checks that the pod belongs to the run, and keeps the report in the run's view.

The sender is a pod that the API server knows (``PodIdentity``). A report counts for the sender's own rank only, in the
running epoch of an Experiment that gives its members the endpoint, and once in ``PACE`` seconds. It has the form of
``muster.api.progress``.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import msgspec

from muster.api.errors import MusterError
from muster.api.names import KIND
from muster.api.values.printable import printable
from muster.daemon.experiments.index import ExperimentIndex
from muster.kinds.kubeflow.trainer_status import TrainerStatus, report_in
from muster.state.view.progress import StepReport
from muster.state.vocabulary.plan import Plan
from muster.tracking.entry import Entry
from muster.watchers.probes.reports import report_of, value_in


class _Body(msgspec.Struct):
    trainerStatus: TrainerStatus | None = None  # noqa: N815 - the wire's name
    muster: Any = None


_decoder = msgspec.json.Decoder(_Body)


class PostRefused(MusterError):
    """A refused post, with the HTTP status of its answer and the reason of a Kubernetes Status."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.status, self.reason = status, reason


def read_status(body: bytes, rank: int) -> StepReport | None:
    """Return the report of that rank in the body, or None if the body reports no progress. Raises ``PostRefused``."""
    try:
        sent = _decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise PostRefused(422, "Invalid", f"That is no status: {printable(str(error), 200)}") from None
    if sent.muster is not None and (reported := value_in(sent.muster)) is not None:
        return report_of(rank, reported)
    return report_in(sent.trainerStatus, rank) if sent.trainerStatus is not None else None


PACE = 1.0
"""Seconds between two reports of one rank."""
COUNTED = 0.05, 2.0
"""Seconds from a report until the reports of its gang are counted: per 50 ranks that report, and at most."""
DEAF = 10.0
"""Seconds without a turn of the event loop after which reports may have been lost: transformers waits for five."""

LOST = 4096
"""Most addresses for which the time of a lost post is kept. Beyond that, posts of any address may be lost."""


@dataclass(frozen=True, slots=True)
class PodIdentity:
    """The pod that sent a token, as the API server identified it."""

    namespace: str
    name: str
    uid: str


@dataclass(eq=False)
class SentIntake:
    """The intake of reports. ``clock`` gives wall seconds; ``requeue`` asks for a step of an experiment later."""

    index: ExperimentIndex
    clock: Callable[[], float]
    requeue: Callable[[str, float], None]

    def take(self, namespace: str, name: str, pod: PodIdentity, body: bytes, address: str = "") -> None:
        """Take in a report of that pod for that run, sent from that address. Raises ``PostRefused``."""
        entry = self.index.named(namespace, name, KIND)
        if entry is None or entry.plan is None or entry.record is None or pod.namespace != namespace:
            raise PostRefused(404, "NotFound", "There is no such run here.")
        rank = _rank(entry, entry.plan, entry.record.epoch, pod)
        if rank is None:
            raise PostRefused(403, "Forbidden", "The pod is no member of that run, or of an epoch that is over.")
        now, epoch, sent = self.clock(), entry.record.epoch, entry.view.sent
        if epoch == sent.epoch and 0.0 <= now - sent.came_at.get(rank, -PACE) < PACE:
            raise PostRefused(429, "TooManyRequests", f"A rank may report once in {PACE:g} s.")
        report = read_status(body, rank)
        if report is not None:
            entry.view.sent.add(report, epoch, now)
            sent.came_from(address)
            least, most = COUNTED
            self.requeue(entry.seen.uid, min(most, least * (len(sent.last) // 50)))


def _rank(entry: Entry, plan: Plan, epoch: int, pod: PodIdentity) -> int | None:
    """Return the rank of the pod if it is a live member of that epoch. The uid identifies this life of the pod."""
    known = entry.view.sent.ranks
    members = entry.view.of(epoch).members
    rank = known.get(pod.uid)
    if rank is None or rank not in members or members[rank].uid != pod.uid:
        rank = next((each for each, member in members.items() if member.uid == pod.uid), None)
        if rank is None:
            return None
        if len(known) > 2 * plan.size:  # drop those of pods that are gone
            known.clear()
        known[pod.uid] = rank
    return rank if members[rank].name == pod.name and members[rank].live else None


class Hearing:
    """The time since which this daemon receives reports. ``monotonic`` must count while the machine is suspended."""

    def __init__(self, clock: Callable[[], float], monotonic: Callable[[], float]) -> None:
        self._clock = clock
        self._monotonic = monotonic
        self._since = clock()
        self._beat_at = monotonic()
        self._lost: dict[str, float] = {}
        """The last time at which a post may have been lost, by address."""

    def begin(self) -> None:
        """Count from now on: this daemon begins to lead."""
        self._since, self._beat_at = self._clock(), self._monotonic()
        self._lost.clear()

    def lost(self, address: str) -> None:
        """Note that a post from that address may have been lost for lack of room; an empty address means any."""
        if not address:
            self._since = self._clock()
            return
        self._lost.pop(address, None)
        self._lost[address] = self._clock()
        if len(self._lost) > LOST:  # a loss that is dropped here counts for all addresses
            self._since = max(self._since, self._lost.pop(next(iter(self._lost))))

    def since(self, addresses: Iterable[str] = ()) -> float:
        """Return the wall time since which every post from those addresses was received.

        The method is called often: a long time without a call means that the process was paused.
        """
        now = self._monotonic()
        if now - self._beat_at > DEAF:
            self._since = self._clock()
        self._beat_at = now
        if not self._lost:
            return self._since
        return max(self._since, *(self._lost.get(each, self._since) for each in addresses), self._since)

    def clock_stepped(self, seconds: float) -> None:
        """Move the kept times by a step of the wall clock."""
        self._since += seconds
        self._lost = {address: at + seconds for address, at in self._lost.items()}
