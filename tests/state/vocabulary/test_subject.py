"""The subject of a plan, and the names of its members."""

from muster.api.names import name_suffix
from muster.state.vocabulary.subject import EXPERIMENT, JAXJOB, JOBSET, Names
from tests.builders import plan, sure


def test_a_plan_is_of_an_experiment_unless_it_says_otherwise() -> None:
    """The subject is in owner references, paths and Events."""
    assert plan().subject == EXPERIMENT
    assert [each.path for each in (EXPERIMENT, JOBSET, JAXJOB)] == [
        "/apis/muster.dev/v1alpha1/experiments",
        "/apis/jobset.x-k8s.io/v1alpha2/jobsets",
        "/apis/kubeflow.org/v1/jaxjobs",
    ]


def test_pods_of_other_kinds_have_the_host_names_of_their_own_controller() -> None:
    """The pods' names still differ per epoch and attempt."""
    shapes = {}
    for names in (Names.MUSTER, Names.JOBSET, Names.KUBEFLOW):
        wanted = plan(names=names)
        member = sure(wanted.member(2))
        suffix = name_suffix("uid-1", 3)
        shapes[names] = (
            wanted.pod_name(member, 3).replace(suffix, "*"),
            wanted.hostname(member, 3).replace(suffix, "*"),
        )
        assert wanted.pod_name(member, 3) != wanted.pod_name(member, 4)
        assert wanted.pod_name(member, 3, 1) != wanted.pod_name(member, 3)
        assert wanted.named(wanted.pod_name(member, 3), 2, 3) == member
    assert shapes == {
        Names.MUSTER: ("run-worker-0-2-*", "worker-0-2-*"),
        Names.JOBSET: ("run-worker-0-2-*", "run-worker-0-2"),
        Names.KUBEFLOW: ("run-worker-2-*", "run-worker-2"),
    }


def test_a_member_of_a_watched_run_is_called_by_its_place() -> None:
    """Its pod has the name that its own controller gave it."""
    wanted = plan(names=Names.WATCHED)
    member = sure(wanted.member(2))
    assert wanted.pod_name(member, 3) == wanted.pod_name(member, 4) == "run-worker-0-2"


def test_the_subdomain_is_the_name_unless_the_plan_says_otherwise() -> None:
    """JobSet's ``network.subdomain``."""
    assert plan(names=Names.JOBSET).coordinator_address(0) == "run-worker-0-0.run:1234"
    assert plan(names=Names.JOBSET, subdomain="net").coordinator_address(0) == "run-worker-0-0.net:1234"
