"""Runs of other controllers, Ray and JobSet: the alerts of their own, and those that they share with experiments."""

from collections.abc import Mapping

from tests.deploy.prometheus.case import ONSET, STEP, Case, reason

_MISSES = f"0x{ONSET // STEP - 1} 2x1000"
_SINCE = f"_x{ONSET // STEP} {ONSET}x1000"
"""Since when it is stuck; absent before."""
_CLOCK = "muster_experiment_clock_remaining_seconds"
_FOLLOWS = "muster_experiment_clock_action"
_ACTIONS = ("Alert", "Fail", "Restart")


def _one(experiment: str) -> str:
    return f'namespace="ray",experiment="{experiment}"'


def _clock(experiment: str, name: str, values: str, action: str = "Fail") -> dict[str, str]:
    """The time that is left of a clock, and what follows."""
    one = f'{_one(experiment)},clock="{name}"'
    follows = {f'{_FOLLOWS}{{{one},action="{each}"}}': f"{int(each == action)}x1000" for each in _ACTIONS}
    return {f"{_CLOCK}{{{one}}}": values, **follows}


def _known(experiment: str, operator: str, engine: str = "observe") -> dict[str, str]:
    """What is exported of a run beside what it is stuck for."""
    one = _one(experiment)
    return {
        f'muster_experiment_info{{{one},operator="{operator}",engine="{engine}"}}': "1x1000",
        f'muster_experiment_phase{{{one},phase="Running"}}': "1x1000",
    }


def _fires(
    alert: str, situation: str, experiment: str, operator: str, why: str, after: int, summary: str, **more: str
) -> Case:
    series = {**_known(experiment, operator), **reason(why, one=_one(experiment)), **more}
    labels = {"namespace": "ray", "experiment": experiment}
    if alert != "MusterRankMissing":  # one of its reasons may follow another
        labels["reason"] = why
    return Case(alert, situation, series, after, labels, f"ray/{experiment}: {summary}", watched=600)


def _passes(alert: str, situation: str, why: str, values: str = "0x11 1x9 0x1000") -> Case:
    one = _one("raycluster/llama")
    return Case(alert, situation, {**_known("raycluster/llama", "kuberay"), **reason(why, values, one)}, watched=600)


def _long(experiment: str, operator: str, engine: str = "observe", **clocks: str) -> Mapping[str, str]:
    """Stuck since the onset, for a reason that has an alert for working hours."""
    one = _one(experiment)
    return {
        **_known(experiment, operator, engine),
        **reason("StatusIsFalse", one=one),
        f"muster_experiment_stuck_since_timestamp_seconds{{{one}}}": _SINCE,
        **clocks,
    }


_GCS = "the coordinator stopped responding (CoordinatorUnreachable)."
_LATE = "MusterObservedRunStuck"
_PASSED = "MusterDeadlinePassed"

WATCHED = (
    _fires("MusterCoordinatorStuck", "the GCS of a RayCluster is frozen", "raycluster/llama", "kuberay",
           "CoordinatorUnreachable", 0, _GCS),
    _fires("MusterRankMissing", "workers of a lost head are stale in the new cluster", "raycluster/llama", "kuberay",
           "RanksMissing", 120,
           "the roll is not complete: 2 missing, reason RanksMissing, the others wait.",
           **{f"muster_experiment_ranks_missing{{{_one('raycluster/llama')}}}": _MISSES}),
    _fires("MusterCoordinatorGone", "the head of a RayCluster is not made again", "raycluster/llama", "kuberay",
           "CoordinatorGone", 0, "the pod of the coordinator is gone or not at work (CoordinatorGone)."),
    _passes("MusterCoordinatorGone", "the head was replaced", "CoordinatorGone", "0x1000"),
    _fires("MusterMemberNotReplaced", "a pod of a Job has failed for good", "job/train", "none", "MemberFailed", 60,
           "a member has failed, and its controller does not bring it back (MemberFailed)."),
    _passes("MusterMemberNotReplaced", "JobSet replaces the member after 50 s", "MemberFailed"),
    _fires("MusterPodsMissing", "a Ray worker group is below its replicas", "raycluster/llama", "kuberay",
           "PodsMissing", 60, "its controller has not made all of its pods (PodsMissing)."),
    _passes("MusterPodsMissing", "a large JobSet comes slowly", "PodsMissing"),
    _fires("MusterStatusIsFalse", "a RayJob initializes forever after its program has ended", "rayjob/tune", "kuberay",
           "StatusIsFalse", 60, "the status that its controller shows is not what has happened (StatusIsFalse)."),
    _passes("MusterStatusIsFalse", "KubeRay follows within 50 s", "StatusIsFalse"),
    Case(_LATE, "a RayJob is stuck for 15 minutes and KubeRay says Running", _long("rayjob/tune", "kuberay"), 905,
         {"namespace": "ray", "experiment": "rayjob/tune", "audience": "platform"},
         "ray/rayjob/tune: stuck for 15m 5s, and nothing will end it: reason StatusIsFalse, its controller does not"
         " act.", watched=1200, also=("MusterStatusIsFalse",)),
    Case(_LATE, "a clock of the run will end it",
         _long("rayjob/tune", "kuberay", **_clock("rayjob/tune", "total", "9000-5x1000")),
         watched=1200, also=("MusterStatusIsFalse",)),
    Case(_LATE, "the coordinator is gone, for which a person is called already",
         {**_long("raycluster/llama", "kuberay"), **reason("StatusIsFalse", "0x1000", _one("raycluster/llama")),
          **reason("CoordinatorGone", one=_one("raycluster/llama"))},
         watched=1200, also=("MusterCoordinatorGone",)),
    Case(_LATE, "a clock of the run runs and only alerts",
         _long("rayjob/tune", "kuberay", **_clock("rayjob/tune", "total", "9000-5x1000", "Alert")), 905,
         {"namespace": "ray", "experiment": "rayjob/tune", "audience": "platform"},
         "ray/rayjob/tune: stuck for 15m 5s, and nothing will end it: reason StatusIsFalse, its controller does not"
         " act.", watched=1200, also=("MusterStatusIsFalse",)),
    Case(_LATE, "Muster runs it, and its own clocks end it", _long("jobset/train", "jobset", "native"),
         watched=1200, also=("MusterStatusIsFalse",)),
    Case(_PASSED, "JobSet's controller is away and does not suspend the run",
         {**_known("jobset/train", "none"), **reason("DeadlineExceeded", one=_one("jobset/train")),
          **_clock("jobset/train", "total", f"{ONSET}-5x1000")},
         125,
         {"namespace": "ray", "experiment": "jobset/train", "clock": "total"},
         "ray/jobset/train: its clock total ran out 2m 5s ago, and it still runs.", watched=600,
         also=("MusterExperimentStuck",)),
    Case(_PASSED, "the clock ran out while no musterd ran, and the next leader acts",
         {**_known("job/train", "none"), **_clock("job/train", "total", f"{ONSET}-5x11 stale _x107 -540-5x9 stale")},
         watched=900),
    Case(_PASSED, "the API server refuses what was to follow",
         {**_known("job/train", "none"), **reason("WebhookFailed", one=_one("job/train")),
          **_clock("job/train", "total", f"{ONSET}-5x1000")},
         watched=600, also=("MusterCreateRefused",)),
    Case(_PASSED, "the run ends within a minute of its deadline",
         {**_known("job/train", "none"), **_clock("job/train", "total", f"{ONSET}-5x24 _x1000")},
         watched=600),
    Case(_PASSED, "a clock that only alerts has an alert of its own",
         {**_known("job/train", "none"), **reason("AssemblyDeadlineExceeded", one=_one("job/train")),
          **_clock("job/train", "assembly", f"{ONSET}-5x1000", "Alert")},
         watched=600, also=("MusterAssemblyOverdue",)),
)  # fmt: skip
