"""The Service, and a pod whose template is the whole PodTemplateSpec of an object of another kind."""

import json
from dataclasses import replace
from typing import Any

from muster.reconcilers.refs import ExperimentRef
from muster.reconcilers.render.objects import render_event, render_service
from muster.reconcilers.render.pod import PodTemplate, render_pod
from muster.state.vocabulary.plan import Plan
from muster.state.vocabulary.pod import Env, Source
from muster.state.vocabulary.record import StoryLine
from muster.state.vocabulary.subject import JAXJOB, Names
from tests.builders import edited
from tests.fakes.plans import UID, gang, member_of

TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"team": "a", "muster.dev/rank": "77"}, "annotations": {"note": "n"}},
    "spec": {
        "restartPolicy": "OnFailure",
        "containers": [
            {"name": "jax", "image": "i", "env": [{"name": "RANK", "value": "x"}, {"name": "ME", "value": "$(RANK)"}]},
            {"name": "side", "image": "s"},
        ],
        "initContainers": [{"name": "init", "image": "s"}],
    },
}


def _plan() -> Plan:
    plan = gang(2, subject=JAXJOB, names=Names.KUBEFLOW, env=(Env("RANK", Source.RANK),))
    group = replace(
        plan.groups[0],
        whole=True,
        template=TEMPLATE,
        labels=(Env("index", Source.RANK),),
        annotations=(Env("kind", Source.LITERAL, "jax"),),
        coordinator_labels=(Env("role", Source.LITERAL, "master"),),
    )
    return replace(plan, groups=(group,))


def test_the_pod_is_the_template_with_the_identity_of_the_member() -> None:
    """Muster's labels win over those of the template."""
    pod = render_pod(_plan(), member_of(_plan(), 1), 2)
    labels = pod["metadata"]["labels"]
    assert (labels["team"], labels["index"], labels["muster.dev/rank"], labels["muster.dev/experiment-uid"]) == (
        "a", "1", "1", UID,
    )  # fmt: skip
    assert pod["metadata"]["annotations"] == {"note": "n", "kind": "jax"}
    assert pod["metadata"]["ownerReferences"][0] | {"uid": ""} == {
        "apiVersion": "kubeflow.org/v1", "kind": "JAXJob", "name": "moe", "uid": "", "controller": True,
        "blockOwnerDeletion": True,
    }  # fmt: skip
    assert (pod["spec"]["hostname"], pod["spec"]["subdomain"]) == ("moe-worker-1", "moe")
    assert pod["spec"]["restartPolicy"] == "OnFailure"


def test_variables_go_to_every_container_and_win_over_those_of_the_template() -> None:
    """The variables come first, so that the template's may refer to them."""
    spec = render_pod(_plan(), member_of(_plan(), 1), 0)["spec"]
    assert [each["env"] for each in spec["containers"]] == [
        [{"name": "RANK", "value": "1"}, {"name": "ME", "value": "$(RANK)"}],
        [{"name": "RANK", "value": "1"}],
    ]
    assert spec["initContainers"][0]["env"] == [{"name": "RANK", "value": "1"}]
    assert "env" not in TEMPLATE["spec"]["containers"][1], "the template itself is never changed"


def test_only_the_coordinators_pod_has_its_labels() -> None:
    """Also if the pods of a group are rendered from one piece of JSON."""
    plan = _plan()
    template = PodTemplate(plan, plan.groups[0], 0)
    for rank in (0, 1):
        member = member_of(plan, rank)
        assert json.loads(template.render(member)) == render_pod(plan, member, 0)
        assert ("role" in render_pod(plan, member, 0)["metadata"]["labels"]) == (rank == 0)


def test_the_service_and_events_name_the_subject() -> None:
    """The Service has the name of the subdomain."""
    plan = edited(_plan(), subdomain="net")
    service = render_service(plan)
    assert service["metadata"]["name"] == "net"
    assert service["metadata"]["ownerReferences"][0]["kind"] == "JAXJob"
    ref = ExperimentRef(plan.namespace, plan.name, plan.uid, plan.subject)
    assert ref.path == "/apis/kubeflow.org/v1/namespaces/lab/jaxjobs/moe"
    event = render_event(ref, StoryLine(1.0, 0, "Started", "it starts"), "musterd-0")
    assert (event["involvedObject"]["apiVersion"], event["involvedObject"]["kind"]) == ("kubeflow.org/v1", "JAXJob")


def test_the_service_is_headless_and_publishes_unready_members() -> None:
    service = render_service(gang())
    assert service["metadata"]["name"] == "moe"
    assert service["metadata"]["ownerReferences"][0]["uid"] == UID
    assert service["spec"] == {
        "clusterIP": "None",
        "publishNotReadyAddresses": True,
        "selector": {"muster.dev/experiment-uid": UID},
        "ports": [{"name": "coordinator", "protocol": "TCP", "port": 1234, "targetPort": 1234}],
    }


def test_without_a_coordinator_the_service_has_no_port() -> None:
    assert "ports" not in render_service(gang(coordinator=None))["spec"]
