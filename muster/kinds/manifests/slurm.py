"""A batch script of Slurm as the beginning of a manifest: what its ``#SBATCH`` lines ask for, and what they leave open.

Options: sbatch(1). Slurm reads them before the first command. A task of Slurm, which ``srun`` starts, is a member.
"""

import json
import re
import shlex
from dataclasses import dataclass
from math import ceil
from typing import Final

MOST: Final = 256
"""Lines that are looked at, and characters of an option's value."""
SHORT: Final = {"N": "nodes", "n": "ntasks", "c": "cpus-per-task", "t": "time", "J": "job-name", "G": "gpus"}
TAKEN: Final = frozenset(
    (
        *SHORT.values(),
        *("ntasks-per-node", "gpus-per-node", "gpus-per-task", "gres", "mem", "mem-per-cpu"),
    )
)
IMAGE: Final = "registry.example.com/team/train:1.0"
_OPTION: Final = re.compile(r"(?:--([a-z][a-z-]{0,40})|-([A-Za-z]))(?:[= \t]*)(.*)\Z")
_TIME: Final = re.compile(r"(?:(\d{1,4})-)?(\d{1,6})(?::(\d{1,2}))?(?::(\d{1,2}))?\Z")
_SIZE: Final = re.compile(r"(\d{1,9})([KMGT]?)B?\Z", re.IGNORECASE)
_STARTS: Final = re.compile(r"\s*(?:srun|mpirun|torchrun|python[0-9.]*|accelerate|deepspeed)\b")
_NAME: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,38}[a-z0-9])?\Z")
GB: Final = {"K": 1e-6, "M": 1e-3, "": 1e-3, "G": 1.0, "T": 1e3}


@dataclass(frozen=True, slots=True)
class Job:
    """The options by their long names, the line of the first, and the command that starts the tasks."""

    options: dict[str, str]
    line: int
    command: str = ""

    def number(self, name: str, default: int = 0) -> int:
        """Return a count; of ``gpu:a100:8`` the 8, of ``2-4`` nodes the 2."""
        found = re.search(r"(?:^|:)(\d{1,6})(?:-\d+)?$", self.options.get(name, ""))
        return int(found[1]) if found else default

    @property
    def members(self) -> int:
        """Return the number of tasks."""
        return max(1, self.number("ntasks") or self.number("nodes", 1) * self.number("ntasks-per-node", 1))

    @property
    def gpus(self) -> int:
        """Return GPUs of one task."""
        nodes = self.number("nodes", 1)
        per_node = self.number("gpus-per-node") or self.number("gres")
        whole = self.number("gpus") or per_node * nodes
        return self.number("gpus-per-task") or ceil(whole / self.members)

    @property
    def memory(self) -> float:
        """Return GB of one task; 0 where no line states it."""
        per_cpu = _gigabytes(self.options.get("mem-per-cpu", ""))
        per_node = _gigabytes(self.options.get("mem", ""))
        return per_cpu * self.number("cpus-per-task", 1) or per_node * self.number("nodes", 1) / self.members

    @property
    def seconds(self) -> int:
        """Return the time limit; 0 if there is none."""
        found = _TIME.match(self.options.get("time", ""))
        if not found:
            return 0
        days, first, second, third = (int(each or 0) for each in found.groups())
        if found[1]:
            return days * 86_400 + first * 3_600 + second * 60 + third
        return first * 3_600 + second * 60 + third if found[4] else first * 60 + second


def job_of(text: str) -> Job | None:
    """Return the job of a script with ``#SBATCH`` lines; None where it has none."""
    options: dict[str, str] = {}
    first, command = 0, ""
    for number, line in enumerate(text.split("\n", MOST)[:MOST], start=1):
        if line.startswith("#SBATCH") and not command:
            first = first or number
            for name, value in _options(line[len("#SBATCH") :]):
                options[name] = value[:MOST]
        elif _STARTS.match(line) and not command:
            command = _program(line[: 4 * MOST])
    return Job(options, first, command) if first else None


def _options(text: str) -> list[tuple[str, str]]:
    try:
        words = shlex.split(text[: 4 * MOST], comments=True)
    except ValueError:
        words = text[: 4 * MOST].split()
    found: list[tuple[str, str]] = []
    for word in words:
        option = _OPTION.match(word) if word.startswith("-") else None
        if option:
            found.append((option[1] or SHORT.get(option[2], option[2]), option[3]))
        elif found:
            found[-1] = (found[-1][0], word)
    return found


def _program(line: str) -> str:
    """Return the command without ``srun`` and its options."""
    words = line.strip().rstrip("\\").split()
    if words and words[0] == "srun":
        words = words[1:]
        while words and words[0].startswith("-"):
            words = words[1:]
    return "".join(each for each in " ".join(words) if each.isprintable())


def _gigabytes(text: str) -> float:
    found = _SIZE.match(text)
    return int(found[1]) * GB[found[2].upper()] if found else 0.0


def manifest_of(job: Job) -> str:
    """Return the manifest that asks for the same, with what has to be filled in."""
    name, torch = job.options.get("job-name", ""), re.search(r"torch|accelerate|deepspeed", job.command)
    left = [f"--{each}" if len(each) > 1 else f"-{each}" for each in job.options if each not in TAKEN]
    variables = "MASTER_ADDR, MASTER_PORT, WORLD_SIZE, RANK" if torch else "JAXOPERATOR_* (for jax.distributed)"
    lines = [
        "kind: AIchorManifest",
        "apiVersion: 0.2.3",
        *([f"name: {name}"] if _NAME.match(name) else []),
        "spec:",
        f"  operator: {'pytorch' if torch else 'jax'}",
        f"  image: {IMAGE} # the image that holds the program",
        f"  # Each member runs it, in a shell. No variable of Slurm is set; there are {variables}.",
        f"  command: {json.dumps(job.command or 'python3 -u train.py', ensure_ascii=True)}",
        *([f"  timeout: {job.seconds}s"] if job.seconds else []),
        "  types:",
        "    worker:",
        f"      count: {job.members} # the tasks of the script, one member each",
        "      resources:",
        f"        cpus: {job.number('cpus-per-task', 1)}",
        f"        memory: {job.memory:g} # GB" if job.memory else "        ramRatio: 4 # GB of memory per CPU",
        *(["        accelerators:", "          gpu:", f"            count: {job.gpus}"] if job.gpus else []),
    ]
    if left:
        lines.append(f"# Not taken over: {' '.join(left[:16])}")
    return "\n".join(lines)
