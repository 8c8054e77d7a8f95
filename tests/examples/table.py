"""The examples: a row for each file under examples/ that a person can run as it is.

``test_examples.py`` runs each on the local cluster, ``tests/real/situations/test_examples.py`` on a real API server.
"""

import contextlib
import os
import sys
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import yaml

from muster.state.vocabulary.subject import EXPERIMENT, JAXJOB, JOBSET, Subject
from tests.frameworks.interpreters import python_of, reason_without

ROOT = Path(__file__).parents[2]
JAX_ON_CPU = {
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=0",
}
"""For programs of jax that run once: XLA compiles them in less time, and starts no threads that wait for work."""


@dataclass(frozen=True, slots=True)
class Example:
    """One example, and what its run prints."""

    name: str
    file: str
    """Below examples/."""
    members: int
    prints: tuple[str, ...]
    """Regular expressions: some line of some member fits each."""
    same: tuple[str, ...] = ()
    """Regular expressions whose first group has one value in all lines: what the ranks must agree on."""
    framework: str = ""
    """What ``tests.frameworks.interpreters`` knows; empty: the interpreter of the tests has all that it needs."""
    module: str = ""
    """A module that the interpreter of the tests may lack; without it the example is skipped."""
    arguments: str = ""
    """Added to the command; ``{scratch}`` is a folder of the test."""
    environment: dict[str, str] = field(default_factory=dict)
    serving: int = 0
    """How many of the members serve the others, and are stopped when these have succeeded."""
    as_root: str = ""
    """Why it runs only for root; empty: it runs for every user."""
    subject: Subject = EXPERIMENT
    """The kind of object in the file. A manifest is an Experiment."""

    @property
    def object(self) -> bool:
        """The file holds an object of another API, which is run as it is."""
        return self.subject != EXPERIMENT

    @property
    def path(self) -> Path:
        """The file."""
        return ROOT / "examples" / self.file

    @property
    def search_path(self) -> str:
        """PATH with the programs of the framework first: a Ray node starts ``ray`` from there."""
        python = python_of(self.framework) if self.framework else None
        return f"{python.parent}{os.pathsep}{os.environ['PATH']}" if python else os.environ["PATH"]

    @property
    def skipped(self) -> str:
        """Why this machine cannot run it; empty: it can."""
        if self.framework and (reason := reason_without(self.framework)):
            return reason
        if self.module and find_spec(self.module) is None:
            return f"{self.module} is not installed"
        return self.as_root if os.geteuid() != 0 else ""

    def document(self, scratch: Path) -> dict[str, Any]:
        """The manifest, with an interpreter that has the framework, and the arguments."""
        found: dict[str, Any] = yaml.safe_load(self.path.read_text(encoding="utf-8"))
        python = python_of(self.framework) if self.framework else sys.executable
        if self.object:
            for container in containers_of(found):
                container["command"][0] = python
            return found
        command = found["spec"]["command"].replace("python3 ", f"{python or 'python3'} ", 1)
        found["spec"]["command"] = f"{command} {self.arguments.format(scratch=scratch)}".rstrip()
        return found


def containers_of(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The containers of each pod template of a JobSet or JAXJob."""
    return [each for spec in pod_specs_of(found) for each in spec["containers"]]


def pod_specs_of(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The spec of each pod template of a JobSet or JAXJob."""
    spec = found["spec"]
    replicas = [each["template"] for each in spec.get("jaxReplicaSpecs", {}).values()]
    jobs = [each["template"]["spec"]["template"] for each in spec.get("replicatedJobs", ())]
    return [template["spec"] for template in (*replicas, *jobs)]


def process_of(argument: str, *variables: str) -> int:
    """The Python program with that argument, and with these variables as ``NAME=VALUE``."""
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (path / "cmdline").read_bytes().split(b"\0")
            known = {*(path / "environ").read_bytes().split(b"\0")}
            if os.fsencode(argument) in words and {*map(os.fsencode, variables)} <= known and b"-c" not in words:
                return int(path.name)
    raise AssertionError(f"no process with {argument} and {variables}")


EXAMPLES = (
    Example(
        "jax",
        "jax/manifest.yaml",
        4,
        (r"4 processes, 4 devices, from step 0", r"done, loss \d"),
        module="jax",
        arguments="--steps 40 --pace 0 --checkpoints {scratch}",
        environment=JAX_ON_CPU,
    ),
    Example(
        "pytorch",
        "pytorch/manifest.yaml",
        3,
        (r"3 processes, from step 0", *(rf"rank {rank}: done, weights " for rank in range(3))),
        same=(r"rank \d: done, weights (\S+)",),
        framework="torch",
        arguments="--checkpoints {scratch}",
        environment={"OMP_NUM_THREADS": "1"},
    ),
    Example(
        "xgboost",
        "xgboost/manifest.yaml",
        3,
        tuple(rf"rank {rank} of 3: model [0-9a-f]{{16}}, loss 0\.\d+" for rank in range(3)),
        same=(r"rank \d of 3: model ([0-9a-f]{16}), loss 0", r"loss (0\.\d+)"),
        framework="xgboost",
    ),
    Example(
        "jobset",
        "jobset/manifest.yaml",
        25,
        (
            r"REPLICATED_JOB_NAME=master .*JOB_GLOBAL_INDEX=0 GLOBAL_REPLICAS=7: there are 7 jobs",
            (
                r"REPLICATED_JOB_NAME=worker REPLICATED_JOB_REPLICAS=5 JOB_INDEX=4 JOB_COMPLETION_INDEX=3 "
                r"JOB_GLOBAL_INDEX=5 GLOBAL_REPLICAS=7: part 19 is \d+"
            ),
            (
                r"REPLICATED_JOB_NAME=worker-2 REPLICATED_JOB_REPLICAS=1 JOB_INDEX=0 JOB_COMPLETION_INDEX=3 "
                r"JOB_GLOBAL_INDEX=6 GLOBAL_REPLICAS=7: part 3 is \d+"
            ),
        ),
    ),
    Example(
        "ray",
        "ray/manifest.yaml",
        5,
        (
            r"the parameter server is on group server\b",
            r"gradients come from group worker\b",
            r"step 19: y = \S+ x \+ \S+",
            r"^done$",
        ),
        framework="ray",
        serving=4,
        as_root="each Ray node has a network namespace of its own, which only root can make",
    ),
    Example(
        "jobset-object",
        "jobset-object/jobset.yaml",
        3,
        (r"worker 1 breaks in the first run", r"worker 0 called, \d of 2", r"worker 1 called, \d of 2"),
        subject=JOBSET,
    ),
    Example(
        "jaxjob",
        "jaxjob/jaxjob.yaml",
        2,
        (r"round 4: the sum over 2 processes is 9", r"\bdone$"),
        module="jax",
        environment=JAX_ON_CPU,
        subject=JAXJOB,
    ),
)
BY_NAME = {each.name: each for each in EXAMPLES}
