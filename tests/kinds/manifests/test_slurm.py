"""A batch script of Slurm is known as one, and the manifest that asks for the same is printed."""

import time

import pytest

from muster.api.manifest.load import load_manifest
from muster.api.manifest.problems import ManifestError
from muster.kinds.manifests import documents
from muster.kinds.manifests.load import load_any
from tests.builders import sure

SCRIPT = """#!/bin/bash
# the usual
#SBATCH --job-name=mingpt
#SBATCH -N 2
#SBATCH --ntasks-per-node=1 --gpus-per-node=a100:8
#SBATCH --cpus-per-task 32   # cores
#SBATCH --mem=256G
#SBATCH --time=1-08:30:00
#SBATCH --partition=long
export MASTER_ADDR=$(hostname)
srun --cpu-bind=none torchrun --nproc-per-node=8 train.py
#SBATCH --nodes=64
"""


def job(*lines: str, command: str = "srun python3 train.py") -> documents.Job:
    return sure(documents.job_of("\n".join(("#!/bin/sh", *(f"#SBATCH {line}" for line in lines), command))))


def test_the_manifest_asks_for_what_the_script_asks_for() -> None:
    with pytest.raises(ManifestError) as refused:
        load_any(SCRIPT, filename="job.sh")
    (problem,) = refused.value.problems
    assert (problem.line, problem.message) == (3, "a batch script of Slurm, not a manifest")
    loaded = load_manifest(refused.value.advice)
    (worker,) = loaded.spec.groups
    assert (loaded.name, loaded.spec.operator, worker.members, worker.resources.gpus) == ("mingpt", "pytorch", 2, 8)
    assert (worker.resources.cpus, worker.resources.memory) == (32, 256)
    assert (loaded.spec.command, loaded.spec.timeout) == ("torchrun --nproc-per-node=8 train.py", "117000s")
    assert "# Not taken over: --partition" in refused.value.advice


@pytest.mark.parametrize(
    ("lines", "members", "gpus"),
    [
        (("-N2", "--gres=gpu:4"), 2, 4),
        (("--nodes=2", "--ntasks-per-node=4", "--gres=gpu:h100:8"), 8, 2),
        (("-n 6",), 6, 0),
        (("-n 6", "--gpus-per-task=1"), 6, 1),
        (("--nodes=2-4", "-G 8"), 2, 4),
        (("--nodes=lots",), 1, 0),
        (("--mem=4G",), 1, 0),
    ],
)
def test_a_member_is_a_task_and_the_gpus_are_its_own(lines: tuple[str, ...], members: int, gpus: int) -> None:
    found = job(*lines)
    assert (found.members, found.gpus) == (members, gpus)
    (worker,) = load_manifest(documents.manifest_of(found)).spec.groups
    assert (worker.members, worker.resources.gpus) == (members, gpus)


@pytest.mark.parametrize(
    ("stated", "seconds"),
    [
        *(("30", 1_800), ("30:15", 1_815), ("8:00:00", 28_800), ("2-12", 216_000), ("2-12:30", 217_800)),
        *(("1-0:0:1", 86_401), ("UNLIMITED", 0), ("0", 0), ("soon", 0)),
    ],
)
def test_the_forms_of_a_time_limit(stated: str, seconds: int) -> None:
    found = job(f"--time={stated}")
    assert found.seconds == seconds
    assert ("timeout" in documents.manifest_of(found)) == (seconds > 0)


def test_another_script_is_advised_to_be_run_as_a_program() -> None:
    for first in ("#!/bin/bash", "#!/usr/bin/env python3"):
        with pytest.raises(ManifestError, match="a script, not a manifest, run it as a program"):
            load_any(f"{first}\n#PBS -l nodes=2\npython3 train.py\n", filename="job.sh")


@pytest.mark.parametrize(
    "line",
    [
        *("--job-name='; rm -rf /", '--job-name=$(x)"\nkind: x', "--nodes=99999999999999999999", "--mem=9999999999T"),
        *("-", "--", "-N", "--time=99999999-99", "\x1b[31m", "--" + "a" * 100_000),
    ],
)
def test_a_hostile_line_makes_no_manifest_that_cannot_be_read(line: str) -> None:
    begun = time.process_time()
    text = documents.manifest_of(job(line, command='srun echo "\x1b[31m\u2028"'))
    assert time.process_time() - begun < 0.5
    load_manifest(text)
