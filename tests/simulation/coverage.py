"""Actors and questions: who acts in the simulated world, and what its oracles ask.

    python -m tests.simulation.coverage        print the table

Every oracle judges every plan. So a cell holds the oracle of its column, unless the question has no meaning there.
"""

import sys
from collections.abc import Iterator
from types import ModuleType

from tests.scenarios import hangs, launched, restarts_in_place
from tests.simulation.plans.families import FAMILIES


def names(file: ModuleType, *begins: str) -> tuple[str, ...]:
    """The scenarios of a file whose names begin so, or all."""
    return tuple(each.name for each in file.SCENARIOS if each.name.startswith(begins or ""))


ACTORS: dict[str, tuple[str, ...]] = {
    "program that runs, or is still starting": (
        "happy",
        "side-by-side",
        "coordinator-first",
        "total-passes",
        "run-passes",
    ),
    "gang that makes no progress": ("progress-stops", "steps-stop", "sent-steps-stop"),
    "program that reports steps, and pauses": ("steps-pause", "steps-come-back", "steps-are-sent"),
    "program that fails, or a gang that aborts": (
        "member-fails",
        "coordinator-fails",
        "two-fail",
        "fails-again",
        "crashes-at-start",
        "gives-up",
    ),
    "rank that never arrives, coordinator that never serves": (
        "never-arrives-alerts",
        "never-arrives-fails",
        "one-of-a-count-never-arrives",
        "never-arrives-restarts",
        "coordinator-never-serves",
    ),
    "coordinator or readiness that comes and goes": (
        "coordinator-flaps",
        "coordinator-comes-and-goes",
        "readiness-flaps",
    ),
    "ranks that end at different times": ("uneven-ends",),
    "a group that waits for another one": ("staged",),
    "an experiment that has finished and is to be deleted": ("ttl", "ttl-zero"),
    "a volume that is made with the experiment": ("shared-volume", "claim-refused"),
    "a success of some jobs, while others run": ("any-job-is-enough", "target-is-enough"),
    "a member or a job that fails or is preempted, and runs again or is given up": (
        "member-runs-again",
        "preempted-member-runs-again",
        "job-runs-again",
        "member-gives-up",
        "rule-gives-up",
        "member-ignored",
    ),
    "head, workers and submitter of a Ray cluster, which are lost or fail": (
        "cluster-runs",
        "cluster-worker-preempted",
        "cluster-worker-fails",
        "cluster-head-preempted",
        "cluster-submitter-preempted",
        "cluster-job-fails",
    ),
    "nodes on which the gang fails again and again": ("node-avoided", "two-nodes-avoided"),
    "failures that are the same, differ, or come later each time": (
        "same-failure",
        "same-failure-ends",
        "failures-differ",
        "same-failure-later",
        "same-failure-at-a-step",
        "budget-renewed",
    ),
    "rank that the others wait for in each step, and ranks that vary": (
        "slow-rank",
        "slow-rank-restarts",
        "ranks-vary",
    ),
    "rank that computes or writes while the others wait for it": (
        "rank-evaluates",
        *names(hangs, "evaluation", "checkpoint"),
    ),
    "gang that hangs or waits for a member, and whoever ends it": names(
        hangs, *(f"{block}-" for block in hangs.BLOCKS)
    ),
    "launcher with words of its own, and a program that it starts": names(launched),
    "kubelet that starts a container again in its pod": names(restarts_in_place),
    "budgets of restarts: renewed by progress, with jitter": ("no-progress", "jitter"),
    "survivors that hang, ignore SIGTERM, or cannot be killed": ("survivors-hang", "unkillable"),
    "scheduler: no node, preemption, again and again": (
        "unschedulable-restarts",
        "unschedulable-fails",
        "preempted",
        "preempted-again",
        "preempted-to-the-limit",
    ),
    "JobSet object: its pods and Jobs fail, are preempted, and run again or end it": (
        "jobset-runs",
        "jobset-pod-replaced",
        "jobset-pod-replaced-twice",
        "jobset-on-failure",
        "jobset-on-failure-twice",
        "jobset-restarts",
        "jobset-gives-up",
        "jobset-ignores-its-maximum",
        "jobset-job-again",
        "jobset-fails-on-a-code",
        "jobset-disruption-ignored",
    ),
    "JobSet object: Jobs in turn, in order, in part, with a deadline": (
        "jobset-in-turn",
        "jobset-in-order",
        "jobset-depends-on",
        "jobset-any-job-is-enough",
        "jobset-target",
        "jobset-job-takes-too-long",
    ),
    "JAXJob object: its workers fail or are preempted, by restart policy, limit and deadline": (
        "jaxjob-runs",
        "jaxjob-member-fails",
        "jaxjob-coordinator-preempted",
        "jaxjob-gives-up",
        "jaxjob-never-again",
        "jaxjob-exit-code",
        "jaxjob-deadline",
    ),
    "users of objects of other kinds, who suspend, delete and submit again; other managers beside Muster": (
        "jobset-suspended",
        "jaxjob-suspended",
        "jobset-ttl",
        "jaxjob-ttl",
        "jobset-deleted",
        "jobset-submitted-again",
        "jobset-beside-others",
    ),
    "administrator who removes a CRD and installs it again, or stops to serve its version": (
        "jobset-not-served",
        "jobset-ends-unserved",
        "jaxjob-not-served",
        "jobset-crd-removed",
    ),
    "queue that gates pods": ("gated",),
    "queue of Kueue: late, full, stopped, down, not installed": (
        "queue-admits-late",
        "queue-one-by-one",
        "queue-down",
        "queue-installed-later",
        "queue-deadline",
    ),
    "queue of Kueue that takes the quota back, and users who leave it": (
        "queue-preempts",
        "queue-drained",
        "queue-deactivates",
        "queue-keeps-place",
        "queue-suspended",
        "queue-deleted",
    ),
    "kubelet: image late or not pulled": ("slow-image", "image-not-pulled"),
    "node that is lost": ("node-boots", "node-lost", "node-lost-blocks", "node-lost-for-ever"),
    "pod garbage collection, node scale-down": ("finished-pod-collected", "every-pod-collected"),
    "injected containers, which end late or fail": ("sidecar-runs-on", "sidecar-fails", "sidecars-end-late"),
    "webhook that is down, times out, denies all or some pods and then allows them; quota": (
        "webhook-down",
        "webhook-times-out",
        "webhook-denies",
        "webhook-denies-some",
        "quota-exceeded",
    ),
    "tenants of other namespaces": ("same-name", "noisy-neighbours", "quiet-neighbours"),
    "users who forge pods": ("forged-success", "forged-failure", "forged-survivor", "forged-rank", "name-taken"),
    "users, policies and controllers that take labels and owner references from pods": (
        "label-removed",
        "label-rewritten",
        "pod-disowned",
        "altered-and-failed",
        "altered-and-deleted",
        "altered-and-apart",
        "stranger",
    ),
    "finalizers of other controllers": (
        "finalizer-on-pod",
        "finalizer-over-two-epochs",
        "finalizer-on-experiment",
    ),
    "users who suspend, cancel, restart, edit, delete, submit again": (
        "suspended",
        "cancelled",
        "restart-requested",
        "edited",
        "deleted",
        "deleted-at-start",
        "submitted-again",
        "stranger",
    ),
    "namespace that is deleted": ("namespace-deleted",),
    "wall clock that steps, leaders whose clocks differ": ("clock-step", "clock-skew", "takeover"),
    "daemon that is killed, and one that takes over in each phase": (
        "crash",
        "two-crashes",
        "stale",
        "late-write",
        "takeover",
    ),
    "API server that errs, or answers late": ("error", "slow-answer"),
    "watches that are late, lossy or end": ("hold", "reorder", "drop", "double", "relist"),
    "live lists that are late, or whose next page is gone": ("late-list", "expired-page", "ends-before-its-deadline"),
}
"""Each actor, with scenarios and families of faults in which it acts."""

OWN_STATUS = "own status and record of an object of another kind true and kept?"

QUESTIONS: dict[str, str] = {
    "one epoch, one process a rank, started in order?": "invariants",
    "right end, charged to the right account?": "ends",
    "true cause, named with its pod?": "causes",
    "same objects, none left?": "objects",
    "pods gone in time?": "departures",
    "back-off as long as stated?": "backoffs",
    "attempts only grow, wait, and keep their limits?": "repairs",
    "SameFailureAgain only where it is?": "recurrences",
    "only a rank that is slow named as slow?": "slow_ranks",
    "a hang called so only where it is, for as long, and at the end?": "verdicts",
    "a cause without a launcher's words?": "last_words",
    "each restart in a pod counted and said?": "restarts_in_place",
    "clocks within 1 s?": "ends",
    "Stuck and its sentence true and in time?": "troubles",
    "writes and Events bounded?": "budgets",
    "other namespaces unmoved?": "isolation",
    OWN_STATUS: "run_kinds",
    "rests, and keeps nothing?": "rest",
}
"""Each question, with the module of ``tests/simulation/oracles`` that asks it."""

NO_RESTART = "no restart"
EXPERIMENTS = "Experiments only"
GLOBAL = "concerns all namespaces"

EMPTY: dict[tuple[str, str], str] = {
    **{
        (actor, question): NO_RESTART
        for actor in (
            "ranks that end at different times",
            "a success of some jobs, while others run",
            "coordinator or readiness that comes and goes",
            "queue that gates pods",
            "queue of Kueue: late, full, stopped, down, not installed",
            "kubelet: image late or not pulled",
            "pod garbage collection, node scale-down",
            "webhook that is down, times out, denies all or some pods and then allows them; quota",
            "namespace that is deleted",
        )
        for question in ("true cause, named with its pod?", "back-off as long as stated?")
    },
    **{
        (actor, OWN_STATUS): EXPERIMENTS
        for actor, plans in ACTORS.items()
        if not any(plan in FAMILIES or plan.startswith(("jobset-", "jaxjob-")) for plan in plans)
    },
    **{
        (actor, "other namespaces unmoved?"): GLOBAL
        for actor in (
            "wall clock that steps, leaders whose clocks differ",
            "daemon that is killed, and one that takes over in each phase",
            "watches that are late, lossy or end",
            "live lists that are late, or whose next page is gone",
        )
    },
}
"""Why a cell is empty."""


def table() -> Iterator[str]:
    """The lines of the table."""
    yield "| actor | plans | " + " | ".join(QUESTIONS) + " |"
    yield "|" + "---|" * (len(QUESTIONS) + 2)
    for actor, plans in ACTORS.items():
        cells = [EMPTY.get((actor, question), f"`{oracle}`") for question, oracle in QUESTIONS.items()]
        yield f"| {actor} | plans {', '.join(f'`{plan}`' for plan in plans)} | " + " | ".join(cells) + " |"


if __name__ == "__main__":
    sys.stdout.write("\n".join(table()) + "\n")
