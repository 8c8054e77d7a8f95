"""The core: situations that no cheaper world asks, of those that are quickest and say most.

CI plays them at each change, beside the other tests; the nightly plays all.
What the simulation, a smoke test or a stand-in asks as truly is not among them.
"""

from collections.abc import Mapping, Sequence

import pytest

CORE = {
    "the API server evaluates our policies, and the rules of the kind": {
        "test_admission.py::test_the_most_accelerators_of_an_experiment_are_counted_over_all_forms_of_types",
        "test_admission.py::test_labels_are_needed_and_an_older_experiment_can_still_be_cancelled",
        "test_admission.py::test_images_of_other_registries_are_refused_in_the_experiment_and_in_its_pods",
        "test_kind.py::test_every_cel_rule_refuses_through_kubectl_what_it_should",
        "test_kind.py::test_kubectl_prints_and_explains_experiments",
        "test_kind.py::test_a_status_cannot_be_written_through_the_spec",
    },
    "the API server validates and admits pods": {
        "test_pod_templates.py::test_a_pod_with_a_full_template_is_admitted_as_rendered",
        "test_pod_templates.py::test_a_template_cannot_be_added_changed_or_removed",
        "test_pod_templates.py::test_a_misspelt_field_deep_in_a_template_rejects_the_pod",
        "test_pod_templates.py::test_pod_security_admits_what_the_page_says[privileged]",
        "test_pod_templates.py::test_pod_security_admits_what_the_page_says[baseline]",
        "test_pod_templates.py::test_pod_security_admits_what_the_page_says[restricted]",
        "test_refusals.py::test_a_quota_is_said_and_its_raise_lets_the_gang_in",
        "test_refusals.py::test_pod_security_restricted_is_said",
    },
    "RBAC and reviews of access": {
        "test_readers.py::test_pages_and_metrics_are_for_readers_with_the_rights",
        "test_meddling.py::test_a_reader_of_experiments_sees_what_he_may",
        "test_stacks.py::test_stacks_need_the_right_to_execute_commands_which_edit_has_and_view_has_not",
        "test_port_forward.py::test_a_port_of_a_member_is_carried_through_the_api_server",
        "test_servers.py::test_without_the_right_on_finalizers_pods_are_refused",
        "test_chart.py::test_a_release_runs_an_experiment_under_its_rights[one namespace]",
        "test_chart.py::test_view_edit_and_admin_reach_experiments",
    },
    "the API server accepts what the chart renders": {
        "test_chart.py::test_the_api_server_accepts_every_rendering_strictly[with our fields]",
    },
    "the scheduler and the controllers place, evict and collect pods": {
        "test_nodes.py::test_an_unschedulable_member_is_said_in_the_schedulers_words",
        "test_nodes.py::test_a_preempted_member_is_a_disruption",
        "test_nodes.py::test_an_evicted_pod_is_a_disruption",
        "test_nodes.py::test_a_lost_node_is_a_disruption_and_its_return_lets_the_gang_start",
        "test_life.py::test_a_name_used_again_is_another_experiment",
        "test_meddling.py::test_a_pod_without_its_owner_reference_goes_with_its_experiment",
        "test_meddling.py::test_the_gang_ends_while_a_finalizer_holds_its_deleted_experiment",
        "test_watched.py::test_jobs_of_the_real_controller_are_watched_over_and_only_the_one_that_asks_is_ended",
    },
    "the API server and etcd are away, compacted and restored": {
        "test_servers.py::test_the_api_server_is_away_while_a_rank_fails",
        "test_servers.py::test_history_is_compacted_while_musterd_cannot_reach_the_server",
        "test_servers.py::test_a_terminating_namespace_is_said",
        "test_restored.py::test_etcd_is_restored_and_each_run_goes_on_from_what_the_backup_says[copied back]",
    },
    "one gang from its creation to a charged restart": {
        "test_scenarios.py::test_a_scenario_is_said_and_charged_as_it_states[member-fails]",
    },
}
"""By what only this world has."""


def mark(items: Sequence[pytest.Item], tests: str, core: Mapping[str, set[str]]) -> None:
    """Add the mark ``core`` to the tests of a folder that the table has."""
    chosen = {f"{tests}/situations/{name}" for names in core.values() for name in names}
    for item in items:
        if item.nodeid in chosen:
            item.add_marker(pytest.mark.core)
