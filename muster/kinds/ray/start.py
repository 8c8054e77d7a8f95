"""The programs of a Ray cluster's members: ``ray start`` for head and workers, and the submitter's (``SUBMIT``)."""

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final

from muster.api.manifest.groups import HEAD, Group
from muster.api.names import RAY_AGENT_PORT, RAY_DASHBOARD_PORT, RAY_METRICS_PORT, RAY_PORT
from muster.api.values.printable import small_number
from muster.api.values.quantities import parse_quantity

LOGICAL: Final = 100_000
"""Amount of the logical resource with its group's name on each node."""
WORDED: Final = frozenset({"log-color", "include-dashboard", "include-log-monitor"})
"""Flags whose value may be the word true or false."""
PATIENCE: Final = {
    "RAY_DASHBOARD_STARTUP_TIMEOUT_S": 300,
    "RAY_DASHBOARD_SUBPROCESS_MODULE_WAIT_READY_TIMEOUT": 300,
    "RAY_NUM_REDIS_GET_RETRIES": 150,
}
"""Ray's time-outs of its own start, which are 30 to 60 s: a busy machine takes longer. A pod template may set others.

The second is of each part of the dashboard. The third counts the questions for the GCS, one or two seconds apart, and
for the head in its list of nodes. (ray: python/ray/_private/ray_constants.py, python/ray/dashboard/consts.py)
"""
SHELL: Final = "; ".join(
    (
        'ulimit -n "${RAY_START_ULIMIT_OPEN_FILES:-65536}" 2> /dev/null',
        *(f'export {name}="${{{name}:-{value}}}"' for name, value in PATIENCE.items()),
        'exec "$@"',
    )
)
"""A shell's first line: Ray needs many open files and patience. It is a constant; no shell reads the arguments."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of a head that others must know."""

    gcs: int = RAY_PORT
    dashboard: int = RAY_DASHBOARD_PORT
    agent: int = RAY_AGENT_PORT

    @classmethod
    def of(cls, params: Mapping[str, str]) -> "Ports":
        """Return the ports that a head is started with: Ray's own for those that are not stated, or are no ports."""
        return cls(
            _port(params, "port", RAY_PORT),
            _port(params, "dashboard-port", RAY_DASHBOARD_PORT),
            _port(params, "dashboard-agent-listen-port", RAY_AGENT_PORT),
        )


def _port(params: Mapping[str, str], name: str, default: int) -> int:
    number = small_number(params.get(name, "").strip("'\""))
    return number if 0 < number < 65_536 else default


def ray_start(group: Group, address: str) -> tuple[str, ...]:
    """Return the program and arguments that start a member of the group; ``address`` is the head's for the workers.

    The defaults are AIchor's (its KubeRay page): ``--block``, ``--metrics-export-port=8080``, the member's CPUs, GPUs
    and memory, a logical resource with the group's name (so that actors can be placed by it), and on the head the
    dashboard. ``rayStartParams`` adds to them and overrides them. The keys are sorted, as by KubeRay.
    """
    flags = {**_defaults(group, address), **{name: _unquoted(value) for name, value in group.ray_start_params}}
    return ("ray", "start", *(flag for name in sorted(flags) if (flag := _flag(name, flags[name]))))


def in_shell(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Return a shell command that raises the limit of open files and Ray's time-outs, and then runs ``argv``."""
    return ("/bin/sh", "-c", SHELL, "ray", *argv)


def memory_of(group: Group) -> int:
    """Return bytes of memory of one member."""
    return int(parse_quantity(group.resources.memory_request))


def _defaults(group: Group, address: str) -> Mapping[str, str]:
    resources: dict[str, int] = {group.name: LOGICAL}
    if tpu := group.resources.tpu:
        resources["TPU"] = tpu.tpu_chips_count
    flags = {
        "block": "true",
        "log-color": "true",
        "log-style": "pretty",
        "memory": str(memory_of(group)),
        "metrics-export-port": str(RAY_METRICS_PORT),
        "num-cpus": str(ceil(group.resources.cpus)),
        "resources": json.dumps(resources, separators=(",", ":")),
    }
    if group.resources.gpus:
        flags["num-gpus"] = str(group.resources.gpus)
    if group.name != HEAD:
        return {**flags, "address": address}
    return {
        **flags,
        "head": "true",
        "include-dashboard": "true",
        "dashboard-host": "0.0.0.0",  # noqa: S104 - the probe and the people outside the pod ask it
        "dashboard-agent-listen-port": str(RAY_AGENT_PORT),
    }


def _flag(name: str, value: str) -> str:
    """Return a flag as KubeRay prints it (kuberay: ray-operator/controllers/ray/common/pod.go, convertParamMap).

    "true" is a bare flag, "false" no flag at all, except for the flags whose values are these words.
    """
    if name not in WORDED and value.lower() in ("true", "false"):
        return f"--{name}" if value.lower() == "true" else ""
    return f"--{name}={value}"


def _unquoted(value: str) -> str:
    """Return a value that is one quoted word without its quotes, as the shell would.

    KubeRay has a shell read the arguments, so manifests for it quote a value once more: ``'{"a": 1}'``. No shell reads
    what is built here.
    """
    if value[:1] not in ("'", '"'):
        return value
    try:
        words = shlex.split(value)
    except ValueError:  # no closing quotation
        return value
    return words[0] if len(words) == 1 else value


SUBMIT: Final = r"""
import asyncio, json, os, shlex, signal, sys, time
from ray.job_submission import JobSubmissionClient

PATIENCE = 60
command, job = sys.argv[1], os.environ["RAY_JOB_SUBMISSION_ID"]
signal.signal(signal.SIGTERM, lambda *_: os._exit(143))


def end(code, *words):
    sys.stdout.flush()
    print("submitter:", *words, file=sys.stderr, flush=True)
    os._exit(code)


def ask(what):
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return what()
        except Exception as error:
            text = str(error)
            if "404" in text or "does not exist" in text:
                return None
            if time.monotonic() > until:
                end(1, f"Ray has not answered for {PATIENCE} s: {text}")
            time.sleep(1)


async def follow(shown):
    position = 0
    async for text in client.tail_job_logs(job):
        if position + len(text) > shown:
            sys.stdout.write(text[max(0, shown - position):])
            sys.stdout.flush()
        position += len(text)
        shown = max(shown, position)
    return shown


client = ask(lambda: JobSubmissionClient("http://" + os.environ["RAY_DASHBOARD_ADDRESS"]))
if ask(lambda: client.get_job_info(job)) is None:
    entrypoint = shlex.join(["/bin/sh", "-c", command])
    environment = json.loads(os.environ.get("RAY_JOB_RUNTIME_ENV") or "{}")
    ask(lambda: client.submit_job(entrypoint=entrypoint, submission_id=job, runtime_env=environment))
shown = 0
while True:
    try:
        shown = asyncio.run(follow(shown))
    except Exception as error:
        print("submitter: the log of the job broke off:", error, file=sys.stderr, flush=True)
    info = ask(lambda: client.get_job_info(job))
    if info is None:
        end(1, f"Ray does not know the job {job}: its head was started again")
    if info.status.is_terminal():
        break
    time.sleep(1)
if info.status == "SUCCEEDED":
    sys.stdout.flush()
    os._exit(0)
code = getattr(info, "driver_exit_code", None) or 1
first = (info.message or "").partition("\n")[0].partition(", last available logs")[0]
end(128 - code if code < 0 else code, f"the Ray job {job} ended {info.status.value}: {first}")
"""
"""The submitter's program: it hands the command to Ray as a job, prints the job's log, and ends as the job does.

It runs in the experiment's image, which has Ray and not Muster, so its text is handed to ``python3 -c``. The command is
its argument and is never part of the text. What it relies on is public in Ray since 2.0 (ray.job_submission):

- The job's name is the experiment's and the epoch's. A submitter that takes the place of a lost one finds the job and
  continues with its log, from the beginning.
- A broken connection for the log proves nothing: the status decides. Ray must answer within 60 seconds.
- ``RAY_JOB_RUNTIME_ENV`` is the runtime environment of the job, as JSON.
- The exit code is the program's own (128 + the signal where one ended it), and 1 where Ray knows none.
- SIGTERM ends the submitter and not the job: to end the experiment is to end the head as well.
"""
