"""JobSet (jobset.x-k8s.io/v1alpha2): its fields and rules. The rows of Jobs and runs are in ``jobset_runs``."""

from typing import Final

from tests.compatibility.jobset_runs import CASES, JOBS_AND_RUNS, READ, RUN, TRAPS
from tests.compatibility.row import Row, Section

_JOB: Final = "spec.replicatedJobs.w"
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
        *JOBS_AND_RUNS,
    ),
)  # fmt: skip
