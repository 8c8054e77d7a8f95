"""Who may lead: the rules of the election, without I/O. ``now`` is an argument, in seconds of a monotonic clock.

Why there is never a second leader
==================================
The leader's time runs from the moment it *sent* its last successful write of the Lease: ``deadline`` seconds later it
may do nothing any more. Everybody else's patience runs from the moment they first *saw* that write, which is later,
and lasts ``duration`` seconds, which is more. Whoever then takes the Lease names the resourceVersion it has been
looking at; had the leader renewed in between, that is another one, and the take-over is refused. No two clocks are
ever compared: both sides measure a time span, each on its own clock, and these clocks may differ in speed by
``duration / deadline`` (1.5 with the default settings) before the spans overlap. The times written in the Lease are
not read.

A change of the Lease is a change of its resourceVersion, whoever made it. A stranger's edit so delays a take-over;
the alternative, to compare holders and times, would take a renewal for none if a wall clock stood still.

The patience is the longer of our own ``duration`` and the one in the Lease, so that daemons with different settings
(in the middle of an upgrade) do not overtake each other. A Lease that is released, or held by this very process
(a write whose answer was lost), needs none.

A Lease that is not there may have been deleted under a leader who does not know it yet. That leader makes it anew and
goes on. Anybody else who makes one holds and renews it, but leads only after ``duration``, when every earlier
leader's time is over, and does not release it before (whoever got it so would not know that it is new). The price is
that the very first start in a cluster takes that long.

What this cannot exclude is a write that left in time and arrives late. Against that every write names a uid or a
resourceVersion or has a deterministic name, and a new leader believes nothing it has not read (``daemon.takeover``).
"""

from dataclasses import dataclass, field
from math import inf

from muster.kube.leaderelection.lease import Lease

LONGEST = 3600.0
"""Seconds: no Lease is believed to last longer, and no setting may ask for more."""

STOPPING = 0.1
"""The part of the renew deadline that is kept for ending the work: a leader gives up when the rest has passed."""


@dataclass(frozen=True, slots=True)
class Terms:
    """The times of an election in seconds: ``duration > deadline >= 2 * retry``."""

    duration: float = 15.0
    deadline: float = 10.0
    retry: float = 2.0

    @property
    def attempt(self) -> float:
        """How long one attempt at the Lease may take: a second one still fits in before the deadline."""
        return self.deadline * (1 - STOPPING) / 2


@dataclass(slots=True)
class ElectionState:
    """One daemon's part in the election. ``lease`` is the Lease as last seen, ``changed_at`` when that changed."""

    identity: str
    terms: Terms
    lease: Lease | None = None
    changed_at: float = -inf
    renewed_at: float = -inf
    """When the last successful write of the Lease was sent."""
    leads_from: float = -inf
    """Not before then may this daemon lead: it has made a Lease that was not there."""
    _patience: float = field(default=0.0, init=False)

    def saw(self, lease: Lease | None, now: float) -> None:
        """The Lease was read (None: there is none)."""
        before, self.lease = self.lease, lease
        if lease is None:
            if before is not None:  # its holder, if there is one, is let go first
                self._patience, self.changed_at = 2 * self.terms.retry, now
        elif before is None or (lease.uid, lease.version) != (before.uid, before.version):
            self._patience, self.changed_at = self._patience_with(lease), now
            if lease.holder == self.identity and (before is None or lease.uid != before.uid):
                self._made(now)  # by a write of ours whose answer was lost

    def kept(self, lease: Lease, sent: float, now: float) -> None:
        """Our write of the Lease, sent at ``sent``, was accepted; ``lease`` is what the server keeps."""
        if self.lease is None:
            self._made(now)
        self.lease, self.changed_at, self.renewed_at, self._patience = lease, now, sent, 0.0

    def deposed(self) -> None:
        """Lead no more, however much of the time is left."""
        self.renewed_at = -inf

    @property
    def fenced_at(self) -> float:
        """The end of the time in which we may write, by what is known now."""
        return self.renewed_at + self.terms.deadline

    @property
    def give_up_at(self) -> float:
        """When work has to be ended unless the Lease is renewed before."""
        return self.renewed_at + self.terms.deadline * (1 - STOPPING)

    def leads(self, now: float) -> bool:
        """We hold the Lease and there is time to work."""
        return self.leads_from <= now < self.give_up_at

    @property
    def ousted(self) -> bool:
        """The Lease is another's."""
        return self.lease is not None and self.lease.holder not in ("", self.identity)

    @property
    def free_at(self) -> float:
        """When the Lease may be taken, if it does not change until then."""
        return self.changed_at + self._patience

    @property
    def turn_at(self) -> float:
        """When a daemon that does not lead may do so next, if nothing changes until then."""
        return self.leads_from if self.lease and self.lease.holder == self.identity else self.free_at

    def may_release(self, now: float) -> bool:
        """We hold the Lease, and whoever gets it from us may lead at once."""
        return self.lease is not None and self.lease.holder == self.identity and now >= self.leads_from

    def may_hold(self, now: float) -> bool:
        """We may write our name into the Lease as it was last seen: to renew it, or to take it."""
        return not self.ousted if self.leads(now) else now >= self.free_at

    def _made(self, now: float) -> None:
        """There is a Lease again, and it is ours."""
        if not self.leads(now):
            self.leads_from = now + self.terms.duration

    def _patience_with(self, lease: Lease) -> float:
        if lease.holder in ("", self.identity):
            return 0.0
        return max(self.terms.duration, min(lease.duration, LONGEST))
