"""Every field and rule of Kubeflow's JAXJob v1 (v1.9.4), and the test that shows that it works or is refused."""

import re
from pathlib import Path
from typing import Final, NamedTuple

import pytest

ROOT: Final = Path(__file__).parents[3]
DAEMON: Final = "tests/daemon/run_kinds/test_jaxjobs.py"
MODEL: Final = "tests/kinds/jax/test_jaxjob.py"
PLAN: Final = "tests/kinds/jax/test_plan.py"
EXAMPLE: Final = "tests/examples/test_jaxjob_example.py"


class Row(NamedTuple):
    """One row of the reference. ``works`` is False for what is refused; the test shows either."""

    what: str
    works: bool
    shown_by: str


TABLE: Final = (
    Row(
        "only the replica type Worker, in any case of letters",
        True,
        f"{MODEL}::test_the_replica_type_may_be_written_in_any_case",
    ),
    Row("another replica type", False, f"{MODEL}::test_what_is_not_supported_is_refused_with_a_reason"),
    Row(
        "Worker: null, at which Kubeflow's webhook panics",
        False,
        f"{MODEL}::test_a_spec_that_is_none_is_an_error_and_no_exception",
    ),
    Row(
        "replicas (default 1), restartPolicy (default Never), port 6666",
        True,
        f"{MODEL}::test_the_defaults_are_kubeflows",
    ),
    Row("port jaxjob-port of the container", True, f"{MODEL}::test_the_named_port_is_the_coordinators"),
    Row(
        "container jax; one container of another name",
        True,
        f"{MODEL}::test_the_container_of_kubeflows_first_manifests_is_taken_for_the_program",
    ),
    Row(
        "name is a DNS-1035 label that fits its pods",
        True,
        f"{MODEL}::test_a_name_that_cannot_name_its_pods_is_refused",
    ),
    Row("names, labels and variables of the pods", True, f"{PLAN}::test_the_pods_are_those_of_kubeflow"),
    Row(
        "jax.distributed by COORDINATOR_ADDRESS and COORDINATOR_PORT",
        True,
        f"{EXAMPLE}::test_the_jaxjob_runs_from_its_file_to_succeeded",
    ),
    Row(
        "restartPolicy Never, OnFailure, Always, ExitCode",
        True,
        f"{DAEMON}::test_what_follows_a_failure_is_what_the_restart_policy_says",
    ),
    Row("restartPolicy of another word", False, f"{MODEL}::test_what_is_not_supported_is_refused_with_a_reason"),
    Row("runPolicy.backoffLimit", True, f"{DAEMON}::test_a_lost_worker_restarts_the_gang_within_the_budget"),
    Row("runPolicy.activeDeadlineSeconds", True, f"{DAEMON}::test_the_deadline_holds_at_its_second"),
    Row("runPolicy.cleanPodPolicy", True, f"{DAEMON}::test_clean_pod_policy_all_deletes_the_pods_at_the_end"),
    Row("runPolicy.ttlSecondsAfterFinished", True, f"{DAEMON}::test_a_finished_job_is_deleted_after_its_ttl"),
    Row("runPolicy.suspend", True, f"{DAEMON}::test_a_suspended_job_has_no_pods_and_runs_when_it_is_resumed"),
    Row("runPolicy.schedulingPolicy", False, f"{DAEMON}::test_a_spec_that_cannot_be_run_fails_with_its_reason"),
    Row("runPolicy.managedBy", True, f"{DAEMON}::test_an_object_that_is_not_musters_is_never_touched"),
    Row(
        "Kubeflow's operator beside Muster",
        True,
        f"{DAEMON}::test_muster_stands_back_where_another_controller_makes_the_pods",
    ),
    Row(
        "conditions, replicaStatuses, startTime, completionTime",
        True,
        f"{DAEMON}::test_a_jaxjob_runs_from_its_file_to_succeeded",
    ),
    Row("Failed and Succeeded are forever", True, f"{DAEMON}::test_a_clean_run_costs_few_writes_and_none_at_rest"),
    Row("events on the JAXJob", True, f"{DAEMON}::test_a_spec_that_cannot_be_run_fails_with_its_reason"),
    Row("a worker that is killed", True, f"{EXAMPLE}::test_a_killed_rank_restarts_the_gang_and_it_succeeds"),
)


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.what)
def test_every_row_has_its_test(row: Row) -> None:
    """It is there by this name."""
    path, _, name = row.shown_by.partition("::")
    source = (ROOT / path).read_text(encoding="utf-8")
    assert re.search(rf"^(async )?def {name}\(", source, re.MULTILINE), row.shown_by
