"""``torchrun`` takes the variables of the pytorch operator for its options, and the page's program runs under it."""

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

from muster.api.manifest.experiment import parse_experiment
from muster.kinds.experiments import plan_of
from muster.reconcilers.render.pod import render_pod
from tests.docs.commands import ROOT
from tests.docs.pages import blocks
from tests.examples.table import BY_NAME
from tests.frameworks.interpreters import python_of, reason_without

PROGRAM = """
import json
from torch.distributed.run import config_from_args, parse_args

config, _, _ = config_from_args(parse_args(["--redirects", "0", "--tee", "0", "train.py"]))
print(json.dumps([config.min_nodes, config.max_nodes, config.nproc_per_node, config.rdzv_backend,
                  config.rdzv_endpoint, config.rdzv_configs["rank"]]))
"""


@pytest.mark.cluster
@pytest.mark.timeout(120)
@pytest.mark.skipif(python_of("torch") is None, reason=reason_without("torch"))
def test_torchrun_reads_the_variables_of_a_pod() -> None:
    document = BY_NAME["pytorch"].document(BY_NAME["pytorch"].path.parent)
    spec = document["spec"]
    spec["types"]["worker"]["resources"]["accelerators"] = {"gpu": {"count": 4, "type": "gpu"}}
    metadata = {"uid": "u", "name": "run", "namespace": "team", "generation": 1, "resourceVersion": "1"}
    plan = plan_of(parse_experiment({"metadata": metadata, "spec": spec}))
    member = plan.member(2)
    assert member is not None
    (container,) = render_pod(plan, member, 0)["spec"]["containers"]
    variables = {env["name"]: str(env["value"]) for env in container["env"] if "value" in env}
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | variables
    command = [str(python_of("torch")), "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    host = variables["MASTER_ADDR"]
    read = json.loads(done.stdout.splitlines()[-1])
    assert read == [3, 3, 4, "static", f"{host}:23456", 2]


def run_page(program: Path) -> list[str]:
    """Run the program as two processes of one pod, with torchrun's variables, and return what each has printed."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    shared = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}
    own = {"MUSTER_EXPERIMENT": "ddp", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "CUDA_VISIBLE_DEVICES": ""}
    processes = [
        subprocess.Popen(
            [str(python_of("torch")), str(program)],
            env={**os.environ, **shared, **own, "RANK": rank, "LOCAL_RANK": rank},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in "01"
    ]
    printed = [each.communicate()[0] for each in processes]
    assert [each.returncode for each in processes] == [0, 0]
    return printed


@pytest.mark.cluster
@pytest.mark.timeout(120)
@pytest.mark.skipif(python_of("torch") is None, reason=reason_without("torch"))
def test_the_program_of_the_page_trains_and_resumes(tmp_path: Path) -> None:
    (code,) = (each.body for each in blocks(ROOT / "docs/operators/pytorch.md") if each.kind == "python")
    assert code.count("/mnt/checkpoints") == 1
    program = tmp_path / "train.py"
    program.write_text(code.replace("/mnt/checkpoints", str(tmp_path)))
    assert run_page(program) == ["from step 0\n"] * 2
    assert (tmp_path / "ddp" / "newest.pt").exists()
    assert run_page(program) == ["from step 1000\n"] * 2
