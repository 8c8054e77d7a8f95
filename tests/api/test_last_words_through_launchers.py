"""Whatever starts the program, and whatever prints its exception: the program's own error is what is known of the end.

Each row is a launcher, or a hook, with the shape of what it prints; four ends of the program go through each. The logs
are cut as a kubelet cuts them.
"""

import itertools
import signal
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.api.last_words import NONE, Child, sentence
from muster.api.values.printable import MESSAGE
from muster.api.values.termination_message import Words, are_a_reason, words
from tests.fakes.launchers import (
    TAIL,
    WARNING,
    Launcher,
    Printed,
    accelerate,
    bash,
    called_process,
    deepspeed,
    mpirun,
    own_traceback,
    prefixed,
    shell,
    torchrun,
)

RAISED = """Traceback (most recent call last):
  File "/app/train.py", line 31, in <module>
    batch = next(loader)
            ^^^^^^^^^^^^
  File "/app/data.py", line 77, in __next__
    raise RuntimeError(f"shard {number} is empty")
RuntimeError: shard 17 is empty
"""
STEP = "step 12: loss 0.31\n"
ENDS = {"an exception": 1, "SIGKILL": -signal.SIGKILL, "killed for memory": -signal.SIGKILL, "exit 3": 3}


def plain(said: str, code: int) -> Printed:
    return said, shell(code)


def with_torchs_hook(said: str, code: int) -> Printed:
    return STEP + prefixed("[rank1]: ", said), shell(code)


def of_two_ranks(said: str, code: int) -> Printed:
    """The rank that lost its peer fails later; torchrun names the first."""
    peer = RAISED.replace("shard 17 is empty", "Connection closed by peer")
    log, exited = torchrun(said, code)
    return log.replace("W1128", prefixed("[rank0]: ", peer).replace("/app/data.py", "/x.py") + "W1128"), exited


def rendezvous_that_fails_after_it(said: str, code: int) -> Printed:
    log, _ = torchrun(said, code)
    agent = log[: log.index('Traceback (most recent call last):\n  File "/opt')]
    error = (
        "torch.distributed.elastic.rendezvous.api.RendezvousConnectionError: The connection to the store has failed."
    )
    return agent + own_traceback(error, "torch/distributed/elastic/rendezvous/c10d_rendezvous_backend.py"), 1


def torchrun_of_two_attempts(said: str, code: int) -> Printed:
    """The first attempt failed in another way, and ``--max-restarts`` allowed a second one."""
    before, _ = torchrun("ValueError: loss is NaN".join(RAISED.split("RuntimeError: shard 17 is empty")), 1)
    log, exited = torchrun(said, code)
    return before[: before.index('Traceback (most recent call last):\n  File "/opt')] + log, exited


def accelerate_with_trackers(said: str, code: int) -> Printed:
    trailer = "wandb: \nwandb: You can sync this run to the cloud by running:\nwandb: wandb sync /app/wandb/run-1\n"
    return said + trailer + own_traceback(called_process(code), "accelerate/commands/launch.py"), 1


def deepspeed_over_pdsh(said: str, code: int) -> Printed:
    log, _ = deepspeed(said, code)
    return prefixed("worker-1: ", log) + f"pdsh@launcher: worker-1: ssh exited with exit code {shell(code)}\n", 1


def mpiexec_of_mpich(said: str, code: int) -> Printed:
    rule = "=" * 80
    trailer = f"{rule}\n=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 42 RUNNING AT worker-1\n"
    trailer += f"=   EXIT CODE: {abs(code)}\n=   CLEANING UP REMAINING PROCESSES\n{rule}\n"
    if code < 0:
        trailer += (
            "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n"
            "This typically refers to a problem with your application.\n"
            "Please see the FAQ page for debugging suggestions\n"
        )
    return said + trailer, abs(code)


def horovodrun(said: str, code: int) -> Printed:
    error = (
        "RuntimeError: Horovod detected that one or more processes exited with non-zero status, thus causing the job "
        f"to be terminated. The first process to do so was:\nProcess name: 1\nExit code: {shell(code)}\n"
    )
    own = own_traceback(error.rstrip(), "horovod/runner/gloo_run.py")
    return f"{prefixed('[1]<stderr>:', said)}Process 1 exit with status code {shell(code)}.\n{own}", 1


def ray_job(said: str, code: int) -> Printed:
    how = f"due to signal {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
    rule = "-" * 39
    return (
        f"{said}{rule}\nJob 'raysubmit_x1' failed\n{rule}\n\n"
        f"Status message: Job entrypoint command failed {how}, last available logs (truncated to 20,000 chars):\n{said}"
    ), 1


def ray_task(said: str, code: int) -> Printed:
    return prefixed("(train pid=7, ip=10.0.0.1) ", said), shell(code)


def srun(said: str, code: int) -> Printed:
    how = "Killed" if code < 0 else f"Exited with exit code {code}"
    return f"{prefixed('1: ', said)}srun: error: node-1: task 1: {how}\n", shell(code)


def srun_out_of_memory(said: str, code: int) -> Printed:
    if code >= 0:
        return srun(said, code)
    found = "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0. Some of the step tasks have been OOM Killed.\n"
    return f"{found}srun: error: node-1: task 1: Out Of Memory\n", 137


def make(said: str, code: int) -> Printed:
    how = "Killed" if code < 0 else f"Error {code}"
    return f"{said}make: *** [Makefile:3: train] {how}\n", 2


def conda(said: str, code: int) -> Printed:
    return (
        f"{said}ERROR conda.cli.main_run:execute(125): `conda run python train.py` failed. (See above for error)\n",
        (shell(code)),
    )


def a_script_in_python(said: str, code: int) -> Printed:
    own = f'Traceback (most recent call last):\n  File "/app/launch.py", line 3, in <module>\n{called_process(code)}\n'
    return said + own, 1


def spawn(said: str, code: int) -> Printed:
    of_torch = "torch/multiprocessing/spawn.py"
    if said:
        error = "torch.multiprocessing.spawn.ProcessRaisedException: "
        return own_traceback(f"{error}\n\n-- Process 1 terminated with the following error:\n{said}", of_torch), 1
    how = "signal SIGKILL" if code < 0 else f"exit code {code}"
    return own_traceback(
        f"torch.multiprocessing.spawn.ProcessExitedException: process 1 terminated with {how}", of_torch
    ), 1


def lightning(said: str, code: int) -> Printed:
    return (
        f"{said}[rank: 1] Child process with PID 42 terminated with code {code}. Forcefully terminating all other\n",
        1,
    )


def hydra(said: str, code: int) -> Printed:
    trailer = "\nSet the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.\n" if said else ""
    return f"Error executing job with overrides: ['model=big']\n{said}{trailer}" if said else "", shell(code)


def wandb(said: str, code: int) -> Printed:
    return f"{said}wandb: \nwandb: Find logs at: ./wandb/offline-run-1/logs\n", shell(code)


def rich(said: str, code: int) -> Printed:
    if not said:
        return "", shell(code)
    width = 78
    rows = [
        "/app/train.py:31 in <module>",
        "",
        "❱ 31 batch = next(loader)",
        "",
        "/app/data.py:77 in __next__",
        "",
        "❱ 77 x",
    ]
    box = "".join(f"│ {row:<{width - 2}} │\n" for row in rows)
    top = f"╭{' Traceback (most recent call last) ':─^{width}}╮\n"
    return f"{top}{box}╰{'─' * width}╯\nRuntimeError: shard 17 is empty\n", 1


def ipython(said: str, code: int) -> Printed:
    if not said:
        return "", shell(code)
    return (
        f"{'-' * 75}\nRuntimeError                              Traceback (most recent call last)\n"
        "File /app/train.py:31\n     30 loader = Loader()\n---> 31 batch = next(loader)\n\n"
        "File /app/data.py:77, in __next__(self)\n     76 note: x\n---> 77 raise RuntimeError(empty)\n"
        "\nRuntimeError: shard 17 is empty\n"
    ), 1


def an_exception_group(said: str, code: int) -> Printed:
    if not said:
        return "", shell(code)
    return f"  + Exception Group {prefixed('  | ', RAISED)[4:]}  +-+---------------- 1 ----------------\n", 1


LAUNCHERS: dict[str, Launcher] = {
    "python": plain,
    "torch's hook": with_torchs_hook,
    "torchrun": torchrun,
    "torchrun --tee": lambda said, code: torchrun(said, code, "[default0]:[rank1]: "),
    "torchrun with recorded errors": lambda said, code: torchrun(said, code, recorded=RAISED),
    "torchrun of two ranks": of_two_ranks,
    "torchrun of two attempts": torchrun_of_two_attempts,
    "torchrun whose rendezvous fails after it": rendezvous_that_fails_after_it,
    "accelerate launch": accelerate,
    "accelerate launch with wandb": accelerate_with_trackers,
    "deepspeed": deepspeed,
    "deepspeed over pdsh": deepspeed_over_pdsh,
    "mpirun": mpirun,
    "mpiexec of MPICH": mpiexec_of_mpich,
    "horovodrun": horovodrun,
    "ray job submit": ray_job,
    "a task of Ray": ray_task,
    "srun": srun,
    "srun that sees the memory": srun_out_of_memory,
    "bash -e": bash,
    "make": make,
    "conda run": conda,
    "a script in Python": a_script_in_python,
    "torch.multiprocessing.spawn": spawn,
    "Lightning": lightning,
    "hydra": hydra,
    "wandb": wandb,
    "rich": rich,
    "IPython": ipython,
    "an exception group": an_exception_group,
}  # fmt: skip


IN_AN_EXCEPTION = ("a script in Python", "torch.multiprocessing.spawn")
STEPS = {"torch's hook": STEP.strip()}
"""What the last line is where it is not one of a launcher."""


def read(launcher: str, end: str) -> tuple[Words, int]:
    """What is known of the end, and the exit code of the container."""
    log, code = LAUNCHERS[launcher](RAISED if end == "an exception" else "", ENDS[end])
    return words((WARNING + log)[-TAIL:], "OOMKilled" if end == "killed for memory" else "Error"), code


@pytest.mark.parametrize("launcher", LAUNCHERS)
def test_the_exception_of_the_program_is_the_reason_with_the_line_that_raised_it(launcher: str) -> None:
    said, code = read(launcher, "an exception")
    assert (said.text, said.raised_at) == ("RuntimeError: shard 17 is empty", "data.py:77 in __next__")
    assert are_a_reason(said.explains, code)
    assert said.child.code in (0, 1)


@pytest.mark.parametrize(
    ("launcher", "end"), [*itertools.product(LAUNCHERS, ["SIGKILL", "killed for memory", "exit 3"])]
)
def test_how_the_program_ended_is_known_and_no_word_of_a_launcher_is_its_reason(launcher: str, end: str) -> None:
    said, code = read(launcher, end)
    if launcher in IN_AN_EXCEPTION:  # the exception has the code or the signal
        assert are_a_reason(said.explains, code)
        return
    assert not (said.explains and are_a_reason(said.explains, code))
    assert (said.child.code or code) in (ENDS[end], shell(ENDS[end]))
    assert said.last_line == STEPS.get(launcher, "")


def test_a_launcher_counts_only_where_it_has_the_last_word() -> None:
    goes_on = "make: *** [Makefile:3: data] Error 2\n"
    assert words(f"{goes_on}{STEP}").child == NONE
    assert words(f"{goes_on}{STEP}").last_line == STEP.strip()
    assert words(f"{called_process(9)}\n{RAISED}").text == "RuntimeError: shard 17 is empty"
    assert words(f"{called_process(9)}\n{RAISED}").child == NONE


def test_a_script_quotes_a_traceback_only_where_it_is_right_before_its_own() -> None:
    log, _ = a_script_in_python(RAISED + STEP, 1)
    assert words(log).text == called_process(1)


def test_a_launchers_own_failure_is_its_own() -> None:
    error = "torch.distributed.elastic.rendezvous.api.RendezvousTimeoutError"
    log = own_traceback(error, "torch/distributed/elastic/rendezvous/dynamic_rendezvous.py")
    assert (words(log).text, words(log).child) == (error, NONE)


@pytest.mark.parametrize(
    ("child", "said"),
    [
        (Child(-9, 11), "its process of rank 11 was ended by signal 9 (SIGKILL)"),
        (Child(-63), "a process that it started was ended by signal 63"),
        (Child(3, 0), "its process of rank 0 ended with exit code 3"),
        (Child(3), "a process that it started ended with exit code 3"),
    ],
)
def test_the_end_of_a_process_is_a_sentence(child: Child, said: str) -> None:
    assert sentence(child) == said


@pytest.mark.parametrize(
    "line",
    [
        "*" * 40,
        "=" * 60,
        "─" * 60,
        "[W1128 05:56:20.482 socket.cpp:207] [c10d] The hostname of the client socket cannot be retrieved. err=-3",
        "[rank1]:[W1128 05:56:20.482 ProcessGroupGloo.cpp:760] Warning: Unable to resolve hostname",
        "/app/x.py:12: FutureWarning: x will go\n  warnings.warn(",
        "/app/x.py:12: FutureWarning: x will go\n  y = x.of(3)",
        "/app/x.py:12: FutureWarning: x will go",
        "  warnings.warn(",
        "wandb: View this run in the terminal with `wandb leet`",
        "wandb: ",
        "INFO:root:loading the data set",
        "WARNING: All log messages before absl::InitializeLog() is called are written to STDERR",
    ],
)
def test_a_banner_and_a_warning_of_a_library_are_no_last_line(line: str) -> None:
    assert words(f"{STEP}{line}\n").last_line == ""


def test_an_error_of_a_tracker_is_a_last_line() -> None:
    assert words(f"{STEP}wandb: ERROR api_key not configured\n").last_line == "wandb: ERROR api_key not configured"


@pytest.mark.parametrize(
    "piece",
    [
        '  File "/app/x.py", line 3\n', "a" * 80 + '  File "', " " * 4_096, "│" * 99, "│ x:1 in f │\n", "make: *** ",
        "[rank1]: ", "srun: error: ", "Traceback (most recent call last):\n", "E: x\n", "= ", "lightning",
        "- " * 99 + "\n",
    ],
)  # fmt: skip
def test_hostile_words_cost_a_bounded_time(piece: str) -> None:
    began = time.process_time()
    words(piece * (1_000_000 // len(piece)))
    words((piece * 4_096)[:4_000] + RAISED)
    assert time.process_time() - began < 0.5  # CPU alone: nothing here waits


@given(st.text(alphabet=st.sampled_from('│╰ =-:E[]0123\n\rrank File"Traceback(mostrecentcalllast)'), max_size=600))
def test_whatever_was_printed_is_read(text: str) -> None:
    said = words(text)
    assert len(said.text) <= MESSAGE
    assert said.raised_at.isprintable()
