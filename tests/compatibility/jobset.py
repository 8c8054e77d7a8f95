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
_POD: Final = "{spec: {template: {spec: {containers: [{name: m, image: i}]}}}}"
_MOUNTS: Final = (
    "{spec: {template: {spec: {containers: [{name: m, image: i, volumeMounts: [{name: c, mountPath: /c}]}]}}}}"
)
_CLAIM: Final = "{metadata: {name: c}, spec: {accessModes: [ReadWriteMany]}}"
_MANY: Final = (
    f"{{failurePolicy: {{rules: [{{action: RestartJob}}]}}, "
    f"replicatedJobs: [{{name: w, replicas: 1025, template: {_POD}}}]}}"
)
CLAIMS: Final = "tests/reconcilers/native/test_shared_claims.py"
TRAPS: Final = "tests/api/convert/test_traps.py"

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
        Row("no replicated job at all", "Accepted and at its end at once; `muster lint` warns: JobSet never ends it.",
            f"{TRAPS}::test_a_jobset_that_never_completes_is_warned_about", "spec={replicatedJobs: []}"),
        Row("more than 100000 pods", "Refused; JobSet's bound is 2147483647.", refused="write at most 100000",
            set=f"{_JOB}.replicas=60000"),
        Row("replicas above 1024 with RestartJob or RestartJobAndIgnoreMaxRestarts", "Refused, as there.",
            refused="at most 1024 replicas", set=f"spec={_MANY}"),
        Row("two replicated jobs of one name", "Refused.", refused="two replicated jobs have the name w",
            set=f"spec={{replicatedJobs: [{{name: w, template: {_POD}}}, {{name: w, template: {_POD}}}]}}"),
        Row("replicatedJobs[].name that begins no host", "Refused.", refused="is not lower-case letters",
            set=f"spec={{replicatedJobs: [{{name: 1w, template: {_POD}}}]}}"),
        Row("replicatedJobs[].groupName that is no label", "Refused.", refused="is not lower-case letters",
            set=f"{_JOB}.groupName=A_b"),
        Row("replicatedJobs[].groupName", "default if absent; stands in labels.",
            f"{READ}::test_absent_fields_have_the_defaults_of_the_webhook", f"{_JOB}.groupName=g"),
        Row("dependsOn: Ready, Complete", "A replicated job waits for earlier ones.", f"{CASES}[dependsOn b<-a Ready]",
            f"{_JOB}.dependsOn=[{{name: d, status: Complete}}]"),
        Row("dependsOn: when a dependency is ready", "When as many pods of each Job run as may.",
            f"{CASES}[dependsOn a Job that runs its pods in turn: it is ready when as many run as may]"),
        Row("dependsOn of a JobSet that is resumed", "Waits again.", f"{CASES}[dependsOn resume]"),
        Row("dependsOn of the first replicated job", "Refused, as there.",
            refused="the first replicated job cannot wait",
            set="spec.replicatedJobs.d.dependsOn=[{name: w, status: Ready}]"),
        Row("dependsOn of a later or absent one", "Refused, as there.", refused="there is no replicated job z above w",
            set=f"{_JOB}.dependsOn=[{{name: z, status: Ready}}]"),
        Row("dependsOn of another status", "Refused.", refused="it is Ready or Complete",
            set=f"{_JOB}.dependsOn=[{{name: d, status: Failed}}]"),
        Row("more than 5 dependsOn", "Refused, as there.", refused="at most 5",
            set=f"{_JOB}.dependsOn=[{', '.join(['{name: d, status: Ready}'] * 6)}]"),
        Row("dependsOn itself", "Refused; JobSet's webhook accepts it and it waits for ever.",
            refused="waits for itself", set=f"{_JOB}.dependsOn=[{{name: w, status: Ready}}]"),
        Row("dependsOn beside InOrder", "Refused, as there.", refused="exclude each other",
            set="spec={startupPolicy: {startupPolicyOrder: InOrder}, replicatedJobs: ["
            "{name: a, template: {spec: {template: {spec: {containers: [{name: m, image: i}]}}}}}, "
            "{name: b, dependsOn: [{name: a, status: Ready}], "
            "template: {spec: {template: {spec: {containers: [{name: m, image: i}]}}}}}]}"),
        Row("startupPolicy: AnyOrder, InOrder", "In order, one after another is ready.",
            f"{CASES}[InOrder a not ready => b not run]", "spec.startupPolicy.startupPolicyOrder=InOrder"),
        Row("startupPolicy after a restart", "In order again.", f"{CASES}[InOrder restart]"),
        Row("startupPolicy while suspended", "Suspended until the last one has started, as there.",
            f"{CASES}[InOrder suspend keeps suspended]"),
        Row("network.enableDNSHostnames", "One headless Service; true if absent.",
            f"{CASES}[DNS hostnames => one headless service]", "spec.network={enableDNSHostnames: false}"),
        Row("network.subdomain", "The name of the Service and the domain of the hosts.",
            f"{READ}::test_stated_fields_are_kept", "spec.network={subdomain: sub}"),
        Row("network.publishNotReadyAddresses", "True if absent.", f"{READ}::test_stated_fields_are_kept",
            "spec.network={publishNotReadyAddresses: false}"),
        Row("a subdomain that names no Service", "Refused.", refused="is not lower-case letters",
            set="spec.network={subdomain: A.b}"),
        Row("a Service of that name which is another's", "The JobSet fails with NameTaken; JobSet uses it unseen.",
            "tests/reconcilers/native/test_service.py::test_a_foreign_service_of_that_name_is_a_final_refusal"),
        Row("successPolicy", "All or Any jobs of the targets; All if absent.", f"{CASES}[success Any with rjob]",
            "spec.successPolicy={operator: Any, targetReplicatedJobs: [w]}"),
        Row("a target that is no replicated job", "Refused.", refused="there is no replicated job x",
            set="spec.successPolicy={targetReplicatedJobs: [x]}"),
        Row("failurePolicy absent", "Any failed job fails the JobSet.",
            f"{CASES}[no failure policy => fail on any failure]"),
        Row("failurePolicy.maxRestarts", "Restarts that count.", f"{CASES}[fails after max restarts]",
            "spec.failurePolicy={maxRestarts: 3}"),
        Row("rules: name", "Stands in the reason of RestartingJobSet; failurePolicyRuleN if absent.",
            f"{READ}::test_rules_without_a_name_are_named_by_their_place",
            f"{_RULES}=[{{name: 'a_1,b:c', action: FailJobSet}}]"),
        Row("rules: a name of other signs", "Refused, as there.", refused="is no name of a rule",
            set=f"{_RULES}=[{{name: 1a, action: FailJobSet}}]"),
        Row("rules: a name of more than 128 characters", "Refused, as there.", refused="is no name of a rule",
            set=f"{_RULES}=[{{name: {'a' * 129}, action: FailJobSet}}]"),
        Row("rules: a name twice", "Refused, as there; also the name that an unnamed rule is given.",
            refused="two rules have the name failurePolicyRule1",
            set=f"{_RULES}=[{{name: failurePolicyRule1, action: FailJobSet}}, {{action: FailJobSet}}]"),
        Row("rules: another action", "Refused.", refused="is not allowed here",
            set=f"{_RULES}=[{{action: RestartReplicatedJob}}]"),
        Row("rules: another reason", "Refused.", refused="the text 'Oops' is not allowed here",
            set=f"{_RULES}=[{{action: FailJobSet, onJobFailureReasons: [Oops]}}]"),
        Row("rules: a target that is no replicated job", "Refused.", refused="there is no replicated job x",
            set=f"{_RULES}=[{{action: FailJobSet, targetReplicatedJobs: [x]}}]"),
        Row("several failed jobs", "Of those that a rule matches the first that failed is named.",
            f"{CASES}[of two failed jobs the first is named]"),
        Row("no rule matches", "RestartJobSet, as there.",
            f"{CASES}[FailJobSet not matched by reason]"),
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
        Row("restartStrategy: InPlaceRestart", "Needs JobSet's agent in every pod. So its counts are not in the "
            "status, and disable-in-place-restart has no effect.", refused="InPlaceRestart needs",
            set="spec.failurePolicy={restartStrategy: InPlaceRestart}"),
        Row("suspend", "No pods; resumed with a changed template.",
            f"{CASES}[resume suspended, with a changed pod template]", "spec.suspend=true"),
        Row("coordinator", "Its address stands in the label and annotation of every pod.",
            f"{CASES}[coordinator label+annotation]", "spec.coordinator={replicatedJob: w, podIndex: 1}"),
        Row("a coordinator that is not there", "Refused.", refused="write at most 1",
            set="spec.coordinator={replicatedJob: w, podIndex: 2}"),
        Row("a coordinator of an absent replicated job", "Refused.", refused="there is no replicated job x",
            set="spec.coordinator={replicatedJob: x}"),
        Row("a coordinator beyond the Jobs", "Refused.", refused="write at most 1",
            set="spec.coordinator={replicatedJob: w, jobIndex: 2}"),
        Row("a coordinator without an index", "Refused.", refused="have no index",
            set="spec.coordinator={replicatedJob: d}"),
        Row("a coordinator that fits no label", "Refused, as there.", refused="is too long for a label value",
            set=f"spec={{coordinator: {{replicatedJob: w}}, network: {{subdomain: {'s' * 60}}}, replicatedJobs: "
            "[{name: w, template: {spec: {completions: 1, template: {spec: {containers: [{name: m, image: i}]}}}}}]}"),
        Row("ttlSecondsAfterFinished", "Deleted so long after its end.",
            f"{RUN}::test_a_jobset_is_deleted_its_ttl_after_its_end", "spec.ttlSecondsAfterFinished=60"),
        Row("volumeClaimPolicies", "Claims before the pods; deleted with it unless retained.",
            f"{RUN}::test_claims_are_made_before_the_pods_and_owned_unless_they_are_retained"),
        Row("volumeClaimPolicies: a claim that exists", "Used where it is the JobSet's own, or retained and alike in "
            "what the template states; JobSet's webhook compares the whole spec.",
            f"{CLAIMS}::test_a_claim_of_ones_own_or_a_retained_one_that_is_alike_is_used"),
        Row("volumeClaimPolicies: a claim of another owner, JobSet or spec",
            "The JobSet fails with NameTaken; where JobSet's webhook did not see it, its controller uses it.",
            f"{CLAIMS}::test_a_claim_of_anothers_is_a_final_refusal_that_says_whose"),
        Row("volumeClaimPolicies: nothing mounts it", "Refused, as there.", refused="no container mounts c",
            set=f"spec.volumeClaimPolicies=[{{templates: [{_CLAIM}]}}]"),
        Row("volumeClaimPolicies: a name twice", "Refused, as there.", refused="two claims have the name c",
            set=f"spec={{volumeClaimPolicies: [{{templates: [{_CLAIM}, {_CLAIM}]}}], replicatedJobs: "
            f"[{{name: w, template: {_MOUNTS}}}]}}"),
        Row("volumeClaimPolicies: a pod volume of that name", "Refused, as there.",
            refused="a pod has a volume c of its own",
            set=f"spec={{volumeClaimPolicies: [{{templates: [{_CLAIM}]}}], replicatedJobs: [{{name: w, template: "
            "{spec: {template: {spec: {volumes: [{name: c}], containers: [{name: m, image: i}]}}}}}]}"),
        Row("volumeClaimPolicies: a name that no claim can have", "Refused, as there.",
            refused="is longer than 63",
            set=f"spec={{volumeClaimPolicies: [{{templates: [{{metadata: {{name: c{'c' * 60}}}, spec: {{}}}}]}}]}}"),
        Row("volumeClaimPolicies: metadata.namespace", "Refused, as there.", refused="unknown field",
            set="spec.volumeClaimPolicies=[{templates: [{metadata: {name: c, namespace: x}, spec: {}}]}]"),
        Row("more than 50 policies or templates", "Refused, as there.", refused="at most 50",
            set=f"spec.volumeClaimPolicies=[{{templates: [{', '.join([_CLAIM] * 51)}]}}]"),
        Row("scheduling (of a later JobSet)", "Not in v1alpha2 of v0.12.", refused="unknown field",
            set="spec.scheduling={}"),
        Row("activeDeadlineSeconds (of a later JobSet)", "Not in v1alpha2 of v0.12.", refused="unknown field",
            set="spec.activeDeadlineSeconds=5"),
        Row("exclusive-topology", "Every pod with those of its Job, and away from other Jobs.",
            f"{CASES}[exclusive placement: every pod with its own Job and away from others]",
            'metadata.annotations={"alpha.jobset.sigs.k8s.io/exclusive-topology": rack}'),
        Row("exclusive-topology with node-selector", "The node selector and the toleration of nodes labelled before.",
            f"{CASES}[exclusive placement by node selector]"),
        Row("node-selector alone", "Has no effect without exclusive-topology.", refused="has no effect alone",
            set='metadata.annotations={"alpha.jobset.sigs.k8s.io/node-selector": "true"}'),
        Row("Job completions, parallelism", "Pods of a Job, and how many run at a time.",
            f"{JOBS}::test_pods_are_started_in_turn", f"{_SPEC}.parallelism=1"),
        Row("Job completionMode: NonIndexed", "A work queue where completions is absent.",
            f"{JOBS}::test_a_work_queue_ends_when_the_first_success_and_all_others_have",
            f"{_SPEC}.completionMode=NonIndexed"),
        Row("Job completionMode, restartPolicy absent", "Indexed, OnFailure.",
            f"{READ}::test_absent_fields_have_the_defaults_of_the_webhook"),
        Row("pods without an index", "Have no host name of their own, as there.",
            f"{CASES}[pods without an index have no host name of their own]"),
        Row("Job parallelism or completions of 0", "Refused: such a Job does nothing.",
            refused="completions: 0 is out of range", set=f"{_SPEC}.completions=0"),
        Row("Job parallelism alone, Indexed", "Refused, as by Kubernetes.", refused="states no completions",
            set="spec.replicatedJobs.d.template.spec.parallelism=2"),
        Row("Job backoffLimit", "Failed pods are replaced, 6 times if absent.",
            f"{JOBS}::test_one_failure_more_than_the_backoff_limit_fails_the_job", f"{_SPEC}.backoffLimit=0"),
        Row("Job backoffLimitPerIndex, maxFailedIndexes", "Indexes that are given up one by one.",
            f"{JOBS}::test_more_failed_indexes_than_allowed_fail_the_job_at_once", f"{_SPEC}.backoffLimitPerIndex=1"),
        Row("Job backoffLimitPerIndex with OnFailure", "Refused, as by Kubernetes.",
            refused="backoffLimitPerIndex needs", set="spec.replicatedJobs.d.template.spec.backoffLimitPerIndex=1"),
        Row("Job podFailurePolicy", "FailJob, FailIndex, Ignore, Count by exit code or DisruptionTarget.",
            f"{JOBS}::test_fail_job_names_the_exit_code",
            f"{_SPEC}.podFailurePolicy={{rules: [{{action: FailJob, onExitCodes: {{operator: In, values: [3]}}}}]}}"),
        Row("Job podFailurePolicy by another condition", "Muster keeps no other condition of a failed pod.",
            refused="sees only the condition DisruptionTarget",
            set=f"{_SPEC}.podFailurePolicy={{rules: [{{action: Ignore, onPodConditions: [{{type: Cold}}]}}]}}"),
        Row("Job podFailurePolicy with OnFailure", "Refused, as by Kubernetes.",
            refused="podFailurePolicy needs restartPolicy Never",
            set="spec.replicatedJobs.d.template.spec.podFailurePolicy={rules: [{action: Ignore, onPodConditions: "
            "[{type: DisruptionTarget}]}]}"),
        Row("Job podFailurePolicy: FailIndex alone", "Refused, as by Kubernetes.",
            refused="FailIndex needs backoffLimitPerIndex",
            set=f"{_SPEC}.podFailurePolicy={{rules: [{{action: FailIndex, "
            f"onExitCodes: {{operator: In, values: [3]}}}}]}}"),
        Row("Job podReplacementPolicy", "A pod is replaced when it has ended, in both.",
            f"{JOBS}::test_a_failed_pod_is_replaced_after_a_growing_pause", f"{_SPEC}.podReplacementPolicy=Failed"),
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
        Row("finalizers of the pod template", "A restart would wait for them.", refused="a finalizer keeps a pod",
            set=f"{_SPEC}.template.metadata={{finalizers: [a/b]}}"),
        Row("a Job that Kubernetes refuses", "Refused before a pod is made; there an Event says so again and again.",
            f"{CASES}[invalid template is refused before a pod is made (JobSet: accumulating JobCreationFailed)]"),
        Row("a negative priority", "Runs; `muster lint` warns: JobSet's pod webhook makes such pods invalid.",
            f"{TRAPS}::test_a_negative_priority_is_warned_about", f"{_SPEC}.template.spec.priority=-1"),
        Row("pod restartPolicy: OnFailure, Never", "OnFailure if absent: containers restart in place.",
            f"{JOBS}::test_containers_are_restarted_in_place_up_to_the_backoff_limit",
            f"{_SPEC}.template.spec.restartPolicy=OnFailure"),
        Row("pod restartPolicy: Always", "Refused, as by Kubernetes.", refused="write OnFailure or Never",
            set=f"{_SPEC}.template.spec.restartPolicy=Always"),
        Row("labels, annotations, names, hosts", "Those of its own controller.",
            f"{RUN}::test_a_jobset_runs_to_its_end_with_names_labels_and_status_of_its_own_controller"),
        Row("label jobset-name", "An annotation only: as a label it selects the pods for JobSet's pod webhooks.",
            f"{RUN}::test_a_jobset_runs_to_its_end_with_names_labels_and_status_of_its_own_controller"),
        Row("labels and annotations after a restart", "restart-attempt and job-restart-attempt count.",
            f"{CASES}[labels and annotations of a restarted job]"),
        Row("names that are too long", "Refused.", refused="Kubernetes allows 63", set=f"metadata.name={'t' * 60}"),
        Row("conditions, reasons, counters, order", "As recorded of the real controller.",
            f"{TRACES}::test_the_status_is_that_of_the_controller"),
        Row("RestartingJobSet", "True until all jobs are ready again.", f"{CASES}[restarting condition transitions]"),
        Row("replicatedJobsStatus", "ready, succeeded, failed, active, suspended.",
            f"{CASES}[replicatedJobsStatuses create/update]"),
        Row("an edit of replicatedJobs while it runs", "Said in the status and as an Event; its webhook refuses it.",
            f"{CASES}[immutability: an edit of replicatedJobs while it runs is said (JobSet: refused by the webhook)]"),
        Row("an edit of replicas, parallelism or completions while it runs (ElasticJobSet)",
            "Waits until it was suspended and is resumed, and the status says so.",
            f"{RUN}::test_an_edit_of_how_many_pods_there_are_waits_until_the_jobset_is_suspended"),
        Row("a failurePolicy that is added while it runs", "Judges the next failure.",
            f"{CASES}[a failure policy that is added while it runs]"),
        Row("jobs that still run at the end", "Deleted, after success and after failure.",
            f"{CASES}[active jobs deleted after success]"),
        Row("volumeClaimPolicies while suspended", "The claims are made, as by its own controller.",
            f"{RUN}::test_the_claims_of_a_jobset_that_is_created_suspended_are_made_and_its_pods_are_not"),
        Row("a pod that is lost while musterd is away", "Counts as failed and is replaced, as by the Job controller.",
            f"{JOBS}::test_a_pod_that_went_while_no_daemon_ran_counts_as_failed"),
        Row("Service deleted", "Made again.", f"{CASES}[service deleted => recreated]"),
        Row("generateName", "The Service is named after the JobSet.",
            f"{CASES}[generateName => service named after JobSet]"),
    ),
)  # fmt: skip
