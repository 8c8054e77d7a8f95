"""What launchers make of the end of a program: the end of the log, and the exit code of the container."""

import signal
from collections.abc import Callable

Printed = tuple[str, int]
"""The end of a log and the exit code of the container."""
Launcher = Callable[[str, int], Printed]
"""From what the program prints and how it ends to what the launcher makes of it."""
TAIL = 2_048
"""Bytes of the end of a log that a kubelet keeps."""
WARNING = (
    "[W1128 05:56:20.482 socket.cpp:207] [c10d] The hostname of the client socket cannot be retrieved. err=-3\n"
    "/usr/lib/python3/site-packages/x/y.py:12: UserWarning: no accelerator\n  warnings.warn(\n"
)


def shell(code: int) -> int:
    return code if code >= 0 else 128 - code


def prefixed(front: str, text: str) -> str:
    return "".join(f"{front}{line}\n" for line in text.splitlines())


def named(code: int) -> str:
    return f"  ({signal.Signals(-code).name})" if code < 0 else " "


def own_traceback(error: str, *files: str) -> str:
    home = "/opt/conda/lib/python3.12/site-packages"
    frames = "".join(f'  File "{home}/{file}", line 91{at}, in main\n    run(args)\n' for at, file in enumerate(files))
    return f"Traceback (most recent call last):\n{frames}{error}\n"


def torchrun(said: str, code: int, front: str = "[rank1]: ", recorded: str = "") -> Printed:
    why = (
        f"Signal {-code} ({signal.Signals(-code).name}) received by PID 99"
        if code < 0
        else "To enable traceback see: x"
    )
    if recorded and said:
        why = recorded.replace("\n", "\n  ")
    rule, line = "=" * 60, "-" * 60
    block = (
        f"{rule}\ntrain.py FAILED\n{line}\nFailures:\n[1]:\n  time      : 2026-11-28_05:00:00\n  host      : worker-1\n"
        "  rank      : 0 (local_rank: 0)\n  exitcode  : -15 (pid: 98)  (SIGTERM)\n  error_file: <N/A>\n"
        f"  traceback : Signal 15 (SIGTERM) received by PID 98\n{line}\nRoot Cause (first observed failure):\n[0]:\n"
        "  time      : 2026-11-28_05:00:00\n  host      : worker-1\n  rank      : 1 (local_rank: 1)\n"
        f"  exitcode  : {code} (pid: 99){named(code)}\n  error_file: <N/A>\n  traceback : {why}\n{rule}\n"
    )
    agent = (
        "W1128 05:00:00.1 77 torch/distributed/elastic/multiprocessing/api.py:900] Sending process 98 closing signal "
        "SIGTERM\nE1128 05:00:00.2 77 torch/distributed/elastic/multiprocessing/api.py:874] failed "
        f"(exitcode: {code}) local_rank: 1 (pid: 99) of binary: /usr/bin/python3\n"
    )
    error = "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: "
    own = own_traceback(error, "torch/distributed/launcher/api.py")
    return prefixed(front, said) + agent + own + block, 1


def called_process(code: int) -> str:
    how = f"died with <Signals.{signal.Signals(-code).name}: {-code}>." if code < 0 else ""
    how = how or f"returned non-zero exit status {code}."
    return f"subprocess.CalledProcessError: Command '['/usr/bin/python3', 'train.py']' {how}"


def accelerate(said: str, code: int) -> Printed:
    return said + own_traceback(called_process(code), "accelerate/commands/launch.py"), 1


def deepspeed(said: str, code: int) -> Printed:
    at = "[2026-11-28 05:00:00,123]"
    return (
        f"{said}{at} [INFO] [launch.py:319:sigkill_handler] Killing subprocess 98\n"
        f"{at} [ERROR] [launch.py:325:sigkill_handler] ['/usr/bin/python3', '-u', 'train.py', '--local_rank=1'] "
        f"exits with return code = {code}\n"
    ), 1


def mpirun(said: str, code: int) -> Printed:
    rule = "-" * 74
    if code < 0:
        how = f"exited on signal {-code} ({signal.strsignal(-code)})."
        word = f"mpirun noticed that process rank 1 with PID 0 on node worker-1 {how}"
        return f"{prefixed('[1,1]<stderr>:', said)}{rule}\n{word}\n{rule}\n", shell(code)
    return (
        f"{prefixed('[1,1]<stderr>:', said)}{rule}\nPrimary job  terminated normally, but 1 process returned\n"
        f"a non-zero exit code. Per user-direction, the job has been aborted.\n{rule}\n{rule}\n"
        "mpirun detected that one or more processes exited with non-zero status, thus causing\n"
        f"the job to be terminated. The first process to do so was:\n\n  Process name: [[12345,1],1]\n"
        f"  Exit code:    {code}\n{rule}\n"
    ), code


def bash(said: str, code: int) -> Printed:
    killed = f"/app/run.sh: line 3:    42 {signal.strsignal(-code)}      python3 train.py\n" if code < 0 else ""
    return said + killed, shell(code)
