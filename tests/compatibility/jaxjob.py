"""JAXJob (kubeflow.org/v1): its fields, defaults, variables, run policy and status."""

from typing import Final

from tests.compatibility.row import Row, Section

READ: Final = "tests/kinds/jax/test_jaxjob.py"
RUN: Final = "tests/daemon/run_kinds/test_jaxjobs.py"
STATUS: Final = "tests/kinds/jax/test_status.py"
PLAN: Final = "tests/kinds/jax/test_plan.py"
_WORKER: Final = "spec.jaxReplicaSpecs.Worker"
_POD: Final = f"{_WORKER}.template.spec"

BASE: Final = """\
apiVersion: kubeflow.org/v1
kind: JAXJob
metadata: {name: train}
spec:
  jaxReplicaSpecs:
    Worker:
      replicas: 2
      template: {spec: {containers: [{name: jax, image: i}]}}
"""

JAXJOB: Final = Section(
    "JAXJob",
    "JAXJobs are run as they are where the setting `runKinds` names them. Kubeflow ignores `managedBy` on them, so "
    "its operator must be absent or started without the scheme jaxjob; where its pods are seen, Muster stands back.",
    BASE,
    (
        Row("jaxReplicaSpecs.Worker", "The only type; any case.",
            f"{READ}::test_the_replica_type_may_be_written_in_any_case"),
        Row("another type", "Refused.", refused="is not a replica type",
            set="spec.jaxReplicaSpecs.Master={template: {spec: {containers: [{name: jax, image: i}]}}}"),
        Row("replicas", "1 if absent.", f"{READ}::test_the_defaults_are_kubeflows", f"{_WORKER}.replicas=4"),
        Row("replicas below 0", "Refused.", refused="is out of range", set=f"{_WORKER}.replicas=-1"),
        Row("an edit of replicas while it runs (scale)", "Waits until it was suspended and is resumed, and says so.",
            f"{RUN}::test_an_edit_of_the_replicas_waits_until_the_job_is_suspended"),
        Row("restartPolicy: Never", "The default: the first failed worker ends the job.",
            f"{RUN}::test_what_follows_a_failure_is_what_the_restart_policy_says", f"{_WORKER}.restartPolicy=Never"),
        Row("restartPolicy: OnFailure, Always",
            "A failed worker restarts the whole gang; Kubeflow restarts one container.",
            f"{RUN}::test_a_lost_worker_restarts_the_gang_within_the_budget", f"{_WORKER}.restartPolicy=OnFailure"),
        Row("restartPolicy: ExitCode", "128 and above restart the gang, 1 to 127 end the job.",
            f"{RUN}::test_what_follows_a_failure_is_what_the_restart_policy_says", f"{_WORKER}.restartPolicy=ExitCode"),
        Row("another restartPolicy", "Refused; Kubeflow's CRD does not check it.", refused="is not allowed here",
            set=f"{_WORKER}.restartPolicy=Sometimes"),
        Row("container jax", "The member's own; with one container any name does.",
            f"{READ}::test_the_container_of_kubeflows_first_manifests_is_taken_for_the_program"),
        Row("a container without an image", "Refused.", refused="the container has no image",
            set=f"{_POD}.containers=[{{name: jax}}]"),
        Row("no container", "Refused.", refused="no container", set=f"{_POD}.containers=[]"),
        Row("several containers, none named jax", "Refused.", refused="no container is named jax",
            set=f"{_POD}.containers=[{{name: a, image: i}}, {{name: b, image: i}}]"),
        Row("port jaxjob-port", "6666 if absent; the one of that name otherwise.",
            f"{READ}::test_the_named_port_is_the_coordinators"),
        Row("template", "The whole pod template, as written.", f"{RUN}::test_a_jaxjob_runs_from_its_file_to_succeeded"),
        Row("a port out of range", "Refused.", refused="is not a port",
            set=f"{_POD}.containers=[{{name: jax, image: i, ports: [{{containerPort: 0}}]}}]"),
        Row("hostname, subdomain of the template", "Refused: the workers find each other by names of Muster.",
            refused="Muster gives each worker the name", set=f"{_POD}.hostname=me"),
        Row("variables", "COORDINATOR_ADDRESS, COORDINATOR_PORT, NUM_PROCESSES, PROCESS_ID, PYTHONUNBUFFERED; and "
            "JAX_COORDINATOR_ADDRESS, which JAX reads by itself.",
            f"{RUN}::test_a_jaxjob_runs_from_its_file_to_succeeded"),
        Row("a variable of the template with such a name", "Muster's wins, as Kubeflow's does.",
            f"{PLAN}::test_the_pods_are_those_of_kubeflow"),
        Row("names, labels", "Hosts `JOB-worker-N`, the labels of Kubeflow.",
            f"{PLAN}::test_the_pods_are_those_of_kubeflow"),
        Row("Services", "One headless Service, with addresses before the workers are ready; Kubeflow has one per pod.",
            f"{RUN}::test_a_jaxjob_runs_from_its_file_to_succeeded"),
        Row("runPolicy.cleanPodPolicy", "All, Running or None; None if absent.",
            f"{RUN}::test_clean_pod_policy_all_deletes_the_pods_at_the_end", "spec.runPolicy.cleanPodPolicy=All"),
        Row("runPolicy.activeDeadlineSeconds", "Holds at its second (kubeflow/trainer#3358: it does not there).",
            f"{RUN}::test_the_deadline_holds_at_its_second", "spec.runPolicy.activeDeadlineSeconds=60"),
        Row("runPolicy.ttlSecondsAfterFinished", "The JAXJob is deleted so long after its end.",
            f"{RUN}::test_a_finished_job_is_deleted_after_its_ttl", "spec.runPolicy.ttlSecondsAfterFinished=60"),
        Row("runPolicy.backoffLimit", "Counts restarts of the gang in the status, so no new pod resets it.",
            f"{RUN}::test_a_lost_worker_restarts_the_gang_within_the_budget", "spec.runPolicy.backoffLimit=1"),
        Row("runPolicy.suspend", "No pods, until it is resumed.",
            f"{RUN}::test_a_suspended_job_has_no_pods_and_runs_when_it_is_resumed", "spec.runPolicy.suspend=true"),
        Row("runPolicy.managedBy", "Another manager's name keeps Muster away.",
            f"{RUN}::test_an_object_that_is_not_musters_is_never_touched",
            "spec.runPolicy.managedBy=muster.dev/muster"),
        Row("runPolicy.schedulingPolicy", "Muster starts gangs itself and asks no gang scheduler.",
            refused="asks no gang scheduler", set="spec.runPolicy.schedulingPolicy={}"),
        Row("runPolicy.cleanPodPolicy of another word", "Refused.", refused="it is All, Running or None",
            set="spec.runPolicy.cleanPodPolicy=Some"),
        Row("runPolicy.activeDeadlineSeconds of 0", "Refused.", refused="is out of range",
            set="spec.runPolicy.activeDeadlineSeconds=0"),
        Row("runPolicy.backoffLimit below 0", "Refused.", refused="is out of range",
            set="spec.runPolicy.backoffLimit=-1"),
        Row("an unknown field", "Refused.", refused="unknown field", set="spec.runPolicy={retries: 3}"),
        Row("name", "Must leave room for the names of its pods.", refused="Kubernetes allows 63",
            set=f"metadata.name={'t' * 60}"),
        Row("a name that begins no host", "Refused, as there.", refused="is not a name of", set="metadata.name=1train"),
        Row("no Worker (null)", "Refused; Kubeflow's webhook panics.", refused="spec.jaxReplicaSpecs",
            set="spec.jaxReplicaSpecs={Worker: null}"),
        Row("conditions, replicaStatuses",
            "Created, Running, Restarting, Suspended, Succeeded, Failed; times and counts.",
            f"{RUN}::test_a_jaxjob_runs_from_its_file_to_succeeded"),
        Row("Succeeded, Failed", "For ever: nothing is written after them.",
            f"{RUN}::test_a_clean_run_costs_few_writes_and_none_at_rest"),
        Row("a spec that is refused", "The condition Failed, reason InvalidSpec, and one Event name the field.",
            f"{RUN}::test_a_spec_that_cannot_be_run_fails_with_its_reason"),
        Row("deletion", "Its pods are deleted at once.", f"{RUN}::test_the_pods_of_a_deleted_job_are_deleted_at_once"),
        Row("--enable-scheme without jaxjob", "The setting `runKinds` names the kinds that Muster runs.",
            f"{RUN}::test_jaxjobs_are_run_only_where_the_setting_says_so"),
        Row("an operator of Kubeflow beside Muster", "Muster stands back where another controller makes the pods.",
            f"{RUN}::test_muster_stands_back_where_another_controller_makes_the_pods"),
        Row("an edit of the template while it runs", "Holds for pods that are created from then on, and is said.",
            "tests/state/policies/test_edits.py::test_an_edit_of_a_running_gang_is_said_and_changes_nothing"),
        Row("replicaStatuses: pods that are pending", "Not counted, as there: active are those whose program runs.",
            f"{STATUS}::test_pods_that_are_pending_are_not_counted_as_active"),
        Row("Running as soon as one worker runs", "As there; the message says which ranks are missing.",
            f"{STATUS}::test_pods_that_are_pending_are_not_counted_as_active"),
        Row("reason of a deadline or back-off", "JAXJobFailed, with Kubeflow's phrase in the message.",
            f"{STATUS}::test_the_end_names_the_limit_that_was_reached"),
        Row("startTime after a resumption", "Anew, and so is the deadline.",
            f"{RUN}::test_a_suspended_job_has_no_pods_and_runs_when_it_is_resumed"),
        Row("Kubeflow's SDK (TrainingClient)", "Creates and follows such objects as before: it reads the conditions, "
            "the labels of the pods and their logs.", f"{PLAN}::test_the_pods_are_those_of_kubeflow"),
        Row("metrics training_operator_jobs_*", "Not exported: Muster's own metrics have the operator `jaxjob`, and "
            "the series of an experiment name it `jaxjob/NAME`.",
            "tests/daemon/run_kinds/test_page_and_metrics.py::"
            "test_an_experiment_and_a_jaxjob_of_one_name_are_two_subjects"),
    ),
)  # fmt: skip
