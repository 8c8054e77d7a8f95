"""The submitter's program, with a Ray that remembers what it was given."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from muster.api.names import RAY_RUNTIME_ENV
from muster.kinds.ray.start import SUBMIT

RAY = """
import json
from types import SimpleNamespace


class Status(str):
    def is_terminal(self):
        return True


class JobSubmissionClient:
    def __init__(self, address):
        self.submitted = False

    def get_job_info(self, job):
        return SimpleNamespace(status=Status("SUCCEEDED")) if self.submitted else None

    def submit_job(self, **given):
        self.submitted = True
        print(json.dumps(given))

    async def tail_job_logs(self, job):
        yield "the log of the job\\n"
"""


@pytest.mark.parametrize(("variable", "given"), [({}, {}), ({"env_vars": {"A": "b"}}, {"env_vars": {"A": "b"}})])
def test_the_runtime_environment_of_the_template_is_handed_to_ray(
    tmp_path: Path, variable: dict[str, object], given: dict[str, object]
) -> None:
    (tmp_path / "ray").mkdir()
    (tmp_path / "ray" / "__init__.py").touch()
    (tmp_path / "ray" / "job_submission.py").write_text(RAY)
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(tmp_path),
        "RAY_DASHBOARD_ADDRESS": "head:8265",
        "RAY_JOB_SUBMISSION_ID": "tuning-0",
        **({RAY_RUNTIME_ENV: json.dumps(variable)} if variable else {}),
    }
    words = [sys.executable, "-c", SUBMIT, "python3 main.py"]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True)
    first, log = done.stdout.splitlines()
    assert json.loads(first) == {
        "entrypoint": "/bin/sh -c 'python3 main.py'",
        "submission_id": "tuning-0",
        "runtime_env": given,
    }
    assert log == "the log of the job"
