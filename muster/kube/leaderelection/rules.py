"""The rules of the election, without I/O. ``now`` is an argument, in seconds of a monotonic clock.

There is never a second leader. The leader's time runs from the moment it *sent* its last successful write of the Lease;
``deadline`` seconds later it must no longer write. A standby's wait runs from the moment it first *saw* that write,
which is later, and lasts ``duration`` seconds, which is more. A standby then takes the Lease under the resourceVersion
it has seen; if the leader has renewed since, the resourceVersion has changed and the write is refused. No two clocks
are compared: both sides measure a time span, each on its own clock, and these clocks may differ in speed by
``duration / deadline`` (1.5 with the default settings) before the spans overlap. The Lease's own times are not read.

Any change of the resourceVersion counts as a change of the Lease. So a foreign edit delays a take-over; to compare
holders and times instead would miss a renewal if a wall clock stopped.

The wait is the longer of this daemon's ``duration`` and the one in the Lease, so that daemons with different settings
(during an upgrade) do not overtake each other. A Lease that is released, or held by this process (a write whose answer
was lost), needs no wait.

A missing Lease may have been deleted while a leader does not know it yet. That leader creates it again and continues.
Any other daemon that creates one holds and renews it, but leads only after ``duration``, when the time of every earlier
leader is over, and does not release it before (the next holder would not know that it is new). The price is that the
first start in a cluster takes that long.

A write that was sent in time may still arrive late. Against that, every write names a uid or a resourceVersion or has a
deterministic name, and a new leader relies only on what it has read (``daemon.tasks``).
"""

from dataclasses import dataclass, field
from math import inf

from muster.kube.leaderelection.lease import Lease

LONGEST = 3600.0
"""Most seconds of a duration: a longer one in a Lease is cut to this, and no setting may be longer."""

STOPPING = 0.1
"""The part of the renew deadline that is reserved for ending the work: a leader gives up before it."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The times of an election in seconds: ``duration > deadline >= 2 * retry``."""

    duration: float = 15.0
    deadline: float = 10.0
    retry: float = 2.0

    @property
    def attempt(self) -> float:
        """The limit of one attempt at the Lease: a second attempt still fits in before the deadline."""
        return self.deadline * (1 - STOPPING) / 2


@dataclass(slots=True)
class ElectionState:
    """One daemon's state in the election. ``lease`` is the Lease as last seen, ``changed_at`` its last change."""

    identity: str
    terms: Terms
    lease: Lease | None = None
    changed_at: float = -inf
    renewed_at: float = -inf
    """The time at which the last successful write of the Lease was sent."""
    leads_from: float = -inf
    """The time from which this daemon may lead, after it has created a missing Lease."""
    _wait: float = field(default=0.0, init=False)

    def saw(self, lease: Lease | None, now: float) -> None:
        """Note the Lease as it was read (None: there is none)."""
        before, self.lease = self.lease, lease
        if lease is None:
            if before is not None:  # let its holder, if any, create it again first
                self._wait, self.changed_at = 2 * self.terms.retry, now
        elif before is None or (lease.uid, lease.version) != (before.uid, before.version):
            self._wait, self.changed_at = self._wait_for(lease), now
            if lease.holder == self.identity and (before is None or lease.uid != before.uid):
                self._created(now)  # by a write whose answer was lost

    def kept(self, lease: Lease, sent: float, now: float) -> None:
        """Note an accepted write of the Lease, sent at ``sent``; ``lease`` is the Lease that the server keeps."""
        if self.lease is None:
            self._created(now)
        self.lease, self.changed_at, self.renewed_at, self._wait = lease, now, sent, 0.0

    def stop_leading(self) -> None:
        """Stop leading, however much time is left."""
        self.renewed_at = -inf

    @property
    def fenced_at(self) -> float:
        """The time from which this daemon must not write, unless it renews."""
        return self.renewed_at + self.terms.deadline

    @property
    def give_up_at(self) -> float:
        """The time at which work has to be ended, unless the Lease is renewed before."""
        return self.renewed_at + self.terms.deadline * (1 - STOPPING)

    def leads(self, now: float) -> bool:
        """Return True if this daemon holds the Lease, and its time is not over."""
        return self.leads_from <= now < self.give_up_at

    @property
    def ousted(self) -> bool:
        """True if another daemon holds the Lease."""
        return self.lease is not None and self.lease.holder not in ("", self.identity)

    @property
    def free_at(self) -> float:
        """The time from which the Lease may be taken, if it does not change before."""
        return self.changed_at + self._wait

    @property
    def turn_at(self) -> float:
        """The time from which this daemon may lead next, if nothing changes before."""
        return self.leads_from if self.lease and self.lease.holder == self.identity else self.free_at

    def may_release(self, now: float) -> bool:
        """Return True if this daemon holds the Lease, and the next holder may lead at once."""
        return self.lease is not None and self.lease.holder == self.identity and now >= self.leads_from

    def may_hold(self, now: float) -> bool:
        """Return True if this daemon may write its identity into the Lease as last seen, to renew or to take it."""
        return not self.ousted if self.leads(now) else now >= self.free_at

    def _created(self, now: float) -> None:
        if not self.leads(now):
            self.leads_from = now + self.terms.duration

    def _wait_for(self, lease: Lease) -> float:
        if lease.holder in ("", self.identity):
            return 0.0
        return max(self.terms.duration, min(lease.duration, LONGEST))
