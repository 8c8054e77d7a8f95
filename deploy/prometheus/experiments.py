"""The alerts about experiments.

An expression aggregates to ``namespace`` and ``experiment``, so that an alert continues when another musterd leads.
What the daemon calls Stuck has lasted already (docs/reasons.md has the times), so most alerts need not wait longer;
those that a healthy run with a slow start could meet do.
"""

from deploy.prometheus.held import KEEPS_BACK, KEEPS_THOSE_BACK
from deploy.prometheus.reasons import (
    GAP,
    about_reason,
    or_held,
    stuck_again_and_again,
    stuck_now,
    stuck_otherwise,
    stuck_whatever,
)
from deploy.prometheus.row import (
    CAUSES,
    FIRST,
    MISSING,
    OF_REASON,
    ONE,
    REASON,
    WHERE,
    WHY,
    Alert,
    Severity,
    Threshold,
)
from muster.metrics.catalogue import AGAIN
from muster.state.facts.audience import Audience, of_reason
from muster.state.summary.hurt import NEAR_SHARE

REFUSED = 'muster_experiment_coordinator_state{state="refused"}'

EXPERIMENTS = (
    Alert(
        "MusterCoordinatorStuck",
        f"""{stuck_now("MusterCoordinatorStuck")}
unless on (namespace, experiment)
  (
    max by (namespace, experiment) (last_over_time({REFUSED}[{GAP}])) == 1
  unless
    (
      max by (namespace, experiment) ({REFUSED}) == 1
    and
      max by (namespace, experiment) ({REFUSED} offset @closing) == 1
    )
  )
{or_held("MusterCoordinatorStuck")}""",
        Severity.CRITICAL,
        f"{ONE}: the coordinator stopped responding ({REASON}).",
        "Its process is frozen or cut off, or has closed its port for longer than @closing, while its pod runs. No rank"
        " can join or continue, and nothing restarts the gang until the other ranks end.",
        thresholds=(
            Threshold(
                "closing",
                "15s",
                "Time in which a process that has closed its port may end: then its end is the news.",
            ),
        ),
        audience=OF_REASON,
        keep=KEEPS_BACK,
    ),
    about_reason(
        "MusterCoordinatorNotServing",
        Severity.WARNING,
        "the coordinator has never answered at its port",
        "The program of the coordinator runs, and no other rank can join it.",
        hold="4m",
    ),
    Alert(
        "MusterRankMissing",
        stuck_whatever("MusterRankMissing"),
        Severity.CRITICAL,
        f"{ONE}: the roll is not complete: {MISSING}{FIRST}{CAUSES}{WHY}the others wait.",
        "The ranks that have arrived hold their machines and wait for the others.",
        hold="2m",
        audience=Audience.RESEARCHER,
        keep=KEEPS_THOSE_BACK,
    ),
    Alert(
        "MusterAssemblyOverdue",
        f"""max by (namespace, experiment) ({stuck_now("MusterAssemblyOverdue")})
or
  max by (namespace, experiment) (muster_experiment_phase{{phase="Assembling"}}) == 1
and
  max by (namespace, experiment) (muster_experiment_wall_seconds_total) > @seconds
and
  max by (namespace, experiment) (muster_experiment_phase{{phase="Assembling"}} offset @{{seconds}}s) == 1
and
  min by (namespace, experiment) (min_over_time(muster_experiment_phase{{phase="Assembling"}}[@{{seconds}}s])) == 1
{or_held("MusterAssemblyOverdue", "namespace, experiment")}""",
        Severity.WARNING,
        f"{ONE}: the gang is not complete in time.",
        "A clock of the experiment (starting, assembly) has run out, or it has been Assembling for @seconds s.",
        thresholds=(Threshold("seconds", 900, "Seconds in the phase Assembling that are too many."),),
        audience=Audience.RESEARCHER,
    ),
    about_reason(
        "MusterImageNotPulled",
        Severity.WARNING,
        "an image cannot be pulled",
        "The kubelet keeps trying. No program of that member runs until the image is pulled.",
        hold="1m",
    ),
    about_reason(
        "MusterUnschedulable",
        Severity.WARNING,
        "no node fits all members",
        "Members that have a node hold it while the others wait for theirs.",
        hold="5m",
    ),
    about_reason(
        "MusterCreateRefused",
        Severity.WARNING,
        "the API server refuses what the experiment needs",
        "Quota, admission, rights or the API server itself prevents it. Muster tries again every 5 to 30 s.",
        hold="1m",
    ),
    about_reason(
        "MusterExperimentStuck",
        Severity.WARNING,
        "the experiment is stuck",
        "The message of its condition Stuck has the cause.",
        hold="1m",
        expr=stuck_otherwise("MusterExperimentStuck"),
    ),
    Alert(
        "MusterHung",
        stuck_again_and_again("MusterHung"),
        Severity.CRITICAL,
        f"{ONE}: no rank makes progress ({REASON}){WHERE}.",
        "The whole gang holds its machines and does nothing. The summary has the message of its condition Stuck: the"
        " last step, the rank that is behind, and the one that is elsewhere than most, with its function and line,"
        " as far as they are known. A few steps between two hangs do not end it. `muster explain` and the page have the"
        " innermost calls of that rank.",
        hold="10m",
        audience=OF_REASON,
        keep=KEEPS_BACK,
    ),
    about_reason(
        "MusterDisruptionLoop",
        Severity.WARNING,
        "the platform ends one epoch after another",
        "At least three disruptions in a row (preemption, eviction, node loss) came before the gang had run for 5"
        " minutes. They use no restart budget: only spec.restartPolicy.maxDisruptions ends this.",
    ),
    Alert(
        "MusterRestartStorm",
        # A run of a name that is made again begins its count again, and has to fail so often itself.
        "increase(experiment:muster_failures:max[@window]) >= @restarts"
        " and experiment:muster_failures:max >= @restarts",
        Severity.WARNING,
        f'{ONE}: {{{{ $value | printf "%.0f" }}}} restarts after failures in @window.',
        "The program, or a member of it that runs again alone, fails again and again. What the platform did is not"
        " counted.",
        thresholds=(
            Threshold("restarts", 3, "Restarts after failures within the window that are too many."),
            Threshold("window", "30m", "The window."),
        ),
        audience=Audience.RESEARCHER,
    ),
    about_reason(
        "MusterSameFailureAgain",
        Severity.INFO,
        "the gang fails in the same way again and gets no further",
        "It is restarted as before: nothing is charged for the verdict. The message of its condition Stuck has the"
        " exception, where it was raised, and what the nodes of the failures point to.",
    ),
    Alert(
        "MusterSameFailureEnded",
        "sum by (verdict) (max by (job, namespace, instance, verdict)"
        f' (increase(muster_restart_verdicts_total{{verdict="{AGAIN}",enforced="true"}}[@window]))) > 0',
        Severity.WARNING,
        "Experiments that ended within @window because their gang failed in the same way again: "
        '{{ $value | printf "%.0f" }}.',
        "Their spec asks for it (sameFailureAction: Fail). They have given their machines back before the budget of"
        " restarts was used up, and run again only when their owner creates them again.",
        thresholds=(Threshold("window", "30m", "For how long such an end is shown."),),
        audience=of_reason(AGAIN),
        placed=False,
    ),
    Alert(
        "MusterDeadlineNear",
        """max by (namespace, experiment) (muster_experiment_clock_remaining_seconds{clock="total"} > 0) < @seconds
and
  max by (namespace, experiment) (muster_experiment_clock_remaining_seconds{clock="total"})
/
  max by (namespace, experiment) (muster_experiment_clock_limit_seconds{clock="total"})
< @share""",
        Severity.INFO,
        f"{ONE}: {{{{ $value | humanizeDuration }}}} are left until its deadline.",
        "When the clock total runs out, an experiment fails. A watched run is ended only if its annotation"
        " muster.dev/on-deadline asks for that.",
        hold="1m",
        thresholds=(
            Threshold("seconds", 3600, "Seconds left that are few."),
            Threshold("share", NEAR_SHARE, "Share of the limit left that is little; both must hold."),
        ),
        audience=Audience.RESEARCHER,
    ),
)
