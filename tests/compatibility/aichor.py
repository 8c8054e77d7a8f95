"""AIchorManifest 0.2.3: its fields and what a member finds at run time."""

from typing import Final

from tests.compatibility.row import Row, Section

CORPUS: Final = "tests/api/test_manifest_corpus.py"
RULES: Final = "tests/api/test_manifest_rules.py"
POD: Final = "tests/reconcilers/render/test_pod.py"
COMMAND: Final = "tests/reconcilers/render/test_command.py"
OPERATORS: Final = "tests/kinds/test_operators.py"
RAY: Final = "tests/kinds/ray/test_kuberay.py"
_TYPE: Final = "spec.types.worker"
_ASKED: Final = f"{_TYPE}.resources"

BASE: Final = """\
kind: AIchorManifest
apiVersion: 0.2.3
spec:
  operator: jax
  image: i
  command: c
  types:
    worker: {count: 2, resources: {cpus: 1, ramRatio: 2}}
"""
_COMPLETIONS: Final = f"{_TYPE}={{completions: 2, resources: {{cpus: 1, memory: 1}}}}"
_JUPYTER: Final = (
    "spec={operator: kuberay, image: i, command: c, debug: {jupyter: true}, "
    "types: {Head: {resources: {cpus: 1, memory: 1}}, Workers: []}}"
)
_IGNORED: Final = f"{RULES}::test_fields_of_aichors_build_service_are_checked_and_ignored"

AICHOR: Final = Section(
    "AIchorManifest",
    "Versions 0.2.1 to 0.2.3 are read by one set of models: `apiVersion` selects nothing, as on AIchor.",
    BASE,
    (
        Row("kind, apiVersion", "May be left out; 0.2.1, 0.2.2 and 0.2.3 are read alike.",
            f"{RULES}::test_the_spec_is_checked_field_by_field", "apiVersion=0.2.1"),
        Row("apiVersion of another version", "Refused by name.", refused="0.2.3", set="apiVersion=0.3.0"),
        Row("name", "Begins the name of the experiment; what cannot name an object is replaced, with a warning.",
            f"{RULES}::test_an_invalid_name_is_replaced_by_the_nearest_valid_one_with_a_warning", "name=My run"),
        Row("builder.*", "Checked and ignored: the image must exist. `builder.image` must be `spec.image`.", _IGNORED,
            "builder={image: i, buildArgs: {a: true}}"),
        Row("builder.image that differs", "Refused, as on AIchor.", refused="is not spec.image",
            set="builder={image: other}"),
        Row("clone.*", "Checked and ignored: the image holds the program.", _IGNORED, "clone={depth: 1}"),
        Row("engineName, spec.engineName", "Ignored with a warning: the context of the kubeconfig names the cluster.",
            _IGNORED, "spec.engineName=north"),
        Row("spec.operator", "jax, jobset, kuberay, pytorch, xgboost.",
            f"{RULES}::test_each_operator_has_its_types"),
        *(
            Row(f"spec.operator: {name}", "The nearest operator is named.", refused="does not run the operator",
                set=f"spec.operator={name}")
            for name in ("tf", "batchjob", "ray", "slurm", "vertexai")
        ),
        Row("spec.image", "The image of every member.",
            f"{POD}::test_resources_volumes_and_placement_come_from_the_group"),
        Row("spec.command", "One line for a shell; its program gets the signals.",
            f"{COMMAND}::test_the_program_hears_sigterm_and_its_end_is_waited_for", "spec.command=a && b | c"),
        Row("no command", "Refused.", refused="a required field is missing", set="spec.command="),
        Row("no image, operator or types", "Refused, as on AIchor.", refused="a required field is missing",
            set="spec={operator: jax, command: c, types: {worker: {resources: {cpus: 1, memory: 1}}}}"),
        Row("no resources of a type", "Refused, as on AIchor.", refused="a required field is missing",
            set="spec.types={worker: {count: 1}}"),
        Row("spec.env", "Refused, as on AIchor; a template of kind: Experiment has variables.",
            refused="env: unknown field", set="spec={operator: jax, image: i, command: c, env: [], types: {worker: "
            "{resources: {cpus: 1, memory: 1}}}}"),
        Row("spec.rayVersion", "kuberay: which probes and defaults of Ray hold.",
            f"{RAY}::test_the_groups_are_the_head_the_workers_as_written_and_the_submitter"),
        Row("spec.rayVersion elsewhere", "Refused.", refused="rayVersion is only for operator kuberay",
            set="spec.rayVersion=2.46.0"),
        Row("spec.timeout", "The longest duration of the whole experiment, in w d h m s.",
            "tests/state/policies/test_deadline.py::test_the_total_clock_fails_the_experiment",
            "spec.timeout=1w 2d 5h 6m 20s"),
        Row("spec.timeout of other units", "Refused.", refused="is not a unit", set="spec.timeout=5x"),
        Row("spec.activeDeadlineSeconds", "The same in seconds; timeout wins.",
            f"{RULES}::test_timeout_wins_over_the_deadline_in_seconds", "spec.activeDeadlineSeconds=60"),
        Row("spec.tensorboard", "The claim is mounted where it is wanted.",
            f"{OPERATORS}::test_tensorboards_claim_is_mounted_where_it_is_wanted",
            "spec.tensorboard={enabled: true, usePVC: {enabled: true, name: boards}}"),
        Row("spec.storage.attachExistingPVCs", "Mounted into every member.",
            f"{OPERATORS}::test_everything_that_can_be_said_is_in_the_plan",
            "spec.storage.attachExistingPVCs=[{name: data, mountPoint: /data}]"),
        Row("spec.storage.sharedVolume", "A claim of its own, mounted into every member and removed with it.",
            f"{OPERATORS}::test_a_shared_volume_is_a_claim_of_its_own_that_every_group_mounts",
            "spec.storage={sharedVolume: {mountPoint: /shared, sizeGB: 1, accessMode: ReadWriteMany}}"),
        Row("spec.debug.vscode", "A tunnel in place of the command, for 12 hours at most.",
            "tests/kinds/test_debug.py::test_a_tunnel_takes_the_place_of_the_command_in_each_member",
            "spec.debug={vscode: {enabled: true}}"),
        Row("spec.debug.jupyter", "kuberay: a server as the job that is submitted, for 12 hours at most.",
            "tests/kinds/test_debug.py::test_a_jupyter_server_is_the_job_that_the_submitter_submits",
            _JUPYTER),
        Row("spec.debug: how long", "12 hours at most, and no restart.",
            "tests/kinds/test_debug.py::test_it_runs_for_12_hours_at_most_and_is_not_restarted"),
        Row("spec.securityContext.ptrace", "Adds one capability.", f"{POD}::test_ptrace_adds_one_capability",
            "spec.securityContext.ptrace=true"),
        Row("spec.gracefulTermination", "The grace period, and a command before it.",
            f"{OPERATORS}::test_a_shutdown_command_alone_keeps_the_usual_grace",
            "spec.gracefulTermination={terminationGracePeriodSeconds: 5, shutdownCommand: [a]}"),
        Row("spec.restartPolicy.backoffLimit", "Restarts of the gang, 3 if absent.",
            "tests/state/policies/failures/test_failure.py::test_the_budget_decides",
            "spec.restartPolicy.backoffLimit=0"),
        Row("spec.debug.jupyter elsewhere than kuberay", "Refused, as on AIchor.",
            refused="jupyter is only for operator kuberay", set="spec.debug={jupyter: true}"),
        Row("types.T.count", "0 or more; absent: 1, and 0 for workers of kuberay.",
            f"{RULES}::test_a_missing_count_is_one_and_zero_for_ray_workers", f"{_TYPE}.count=0"),
        Row("types.T.count: -1", "Refused, as on AIchor.", refused="-1 is out of range", set=f"{_TYPE}.count=-1"),
        Row("types.T.completions, parallelisms", "jobset: pods of each job, and how many at a time; 1 if absent.",
            f"{CORPUS}::test_a_type_of_a_jobset_has_count_times_completions_members"),
        Row("completions elsewhere", "Refused.", refused="unknown field", set=_COMPLETIONS),
        Row("types Master and Worker (0.2.2)", "Read with a warning; Master holds rank 0.",
            f"{CORPUS}::test_master_and_worker_of_the_same_size_become_one_group"),
        Row("types Worker for worker", "Read with a warning.",
            f"{CORPUS}::test_older_spellings_load_with_a_warning_that_shows_the_new_form"),
        Row("types of jobset", "Free names; ranks go by name.",
            f"{OPERATORS}::test_ranks_of_a_jobset_do_not_depend_on_the_written_order_of_its_types"),
        Row("types of jobset of other names", "Refused, as on AIchor.", refused="is not lower-case letters",
            set="spec={operator: jobset, image: i, command: c, types: {1_A: {resources: {cpus: 1, memory: 1}}}}"),
        Row("types of jobset: none", "Refused, as on AIchor.", refused="spec.types: it is empty",
            set="spec={operator: jobset, image: i, command: c, types: {}}"),
        Row("types Workers of one name", "Refused.", refused="is used twice",
            set="spec={operator: kuberay, image: i, command: c, types: {Head: {resources: {cpus: 1, memory: 1}}, "
            "Workers: [{name: a, resources: {cpus: 1, memory: 1}}, {name: a, resources: {cpus: 1, memory: 1}}]}}"),
        Row("types Head and Workers", "kuberay: one head, and named groups of workers.",
            f"{RAY}::test_the_groups_are_the_head_the_workers_as_written_and_the_submitter"),
        Row("resources.cpus, cpuLimitRatio", "Request, and its limit as a multiple: 1 and 2 if absent.",
            f"{OPERATORS}::test_memory_is_requested_and_limited_alike_and_cpus_may_burst", f"{_ASKED}.cpuLimitRatio=1"),
        Row("resources.ramRatio or memory", "GB per CPU, or GB; exactly one of the two.",
            f"{RULES}::test_every_field_of_resources_is_checked"),
        Row("neither ramRatio nor memory", "Refused, as on AIchor.", refused="neither ramRatio nor memory",
            set=f"{_ASKED}={{cpus: 1}}"),
        Row("both ramRatio and memory", "Refused, as on AIchor.", refused="both ramRatio and memory",
            set=f"{_ASKED}.memory=2"),
        Row("resources.shmSizeGB", "A memory volume at /dev/shm; 0 is the usual one.",
            f"{OPERATORS}::test_devices_are_requested_and_limited_and_placed", f"{_ASKED}.shmSizeGB=1"),
        Row("accelerators.gpu", "Count and model; a count of 0 asks for none.",
            f"{OPERATORS}::test_no_gpus_ask_for_no_model", f"{_ASKED}.accelerators={{gpu: {{count: 0, product: T4}}}}"),
        Row("accelerators.tpu", "A slice per count: a job of its hosts.",
            f"{OPERATORS}::test_a_tpu_slice_is_a_job_of_its_hosts",
            f"{_ASKED}.accelerators={{tpu: {{type: a, topology: 4x4, tpuChipsCount: 4}}}}"),
        Row("extraSelectors, extraTolerations", "Node labels and tolerations, such as those of spot machines.",
            f"{OPERATORS}::test_tolerations_say_nothing_with_empty_words",
            f"{_ASKED}.extraSelectors={{karpenter.sh/capacity-type: spot}}"),
        Row("rdma.devices", "One of each device for every member.",
            f"{OPERATORS}::test_devices_are_requested_and_limited_and_placed", f"{_ASKED}.rdma={{devices: [sriov_a]}}"),
        Row("rayStartParams", "Override the documented defaults; null, bare and dropped flags as in KubeRay.",
            "tests/kinds/ray/test_ray_start.py::test_a_parameter_adds_to_the_defaults_or_overrides_one"),
        Row("rayStartParams that would break the cluster", "Refused with the reason.",
            "tests/kinds/ray/test_ray_start.py::test_what_would_break_the_cluster_is_refused_with_a_reason"),
        Row("a misspelt key beside gpu.count", "Ignored with a warning, as on AIchor.",
            f"{CORPUS}::test_a_misspelt_gpu_count_is_a_warning_and_requests_no_gpu"),
        Row("any other unknown field", "Refused, with the nearest name.", refused="did you mean timeout?",
            set="spec={operator: jax, image: i, command: c, timeuot: 5m, types: {}}"),
        Row("variables of jax", "JAXOPERATOR_COORDINATOR_HOST, _ADDRESS, _NUM_PROCESSES, _PROCESS_ID; port 1234.",
            f"{OPERATORS}::test_jax_ranks_find_rank_zero_by_address"),
        Row("variables of jobset", "JOB_COMPLETION_INDEX, JOB_INDEX, GLOBAL_REPLICAS, JOB_GLOBAL_INDEX, "
            "REPLICATED_JOB_NAME, REPLICATED_JOB_REPLICAS.",
            f"{OPERATORS}::test_a_jobset_is_groups_of_jobs_of_pods_that_meet_nowhere"),
        Row("variables of pytorch and xgboost", "MASTER_ADDR, MASTER_PORT (23456, 9999), WORLD_SIZE, RANK.",
            f"{OPERATORS}::test_pytorch_and_xgboost_meet_at_the_master"),
        Row("variables of kuberay", "RAY_ADDRESS, RAY_PORT, RAY_CLUSTER_NAME, KUBERAY_GEN_RAY_START_CMD and others.",
            f"{RAY}::test_the_variables_are_those_of_kuberay_and_aichor"),
        Row("WORKER_ADDRS, WORKER_PORT", "Not set, as on AIchor since it runs xgboost by JobSet.",
            f"{OPERATORS}::test_pytorch_and_xgboost_have_no_addresses_of_workers"),
        Row("variables AICHOR_*, VCS_*, AWS_ENDPOINT_URL", "Not set: they name AIchor's storage and a git commit. A "
            "template sets any of them (`spec.template` of kind: Experiment).",
            f"{OPERATORS}::test_a_template_may_set_the_variables_of_aichors_platform"),
        Row("submitter of kuberay", "A pod of its own runs the command; the experiment succeeds with it.",
            "tests/kinds/ray/test_kuberay_decisions.py::test_the_experiment_succeeds_with_its_submitter"),
        Row("$(VAR) in a command or variable", "Expanded by Kubernetes, as documented.",
            f"{COMMAND}::test_injected_variables_are_expanded_as_kubernetes_documents"),
        Row("a number in quotes", "Refused with the number to write.", refused="remove the quotes: 2",
            set=f"{_TYPE}.count='2'"),
        Row("spaces after values, empty lines at the end", "Read as without them.",
            f"{CORPUS}::test_a_loaded_manifest_can_be_posted_and_reads_back_unchanged"),
        Row("tabs, and wrong indentation", "Refused with line and column.",
            f"{CORPUS}::test_invalid_manifests_are_refused_with_the_expected_messages"),
        Row("steps Waiting, Cloning, Building, Submitting", "Muster runs an image that is there, so it has phases of "
            "its own: Queued, Pending, Assembling, Running, Restarting, Suspended, Succeeded, Failed.",
            "tests/state/vocabulary/test_transitions.py::test_only_the_changes_of_phase_in_the_table_are_made"),
        Row("an experiment that finds no node stays pending", "Is Stuck after 60 s, in the scheduler's words.",
            "tests/state/policies/test_blocked.py::"
            "test_a_member_without_a_node_is_stuck_in_the_schedulers_words_after_60_s"),
        Row("more or less CPU, memory or GPUs than a resource pool allows", "Limits are the cluster's (ResourceQuota, "
            "LimitRange, webhooks): what they refuse is said at once, with their words.",
            "tests/state/policies/test_refusal.py::test_a_refusal_is_said_at_once_and_retried_after_5_to_30_seconds"),
        Row("commit messages that start an experiment", "Not read: `muster submit FILE` does, also in a CI job.",
            "tests/client/test_client.py::test_submitting_a_manifest_creates_an_experiment"),
        Row("aichor-cli", "The verbs of `muster`: submit, run, get, logs, wait, cancel and others.",
            "tests/cli/test_usage.py::test_the_overview_names_every_verb"),
        Row("aichor_experiment_cpu, _memory, _disk, _gpu", "Not exported: cAdvisor, kube-state-metrics and DCGM are "
            "where they come from. Muster exports what they lack: arrivals, phases, restarts, clocks.",
            "tests/metrics/test_collector.py::test_an_assembling_gang_shows_which_members_arrived"),
    ),
)  # fmt: skip
