"""The core on real nodes; see ``tests.real.core``."""

CORE = {
    "DNS, networks and their policies": {
        "test_at_work.py::test_members_find_each_other_through_the_clusters_dns",
        "test_network.py::test_a_policy_keeps_a_foreign_pod_out",
        "test_network.py::test_a_policy_that_forbids_the_coordinators_port_is_said",
        "test_network.py::test_a_policy_that_forbids_members_to_meet",
    },
    "what a kubelet writes of a pod that does not start": {
        "test_cannot_start.py::test_a_member_that_cannot_start_is_said_in_the_kubelets_words[tag]",
        "test_cannot_start.py::test_a_member_that_cannot_start_is_said_in_the_kubelets_words[secret]",
        "test_cannot_start.py::test_a_member_that_cannot_start_is_said_in_the_kubelets_words[init]",
        "test_cannot_start.py::test_a_start_that_fails_is_charged_to_the_experiment[shell]",
        "test_cannot_start.py::test_a_start_that_fails_is_charged_to_the_experiment[hook]",
    },
    "what a kubelet writes of the end of a program": {
        "test_ends.py::test_the_end_of_a_rank_is_named_and_charged[oom]",
        "test_ends.py::test_the_end_of_a_rank_is_named_and_charged[liveness]",
        "test_ends.py::test_a_checkpoint_is_saved_within_the_grace_period",
    },
    "containers": {
        "test_at_work.py::test_a_container_has_no_more_rights_than_it_needs",
        "test_at_work.py::test_exec_and_logs_go_through_the_kubelet",
        "test_at_work.py::test_an_image_is_pulled_with_the_right_secret",
        "test_at_work.py::test_stacks_of_containers[py-spy]",
    },
    "nodes": {
        "test_nodes.py::test_drain_is_a_disruption",
        "test_nodes.py::test_a_kubelet_that_is_started_again_disturbs_nothing",
    },
    "Muster in pods, as its chart installs it": {
        "test_chart.py::test_two_replicas_run_as_the_strictest_profile_wants",
        "test_chart.py::test_the_page_and_the_metrics_are_for_those_with_a_token",
    },
}
"""By what only this world has."""
