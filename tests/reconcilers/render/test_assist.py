"""The additions of ``spec.assist`` and ``spec.progressEndpoint`` to a pod, whose other parts stay unchanged."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from muster.api.names import (
    ANNOTATION_ASSIST,
    ANNOTATION_ASSIST_RECORDER,
    ANNOTATION_ASSIST_WATCH,
    ANNOTATION_ASSIST_WORK,
    ANNOTATION_PROGRESS_CA,
)
from muster.api.progress import MOUNT, audience, status_path
from muster.assist import CODE, FILE, FOLDER, RECORDER_CODE, RECORDER_FILE, WATCH_CODE, WATCH_FILE, WORK_CODE, WORK_FILE
from muster.reconcilers.render.command import PREFIX, arguments_of, assisted, command_of
from muster.reconcilers.render.environment import TOKEN_SECONDS, Endpoint, endpoint_variables
from muster.reconcilers.render.pod import PodTemplate, render_pod
from muster.state.vocabulary.plan import Plan
from tests.fakes.plans import gang, member_of

LARGEST = 256 * 1024
"""Bytes of all annotations of an object (kubernetes: apimachinery/pkg/api/validation, TotalAnnotationSizeLimitB)."""
ADDED = {
    ANNOTATION_ASSIST: CODE,
    ANNOTATION_ASSIST_RECORDER: RECORDER_CODE,
    ANNOTATION_ASSIST_WATCH: WATCH_CODE,
    ANNOTATION_ASSIST_WORK: WORK_CODE,
}
MOST = 60 * 1024
"""Most bytes by which a pod may grow."""


def pod_of(plan: Plan) -> dict[str, Any]:
    return render_pod(plan, member_of(plan, 0), 0)


def templated(plan: Plan, template: dict[str, Any]) -> Plan:
    (group,) = plan.groups
    return replace(plan, groups=(replace(group, template=template),))


def test_the_annotations_are_the_files_of_a_read_only_volume() -> None:
    pod = pod_of(gang(assist=True))
    (container,) = pod["spec"]["containers"]
    (mount,) = container["volumeMounts"]
    (volume,) = pod["spec"]["volumes"]
    items = {each["path"]: each["fieldRef"]["fieldPath"] for each in volume["downwardAPI"]["items"]}
    assert pod["metadata"]["annotations"] == ADDED
    assert mount == {"name": volume["name"], "mountPath": FOLDER, "readOnly": True}
    assert items == {
        FILE: f"metadata.annotations['{ANNOTATION_ASSIST}']",
        RECORDER_FILE: f"metadata.annotations['{ANNOTATION_ASSIST_RECORDER}']",
        WATCH_FILE: f"metadata.annotations['{ANNOTATION_ASSIST_WATCH}']",
        WORK_FILE: f"metadata.annotations['{ANNOTATION_ASSIST_WORK}']",
    }


def test_a_pod_without_it_is_the_pod_of_before() -> None:
    helped, plain = pod_of(gang(assist=True)), pod_of(gang())
    del helped["metadata"]["annotations"], helped["spec"]["volumes"]
    (container,) = helped["spec"]["containers"]
    del container["volumeMounts"]
    container["command"][2] = container["command"][2].removeprefix(PREFIX)
    assert helped == plain


def test_the_template_of_a_group_renders_the_same_pod() -> None:
    plan = gang(assist=True)
    rendered = PodTemplate(plan, plan.groups[0], 3).render(member_of(plan, 2))
    assert json.loads(rendered) == render_pod(plan, member_of(plan, 2), 3)


def test_the_code_is_far_below_what_annotations_may_hold() -> None:
    assert len(json.dumps(pod_of(gang(assist=True)))) - len(json.dumps(pod_of(gang()))) < MOST < LARGEST / 4


def test_annotations_volumes_and_variables_of_a_template_stay() -> None:
    env, mounts = [{"name": "PYTHONPATH", "value": "/app"}], [{"name": "cache", "mountPath": "/cache"}]
    main = {"name": "main", "env": env, "volumeMounts": mounts}
    template = {
        "metadata": {"annotations": {"team": "vision", ANNOTATION_ASSIST: "print('other code')"}},
        "spec": {"volumes": [{"name": "cache", "emptyDir": {}}], "containers": [main]},
    }
    pod = pod_of(templated(gang(assist=True), template))
    (container,) = pod["spec"]["containers"]
    assert pod["metadata"]["annotations"] == {"team": "vision", **ADDED}
    assert [volume["name"] for volume in pod["spec"]["volumes"]] == ["muster-assist", "cache"]
    assert [mount["mountPath"] for mount in container["volumeMounts"]] == [FOLDER, "/cache"]
    assert {"name": "PYTHONPATH", "value": "/app"} in container["env"]


COMMANDS = (
    command_of('echo "$PYTHONPATH"'),
    command_of('sh -c \'printf "%s" "$PYTHONPATH"; echo\' | cat'),
    command_of("export OTHER=1; printenv PYTHONPATH"),
    arguments_of(("printenv", "PYTHONPATH")),
    arguments_of(("/bin/sh", "-c", 'printenv "$1"', "sh", "PYTHONPATH")),
)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    ("image", "seen"),
    [
        ({}, FOLDER),
        ({"PYTHONPATH": ""}, FOLDER),
        ({"PYTHONPATH": "/app:/lib"}, f"{FOLDER}:/app:/lib"),
        ({"PYTHONPATH": "/a b", "MUSTER_VOLUME_MUSTER_ASSIST": "/node/v"}, "/node/v:/a b"),
    ],
)
def test_the_folder_comes_before_what_the_image_has_in_pythonpath(
    command: list[str], image: dict[str, str], seen: str
) -> None:
    variables = {"PATH": os.environ["PATH"], **image}
    wanted = [each.replace("$$", "$") for each in assisted(command)]  # as the kubelet does
    done = subprocess.run(wanted, env=variables, capture_output=True, text=True, check=True, timeout=50)
    assert done.stdout.strip() == seen


def test_a_program_stays_the_first_process_of_its_container(tmp_path: Path) -> None:
    for command in (command_of("python3 main.py"), arguments_of(("ray", "start"))):
        assert assisted(command)[2].split("\n", 1)[1].startswith("exec ")


ENDPOINT = Endpoint("https://musterd-progress.muster-system.svc:8443", "-----BEGIN CERTIFICATE-----\n…\n")


def reporting_pod(plan: Plan, endpoint: Endpoint | None = ENDPOINT) -> dict[str, Any]:
    return render_pod(plan, member_of(plan, 0), 0, endpoint=endpoint)


def asking() -> Plan:
    """Return a run that asks for the endpoint."""
    plan = gang()
    (group,) = plan.groups
    return replace(plan, groups=(replace(group, pod=replace(group.pod, progress_endpoint=True)),))


def test_both_alphas_of_the_protocol_find_the_address_of_their_run() -> None:
    plan = asking()
    (container,) = reporting_pod(plan)["spec"]["containers"]
    given = {each["name"]: each["value"] for each in container["env"] if each["name"].startswith("KUBEFLOW_")}
    address = f"{ENDPOINT.url}{status_path(plan.namespace, plan.name)}"
    files = {"TOKEN": f"{MOUNT}/token", "CA_CERT": f"{MOUNT}/ca.crt"}
    for prefix in ("KUBEFLOW_TRAINER_SERVER_", "KUBEFLOW_TRAINER_STATUS_"):
        assert given[f"{prefix}URL"] == address
        assert {name: given[prefix + name] for name in files} == files
    assert given.items() == endpoint_variables(plan, ENDPOINT).items()


def test_the_token_is_for_that_run_alone_and_its_files_are_read_only() -> None:
    plan = asking()
    pod = reporting_pod(plan)
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
    plain = reporting_pod(gang(), None)
    assert reporting_pod(gang()) == plain
    assert reporting_pod(asking(), None) == plain
