"""Situations in which a member starts, and is not heard of or is lost."""

from muster.state.facts.causes.table import Causes as Cause
from muster.state.view.probe_result import LOST_AFTER
from muster.state.view.roll import CoordinatorState
from tests.diagnosis.inducing import (
    Situation,
    at_work,
    crash_loop,
    ended_early,
    falls_silent,
    gathering,
    no_coordinator,
    node_not_ready,
    one,
    other_count,
    ray,
    recorded,
    started,
    unheard,
    without_dashboard,
    without_names,
)

NODES, RUNNING = "real/situations/test_nodes.py::", "real/situations/test_running.py::"
MEMBERS = "real/situations/test_members.py::"

RUNS = (
    Situation(
        "the node of two members is cut off (findings 17)",
        "jax",
        at_work(node_not_ready(1, 3)),
        Cause.NODE_NOT_READY,
        (1, 3),
        also=NODES + "test_a_node_that_is_not_ready_is_named",
    ),
    Situation("the node of a Ray worker is cut off", "kuberay", at_work(node_not_ready(2)), Cause.NODE_NOT_READY, (2,)),
    Situation(
        "a node is lost",
        "pytorch",
        started(lambda gang: gang.take_away(2, "DeletionByTaintManager", "node n2")),
        Cause.NODE_LOST,
        (2,),
        also=NODES + "test_a_lost_node_is_a_disruption_and_its_return_lets_the_gang_start",
    ),
    Situation(
        "the scheduler preempts a member",
        "jax",
        at_work(lambda gang: gang.take_away(2, "PreemptionByScheduler", "for team/big")),
        Cause.EVICTED,
        (2,),
        also=NODES + "test_a_preempted_member_is_a_disruption",
    ),
    Situation(
        "a kubelet evicts a member",
        "jobset",
        lambda gang: gang.report(2, phase="Failed", status={"reason": "Evicted", "message": "low on memory"}),
        Cause.EVICTED,
        (2,),
        also="real_node/situations/test_nodes.py::test_disk_pressure_evicts",
    ),
    Situation(
        "a person deletes a pod",
        "jax",
        at_work(lambda gang: gang.start(2, metadata={"deletionTimestamp": "2027-01-15T08:00:30Z"})),
        Cause.TERMINATING,
        (2,),
        also=NODES + "test_a_pod_that_is_taken_is_a_disruption",
    ),
    Situation("a pod is gone", "jax", at_work(lambda gang: gang.vanish(2)), Cause.LOST, (2,)),
    Situation(
        "a member uses too much memory",
        "pytorch",
        started(lambda gang: gang.end(2, 137, "OOMKilled")),
        Cause.OOM_KILLED,
        (2,),
    ),
    Situation(
        "a program fails",
        "jax",
        at_work(lambda gang: gang.end(2, 1, message="ValueError: no such file")),
        Cause.CRASHED,
        (2,),
        also="real_node/situations/test_frameworks.py::test_a_jax_rank_that_is_killed_is_one_restart",
    ),
    Situation("a worker of xgboost fails", "xgboost", started(lambda gang: gang.end(3, 255)), Cause.CRASHED, (3,)),
    Situation(
        "a rank ends with 0 before it called", "jax", one(lambda gang: gang.end(2, 0, "Completed")), Cause.ENDED, (2,)
    ),
    Situation(
        "a rank ends with 0 while others run on (findings 19)",
        "jax",
        ended_early,
        Cause.ENDED,
        (1,),
        also=MEMBERS + "test_ranks_that_end_while_others_run_on_are_said_and_stuck_after_five_minutes",
    ),
    Situation(
        "a container is started again and again in its pod", "jobset", crash_loop, Cause.RESTARTED_IN_PLACE, (2,)
    ),
    Situation(
        "a rank imports still, or calls another address",
        "jax",
        gathering(2),
        Cause.NOT_ARRIVED,
        (2,),
        also=RUNNING + "test_a_rank_that_never_calls_is_named_and_the_clock_ends_it",
    ),
    Situation("two ranks have not called", "jax", gathering(1, 2), Cause.NOT_ARRIVED, (1, 2)),
    Situation(
        "a pod is not ready, and no coordinator can be asked",
        "xgboost",
        started(lambda gang: gang.start(2, ready=False)),
        Cause.NOT_ARRIVED,
        (2,),
    ),
    Situation("a TCPStore counts its members, and one has no image", "pytorch", without_names, Cause.IMAGE_PULL, (2,)),
    Situation(
        "the coordinator's port is closed",
        "jax",
        unheard(CoordinatorState.REFUSED),
        Cause.COORDINATOR_NOT_SERVING,
        (0,),
    ),
    Situation(
        "the head of Ray has not opened its dashboard",
        "kuberay",
        unheard(CoordinatorState.REFUSED, "port 8265: connection refused"),
        Cause.COORDINATOR_NOT_SERVING,
        (0,),
    ),
    Situation(
        "the dashboard of a Ray head died, and its GCS serves",
        "kuberay",
        without_dashboard(),
        Cause.DASHBOARD_NOT_SERVING,
        (0,),
    ),
    Situation(
        "a stopped process accepts connections", "jax", unheard(CoordinatorState.SILENT), Cause.COORDINATOR_FROZEN, (0,)
    ),
    Situation(
        "the coordinator's process is stopped in a run",
        "jax",
        falls_silent(CoordinatorState.SILENT),
        Cause.COORDINATOR_FROZEN,
        (0,),
        within=LOST_AFTER,
        also=RUNNING + "test_a_stopped_coordinator_is_called_unreachable_and_not_restarted",
    ),
    Situation(
        "the GCS of Ray is frozen",
        "kuberay",
        falls_silent(CoordinatorState.SILENT, "the GCS does not answer: Deadline Exceeded"),
        Cause.COORDINATOR_FROZEN,
        (0,),
        within=LOST_AFTER,
        also="frameworks/test_ray_real.py",
    ),
    Situation(
        "a NetworkPolicy forbids the port",
        "pytorch",
        unheard(CoordinatorState.TIMEOUT),
        Cause.COORDINATOR_UNREACHABLE,
        (0,),
    ),
    Situation(
        "an HTTP server listens at the port",
        "jax",
        unheard(CoordinatorState.OTHER_PROTOCOL, "Failed parsing HTTP/2"),
        Cause.WRONG_PROTOCOL,
        (0,),
    ),
    Situation("the coordinator wants TLS", "jax", unheard(CoordinatorState.TLS), Cause.WRONG_PROTOCOL, (0,)),
    Situation(
        "the program counts other processes (findings 20)",
        "jax",
        other_count,
        Cause.PROCESS_COUNT,
        (0,),
        also=RUNNING + "test_a_wrong_number_of_processes_is_said",
    ),
    Situation(
        "the others wait for a coordinator that has no image",
        "jax",
        no_coordinator,
        Cause.AWAITS_COORDINATOR,
        (1, 2, 3),
        first=False,
    ),
    Situation(
        "the coordinator hears nothing of a rank",
        "jax",
        at_work(lambda gang: gang.give_up(2, 14, "heartbeat timeout")),
        Cause.HEARTBEAT_LOST,
        (2,),
    ),
    Situation(
        "a rank fails at the shutdown barrier (findings 18)",
        "jax",
        at_work(lambda gang: gang.give_up(2, 13, "Shutdown barrier has failed")),
        Cause.GIVEN_UP,
        (2,),
    ),
    Situation("a raylet is stopped, and Ray calls its node dead", "kuberay", ray(dead=2), Cause.HEARTBEAT_LOST, (2,)),
    Situation("workers of a lost head, which the new one does not know", "kuberay", ray(1, 2), Cause.GHOST, (1, 2)),
    Situation(
        "a rank does not enter the collective that the others wait in",
        "pytorch",
        recorded(
            "CollectiveStuck",
            "no collective has started or finished since 08:00:00Z: 3 of 4 ranks wait in all_reduce #61 (default_pg); "
            "rank 2 has entered only 60",
            "CollectiveBehind",
            "2",
        ),
        Cause.COLLECTIVE_BEHIND,
        (2,),
    ),
    Situation(
        "no rank reports a step any more",
        "jax",
        recorded("Hung", "no step since 08:00:00Z (last step 1841, rank 2 at 1839)", "Hung", "2"),
        Cause.HUNG,
        (2,),
    ),
    Situation(
        "a daemon takes over while the coordinator is frozen",
        "jax",
        recorded(
            "CoordinatorUnreachable",
            "the coordinator stopped responding: its port accepts connections but sends no answer",
            "CoordinatorFrozen",
        ),
        Cause.COORDINATOR_FROZEN,
        (0,),
    ),
)
"""In the order of what is lost."""
