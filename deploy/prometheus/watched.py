"""The alerts about runs of other controllers, and about what Muster asked for and did not get.

The alerts about experiments fire for these runs, too. The alerts here are about what only their own controller can fix:
Muster creates nothing for them and ends none of them, so a person has to act if the controller does nothing.
"""

from deploy.prometheus.experiments import EXPERIMENTS
from deploy.prometheus.held import HELD, KEEPS_BACK, held
from deploy.prometheus.reasons import about_reason
from deploy.prometheus.row import OF_REASON, ONE, WHY, Alert, Severity, Threshold
from muster.metrics.runbooks import REASONS

UNMENDED = (
    about_reason(
        "MusterCoordinatorGone",
        Severity.CRITICAL,
        "the pod of the coordinator is gone or not at work",
        "Its own controller has not brought it back for a minute. Members of a Ray cluster run on in no cluster.",
        keep=KEEPS_BACK,
    ),
    about_reason(
        "MusterMemberNotReplaced",
        Severity.WARNING,
        "a member has failed, and its controller does not bring it back",
        "It has not been replaced for a minute, or was started again in its pod and has not been ready for two.",
        hold="1m",
    ),
    about_reason(
        "MusterPodsMissing",
        Severity.WARNING,
        "its controller has not made all of its pods",
        "A controller that is down, a quota, or an admission webhook. Of a Ray worker group fewer pods exist than"
        " its replicas.",
        hold="1m",
    ),
    about_reason(
        "MusterStatusIsFalse",
        Severity.WARNING,
        "the status that its controller shows is not what has happened",
        "The program has ended or failed, and the object still reports that it runs. What waits for it waits forever.",
        hold="1m",
    ),
)

PAGED = tuple(
    reason
    for alert in (*EXPERIMENTS, *UNMENDED)
    if alert.severity is Severity.CRITICAL
    for reason in REASONS.get(alert.name, ())
)
"""The reasons of alerts for which a person is called already."""

_ITS = "namespace, experiment, audience"
_SINCE, _CLOCK = "muster_experiment_stuck_since_timestamp_seconds", "muster_clock_timestamp_seconds"
_STUCK_FOR = f"-({_SINCE} - on () group_left () min by () ({_CLOCK}))"
"""By musterd's clock, which wrote since when. That of Prometheus may be a quarter of an hour off."""
_WAS_STUCK_FOR = (
    f"-(last_over_time({_SINCE}[{HELD}]) - on () group_left () max by () (last_over_time({_CLOCK}[{HELD}])))"
)

WATCHED = (
    *UNMENDED,
    Alert(
        "MusterObservedRunStuck",
        f"""(max by ({_ITS}) (muster_experiment_stuck_reason) == 1)
* on (namespace, experiment) group_left ()
(max by (namespace, experiment) ({_STUCK_FOR}) > @seconds)
and on (namespace, experiment)
  max by (namespace, experiment) (muster_experiment_info{{engine="observe"}}) == 1
unless on (namespace, experiment)
  max by (namespace, experiment) (muster_experiment_clock_remaining_seconds > 0
    and on (namespace, experiment, clock) muster_experiment_clock_action{{action!="Alert"}} == 1)
unless on (namespace, experiment)
  max by (namespace, experiment) (muster_experiment_stuck_reason{{reason=~"{"|".join(PAGED)}"}}) == 1
or
  max by ({_ITS}) (last_over_time(muster_experiment_stuck_reason[{HELD}]))
* on (namespace, experiment) group_left ()
  max by (namespace, experiment) ({_WAS_STUCK_FOR})
and on ({_ITS})
  {held("MusterObservedRunStuck", _ITS)}""",
        Severity.CRITICAL,
        f"{ONE}: stuck for {{{{ $value | humanizeDuration }}}}, and nothing will end it: {WHY}"
        "its controller does not act.",
        "Muster only watches over it, and no clock will end it: it holds its machines until a person acts. Where its"
        " reason has a critical alert of its own, that one calls the person.",
        thresholds=(Threshold("seconds", 900, "Seconds in which its own controller, or its owner, may act."),),
        audience=OF_REASON,
    ),
    Alert(
        "MusterDeadlinePassed",
        """max by (namespace, experiment, clock) (-muster_experiment_clock_remaining_seconds) > @seconds
unless on (namespace, experiment, clock)
  max by (namespace, experiment, clock) (muster_experiment_clock_action{action="Alert"}) == 1
unless on (namespace, experiment)
  max by (namespace, experiment) (muster_experiment_stuck_reason{reason!~".*DeadlineExceeded"}) == 1""",
        Severity.WARNING,
        f"{ONE}: its clock {{{{ $labels.clock }}}} ran out {{{{ $value | humanizeDuration }}}} ago, and it still runs.",
        "What was to follow has been asked for and has not happened: its own controller does not suspend it, a"
        " finalizer holds it, or musterd cannot write.",
        hold="1m",  # a leader that has just begun finds clocks that ran out long ago, and acts
        thresholds=(Threshold("seconds", 60, "Seconds in which what follows must have happened."),),
    ),
)
