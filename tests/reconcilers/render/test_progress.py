"""The parts of a member from ``spec.progressEndpoint``: the address to report to, and the proof of its pod."""

from dataclasses import replace
from typing import Any

from muster.api.names import ANNOTATION_PROGRESS_CA
from muster.api.progress import MOUNT, audience, status_path
from muster.reconcilers.render.environment import TOKEN_SECONDS, Endpoint, endpoint_variables
from muster.reconcilers.render.pod import render_pod
from muster.state.vocabulary.plan import Plan
from tests.fakes.plans import gang, member_of

ENDPOINT = Endpoint("https://musterd-progress.muster-system.svc:8443", "-----BEGIN CERTIFICATE-----\n…\n")


def pod_of(plan: Plan, endpoint: Endpoint | None = ENDPOINT) -> dict[str, Any]:
    return render_pod(plan, member_of(plan, 0), 0, endpoint=endpoint)


def asking() -> Plan:
    """Return a run that asks for the endpoint."""
    plan = gang()
    (group,) = plan.groups
    return replace(plan, groups=(replace(group, pod=replace(group.pod, progress_endpoint=True)),))


def test_both_alphas_of_the_protocol_find_the_address_of_their_run() -> None:
    plan = asking()
    (container,) = pod_of(plan)["spec"]["containers"]
    given = {each["name"]: each["value"] for each in container["env"] if each["name"].startswith("KUBEFLOW_")}
    address = f"{ENDPOINT.url}{status_path(plan.namespace, plan.name)}"
    files = {"TOKEN": f"{MOUNT}/token", "CA_CERT": f"{MOUNT}/ca.crt"}
    for prefix in ("KUBEFLOW_TRAINER_SERVER_", "KUBEFLOW_TRAINER_STATUS_"):
        assert given[f"{prefix}URL"] == address
        assert {name: given[prefix + name] for name in files} == files
    assert given.items() == endpoint_variables(plan, ENDPOINT).items()


def test_the_token_is_for_that_run_alone_and_its_files_are_read_only() -> None:
    plan = asking()
    pod = pod_of(plan)
    (volume,) = pod["spec"]["volumes"]
    (mount,) = pod["spec"]["containers"][0]["volumeMounts"]
    token, shown = volume["projected"]["sources"]
    assert token["serviceAccountToken"] == {
        "audience": audience(plan.namespace, plan.name),
        "expirationSeconds": TOKEN_SECONDS,
        "path": "token",
    }
    assert mount == {"name": volume["name"], "mountPath": MOUNT, "readOnly": True}
    (item,) = shown["downwardAPI"]["items"]
    assert item["path"] == "ca.crt"
    assert item["fieldRef"]["fieldPath"] == f"metadata.annotations['{ANNOTATION_PROGRESS_CA}']"
    assert pod["metadata"]["annotations"][ANNOTATION_PROGRESS_CA] == ENDPOINT.authority


def test_a_run_that_does_not_ask_and_a_daemon_that_serves_none_change_no_pod() -> None:
    plain = pod_of(gang(), None)
    assert pod_of(gang()) == plain
    assert pod_of(asking(), None) == plain
