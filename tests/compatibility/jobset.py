"""JobSet (jobset.x-k8s.io/v1alpha2): its fields, its rules, the Job fields inside, and its status."""

from typing import Final

from tests.compatibility.row import Row, Section

READ: Final = "tests/api/foreign/test_jobset_spec.py"
RUN: Final = "tests/daemon/foreign/test_jobsets.py"
CASES: Final = "tests/state/jobsets/test_conformance.py::test_conformance"
JOBS: Final = "tests/state/jobsets/test_job_rules.py"
TRACES: Final = "tests/state/jobsets/test_golden_traces.py"
_JOB: Final = "spec.replicatedJobs.w"
_SPEC: Final = f"{_JOB}.template.spec"
_RULES: Final = "spec.failurePolicy.rules"

BASE: Final = """\
apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata: {name: train}
spec:
  managedBy: muster.dev/muster
  replicatedJobs:
    - name: d
      template: {spec: {template: {spec: {containers: [{name: m, image: i}]}}}}
    - name: w
      replicas: 2
      template:
        spec:
          parallelism: 2
          completions: 2
          template: {spec: {restartPolicy: Never, containers: [{name: m, image: i}]}}
"""

JOBSET: Final = Section(
    "JobSet",
    "JobSets with `spec.managedBy: muster.dev/muster` are run as they are; every other one is left to JobSet's own "
    "controller. A JobSet in a file without it is run as the Experiment that it converts into "
    "([other kinds](other-kinds.md)).",
    BASE,
    (
        Row("managedBy", "muster.dev/muster hands a JobSet to Muster; others are never touched.",
            f"{RUN}::test_a_jobset_of_another_manager_is_left_alone"),
        Row("replicatedJobs", "Replicated Jobs, as virtual Jobs of bare pods; none is accepted.",
            f"{CASES}[create jobs]"),
        Row("replicatedJobs[].replicas", "1 if absent; 0 is accepted.", f"{READ}::test_what_jobset_accepts_is_accepted",
            f"{_JOB}.replicas=0"),
        Row("replicas below 0", "Refused.", refused="is out of range", set=f"{_JOB}.replicas=-1"),
        Row("replicatedJobs[].groupName", "default if absent; stands in labels.",
            f"{READ}::test_absent_fields_have_the_defaults_of_the_webhook", f"{_JOB}.groupName=g"),
        Row("dependsOn: Ready, Complete", "A replicated job waits for earlier ones.", f"{CASES}[dependsOn b<-a Ready]",
            f"{_JOB}.dependsOn=[{{name: d, status: Complete}}]"),
        Row("dependsOn itself", "Refused; JobSet's webhook accepts it and it waits for ever.",
            refused="waits for itself", set=f"{_JOB}.dependsOn=[{{name: w, status: Ready}}]"),
        Row("dependsOn beside InOrder", "Refused, as there.", refused="exclude each other",
            set="spec={startupPolicy: {startupPolicyOrder: InOrder}, replicatedJobs: ["
            "{name: a, template: {spec: {template: {spec: {containers: [{name: m, image: i}]}}}}}, "
            "{name: b, dependsOn: [{name: a, status: Ready}], "
            "template: {spec: {template: {spec: {containers: [{name: m, image: i}]}}}}}]}"),
        Row("startupPolicy: AnyOrder, InOrder", "In order, one after another is ready.",
            f"{CASES}[InOrder a not ready => b not run]", "spec.startupPolicy.startupPolicyOrder=InOrder"),
        Row("network.enableDNSHostnames", "One headless Service; true if absent.",
            f"{CASES}[DNS hostnames => one headless service]", "spec.network={enableDNSHostnames: false}"),
        Row("network.subdomain", "The name of the Service and the domain of the hosts.",
            f"{READ}::test_stated_fields_are_kept", "spec.network={subdomain: sub}"),
        Row("network.publishNotReadyAddresses", "True if absent.", f"{READ}::test_stated_fields_are_kept",
            "spec.network={publishNotReadyAddresses: false}"),
        Row("successPolicy", "All or Any jobs of the targets; All if absent.", f"{CASES}[success Any with rjob]",
            "spec.successPolicy={operator: Any, targetReplicatedJobs: [w]}"),
        Row("a target that is no replicated job", "Refused.", refused="there is no replicated job x",
            set="spec.successPolicy={targetReplicatedJobs: [x]}"),
        Row("failurePolicy absent", "Any failed job fails the JobSet.",
            f"{CASES}[no failure policy => fail on any failure]"),
        Row("failurePolicy.maxRestarts", "Restarts that count.", f"{CASES}[fails after max restarts]",
            "spec.failurePolicy={maxRestarts: 3}"),
        Row("rules: FailJobSet", "Ends at once.", f"{CASES}[FailJobSet immediate]",
            f"{_RULES}=[{{action: FailJobSet}}]"),
        Row("rules: RestartJobSet", "Restarts all.", f"{CASES}[RestartJobSet (gate off/on)]",
            f"{_RULES}=[{{action: RestartJobSet}}]"),
        Row("rules: RestartJobSetAndIgnoreMaxRestarts", "Restarts all, uncounted.",
            f"{CASES}[RestartJobSetAndIgnoreMaxRestarts (gate off/on)]",
            f"{_RULES}=[{{action: RestartJobSetAndIgnoreMaxRestarts}}]"),
        Row("rules: RestartJob", "Restarts one Job (alpha there, always on here).", f"{CASES}[RestartJob]",
            f"{_RULES}=[{{action: RestartJob}}]"),
        Row("rules: RestartJobAndIgnoreMaxRestarts", "Restarts one Job, uncounted.",
            f"{CASES}[RestartJobAndIgnoreMaxRestarts]", f"{_RULES}=[{{action: RestartJobAndIgnoreMaxRestarts}}]"),
        Row("rules: onJobFailureReasons", "BackoffLimitExceeded, DeadlineExceeded, FailedIndexes, "
            "MaxFailedIndexesExceeded, PodFailurePolicy.", f"{CASES}[FailJobSet not matched by reason]",
            f"{_RULES}=[{{action: FailJobSet, onJobFailureReasons: [PodFailurePolicy]}}]"),
        Row("rules: onJobFailureMessagePatterns", "RE2, on Kubernetes' own messages.",
            f"{CASES}[message regex not string-equal]",
            f"{_RULES}=[{{action: FailJobSet, onJobFailureMessagePatterns: ['code 3']}}]"),
        Row("a pattern that is no expression", "Refused; JobSet logs it and skips the rule.",
            refused="not a regular expression",
            set=f"{_RULES}=[{{action: FailJobSet, onJobFailureMessagePatterns: ['(']}}]"),
        Row("rules: targetReplicatedJobs", "Only failures of these.", f"{CASES}[target rjob not contains]",
            f"{_RULES}=[{{action: FailJobSet, targetReplicatedJobs: [w]}}]"),
        Row("order of rules", "The first that matches applies.",
            f"{CASES}[rule order test 1: the first rule that matches applies]"),
        Row("restartStrategy: Recreate, BlockingRecreate", "Muster waits for all pods of the old life, in both.",
            f"{CASES}[BlockingRecreate waits for all deletions]",
            "spec.failurePolicy={restartStrategy: BlockingRecreate}"),
        Row("restartStrategy: InPlaceRestart", "Needs JobSet's agent in every pod.", refused="InPlaceRestart needs",
            set="spec.failurePolicy={restartStrategy: InPlaceRestart}"),
        Row("suspend", "No pods; resumed with a changed template.",
            f"{CASES}[resume suspended, with a changed pod template]", "spec.suspend=true"),
        Row("coordinator", "Its address stands in the label and annotation of every pod.",
            f"{READ}::test_what_jobset_accepts_is_accepted", "spec.coordinator={replicatedJob: w, podIndex: 1}"),
        Row("a coordinator that is not there", "Refused.", refused="write at most 1",
            set="spec.coordinator={replicatedJob: w, podIndex: 2}"),
        Row("ttlSecondsAfterFinished", "Deleted so long after its end.",
            f"{RUN}::test_a_jobset_is_deleted_its_ttl_after_its_end", "spec.ttlSecondsAfterFinished=60"),
        Row("volumeClaimPolicies", "Claims before the pods; deleted with it unless retained.",
            f"{RUN}::test_claims_are_made_before_the_pods_and_owned_unless_they_are_retained"),
        Row("activeDeadlineSeconds (of a later JobSet)", "Not in v1alpha2 of v0.12.", refused="unknown field",
            set="spec.activeDeadlineSeconds=5"),
        Row("exclusive-topology", "Read and placed.",
            f"{READ}::test_what_jobset_accepts_is_accepted[exclusive topology]"),
        Row("node-selector alone", "Has no effect without exclusive-topology.", refused="has no effect alone",
            set='metadata.annotations={"alpha.jobset.sigs.k8s.io/node-selector": "true"}'),
        Row("Job completions, parallelism", "Pods of a Job, and how many run at a time.",
            f"{JOBS}::test_pods_are_started_in_turn", f"{_SPEC}.parallelism=1"),
        Row("Job completionMode: NonIndexed", "A work queue where completions is absent.",
            f"{JOBS}::test_a_work_queue_ends_when_the_first_success_and_all_others_have",
            f"{_SPEC}.completionMode=NonIndexed"),
        Row("Job backoffLimit", "Failed pods are replaced, 6 times if absent.",
            f"{JOBS}::test_one_failure_more_than_the_backoff_limit_fails_the_job", f"{_SPEC}.backoffLimit=0"),
        Row("Job backoffLimitPerIndex, maxFailedIndexes", "Indexes that are given up one by one.",
            f"{JOBS}::test_more_failed_indexes_than_allowed_fail_the_job_at_once", f"{_SPEC}.backoffLimitPerIndex=1"),
        Row("Job podFailurePolicy", "FailJob, FailIndex, Ignore, Count by exit code or DisruptionTarget.",
            f"{JOBS}::test_fail_job_names_the_exit_code",
            f"{_SPEC}.podFailurePolicy={{rules: [{{action: FailJob, onExitCodes: {{operator: In, values: [3]}}}}]}}"),
        Row("Job successPolicy", "Ends a Job before all of its pods have.",
            f"{JOBS}::test_a_success_rule_ends_the_job_before_all_pods_have"),
        Row("Job activeDeadlineSeconds", "The Job fails with DeadlineExceeded.",
            f"{JOBS}::test_a_job_that_takes_too_long_fails", f"{_SPEC}.activeDeadlineSeconds=60"),
        Row("Job ttlSecondsAfterFinished", "JobSet runs a Job again that its own ttl has deleted.",
            refused="a JobSet runs a Job again", set=f"{_SPEC}.ttlSecondsAfterFinished=5"),
        Row("Job managedBy", "Muster runs the pods itself.", refused="Muster runs the pods itself",
            set=f"{_SPEC}.managedBy=x/y"),
        Row("Job selector", "Kubernetes sets it.", refused="Kubernetes sets the selector",
            set=f"{_SPEC}.selector={{}}"),
        Row("pod restartPolicy: OnFailure, Never", "OnFailure if absent: containers restart in place.",
            f"{JOBS}::test_containers_are_restarted_in_place_up_to_the_backoff_limit",
            f"{_SPEC}.template.spec.restartPolicy=OnFailure"),
        Row("pod restartPolicy: Always", "Refused, as by Kubernetes.", refused="write OnFailure or Never",
            set=f"{_SPEC}.template.spec.restartPolicy=Always"),
        Row("labels, annotations, names, hosts", "Those of its own controller.",
            f"{RUN}::test_a_jobset_runs_to_its_end_with_names_labels_and_status_of_its_own_controller"),
        Row("names that are too long", "Refused.", refused="Kubernetes allows 63", set=f"metadata.name={'t' * 60}"),
        Row("conditions, reasons, counters, order", "As recorded of the real controller.",
            f"{TRACES}::test_the_status_is_that_of_the_controller"),
        Row("RestartingJobSet", "True until all jobs are ready again.", f"{CASES}[restarting condition transitions]"),
        Row("replicatedJobsStatus", "ready, succeeded, failed, active, suspended.",
            f"{CASES}[replicatedJobsStatuses create/update]"),
        Row("an edit of replicatedJobs while it runs", "Said in the status and as an Event; its webhook refuses it.",
            f"{CASES}[immutability: an edit of replicatedJobs while it runs is said (JobSet: refused by the webhook)]"),
        Row("volumeClaimPolicies while suspended", "The claims are made, as by its own controller.",
            f"{RUN}::test_the_claims_of_a_jobset_that_is_created_suspended_are_made_and_its_pods_are_not"),
        Row("a pod that is lost while musterd is away", "Counts as failed and is replaced, as by the Job controller.",
            f"{JOBS}::test_a_pod_that_went_while_no_daemon_ran_counts_as_failed"),
        Row("Service deleted", "Made again.", f"{CASES}[service deleted => recreated]"),
        Row("generateName", "The Service is named after the JobSet.",
            f"{CASES}[generateName => service named after JobSet]"),
    ),
)  # fmt: skip
