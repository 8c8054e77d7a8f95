"""Debug modes: a Jupyter server (kuberay) or a VS Code tunnel (the others) in place of the command.

The server runs for 12 hours at most and is not restarted. It makes its token, or the code to sign in with, itself and
prints it, so that reading it needs the right on logs, and no object has it (ADR 52): the kubelet does not copy the last
lines of these pods into their status. The image must hold the program: otherwise the log and the termination message of
the member report it.
"""

import shlex
from dataclasses import replace

from muster.api.manifest.experiment import Experiment, ExperimentSpec
from muster.state.vocabulary.coordinator import ProbeKind
from muster.state.vocabulary.plan import Plan

LONGEST = 12 * 3_600
"""Seconds that a debug server may run."""
JUPYTER_PORT = 8888
NO_PROGRAM = 127
"""The exit code of a shell for a program that does not exist."""
MESSAGE = "/dev/termination-log"
"""The file that the kubelet copies into the status (core/v1 Container.terminationMessagePath)."""
_UID_SHOWN = 8


def debugged(experiment: Experiment) -> Experiment:
    """Return the experiment with the server as its command, if its spec asks for one."""
    command = _command(experiment.spec)
    if not command:
        return experiment
    spec = experiment.spec
    seconds = min(LONGEST, spec.deadline_seconds or LONGEST)
    changes = {
        "command": command,
        "timeout": None,
        "active_deadline_seconds": seconds,
        "failure_policy": None,
        "restart_policy": spec.restart_policy.model_copy(update={"backoff_limit": 0}),
    }
    return replace(experiment, spec=spec.model_copy(update=changes))


def with_notice(experiment: Experiment, plan: Plan) -> Plan:
    """Return the plan with what people must know of the server. No member meets at a coordinator while one runs."""
    if not _command(experiment.spec):
        return plan
    silent = tuple(replace(group, pod=replace(group.pod, quotes_log=False)) for group in plan.groups)
    plan = replace(plan, groups=silent)
    if experiment.spec.operator == "kuberay":
        notice = (
            f"a Jupyter server takes the place of the command, on port {JUPYTER_PORT} of {{pod}} ({{host}}): "
            f"`kubectl port-forward {{pod}} {JUPYTER_PORT}`, and `muster logs {plan.name}` has its address with the "
            "token"
        )
        return replace(plan, notice=notice)
    notice = (
        "a VS Code tunnel takes the place of the command in each member: "
        f"`muster logs {plan.name}` has its address and the code to sign in with"
    )
    unasked = replace(plan.coordinator, probe=ProbeKind.NONE) if plan.coordinator else None
    return replace(plan, notice=notice, coordinator=unasked)


def _command(spec: ExperimentSpec) -> str:
    """Return the command of the server; empty where none is asked for."""
    debug = spec.debug
    if debug is None:
        return ""
    if debug.jupyter and debug.jupyter.enabled:
        server = (
            f"{shlex.quote(debug.jupyter.path)} server --ip=0.0.0.0 --port={JUPYTER_PORT} --no-browser --allow-root"
        )
        return f"{_present('debug.jupyter', debug.jupyter.path)}\nexec {server}"
    if debug.vscode and debug.vscode.enabled:
        program = shlex.quote(debug.vscode.path)
        name = f'm-$(printf %.{_UID_SHOWN}s "$MUSTER_EXPERIMENT_UID")-$MUSTER_RANK'  # 20 characters at most
        login = f"{program} tunnel user login --provider {debug.vscode.provider}"
        tunnel = f'{program} tunnel --accept-server-license-terms --name "{name}"'
        return f"{_present('debug.vscode', debug.vscode.path)}\n{login} && exec {tunnel}"
    return ""


def _present(field: str, program: str) -> str:
    """Return a line of shell that ends with a clear sentence where the image lacks the program."""
    text = f"spec.{field}: the image has no program {program}; install it there, or write its place as path"
    said = f"echo {shlex.quote(text)} >&2; [ ! -w {MESSAGE} ] || echo {shlex.quote(text)} >{MESSAGE}"
    return f"command -v {shlex.quote(program)} >/dev/null || {{ {said}; exit {NO_PROGRAM}; }}"
