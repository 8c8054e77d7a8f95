"""An alert that fires continues while no leader is heard, for ``HELD`` at most: what was known last holds until then.

Where scrapes fail, a daemon is replaced, Prometheus starts again or a remote write stalls, the series of all runs end
at once, whatever the runs do. An alert that ended then would page a second time, and one that keeps others back would
let them all through. What holds is the alert itself, by the series ``ALERTS`` of it, and not the last value of its
series: a run that ended before the gap has such a value too.
"""

HELD = "15m"
"""Time since a leader was heard last. ``MusterDaemonDown`` reports the gap after a minute."""

TAKEOVER = "1m"
"""Longer than no daemon exports experiments while another one takes over (20 s, and a scrape). An alert that ended then
would page a second time."""

KEEPS_BACK = "90s"
"""Time for an alert that keeps others back (``alertmanager.yaml``): it must continue for longer than they do."""

KEEPS_THOSE_BACK = "2m"
"""Time for one that keeps back alerts that keep others back."""

KEEPS_ALL_BACK = "3m"
"""Time for what keeps all alerts about runs back: an incident, which a new leader knows only when it has called three
runs stuck once more, and musterd itself."""

_CAN_LEAD = "(group by (job) (muster_build_info) unless on () group by (job) (muster_leader))"
"""A musterd without an election."""
_LEADS = f"((max by (job) (muster_leader) == 1) or {_CAN_LEAD})"
"""A leader is heard now. A scrape that fails ends this at once; one that is late does not, for five minutes."""
_LED = f"group by (job) (last_over_time(muster_build_info[{HELD}]))"
"""Some musterd was heard within that time."""

_GAP = f"unless on () {_LEADS} and on () {_LED}"


def held(alert: str, labels: str) -> str:
    """Return 1 for each alert of that name that fires while no leader is heard; ``labels`` are its expression's."""
    return f'max by ({labels}) (ALERTS{{alertname="{alert}",alertstate="firing"}}) {_GAP}'


def kept_on(recording: str) -> str:
    """Return the recorded series as it was last, while no leader is heard."""
    return f"{recording} {_GAP}"
