"""A gang of real PyTorch processes on this machine, one of whose ranks comes to a halt, and what Muster says of it.

The programs know nothing of Muster: all they have is what ``spec.assist`` mounts.
"""

import os
import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from muster.assist import CODE, FILE, RECORDER_CODE, RECORDER_FILE
from muster.state.facts import collectives
from muster.watchers.probes.torch.probe import TorchProbe
from tests.frameworks.interpreters import CURRENT_TORCH, python_of
from tests.hangs.played import SIZE, Verdict, ended, watch
from tests.hangs.ports import TORCH, held_port

HALTS_AT = {"torch": 60, "huggingface": 25}
"""The step at which a rank comes to a halt, by program; one takes a fifth of a second. The first of them makes a pause
at every 20th, the Trainer takes seconds for its first."""
PROGRAM = """\
import os, sys, threading, time
import torch, torch.distributed as dist
rank, how, victim, halts_at = int(os.environ["RANK"]), *sys.argv[1:3], int(sys.argv[3])
torch.set_num_threads(1)
dist.init_process_group("gloo")
pair, gradients = dist.new_group([0, 1]), torch.ones(1000)
for step in range(1_000_000):
    time.sleep(3.0 if step % 20 == 19 else 0.2)
    if rank < 2 and step % 5 == 0:
        dist.broadcast(gradients, 0, group=pair)
    if step % 7 == 0 and rank != 1:
        dist.send(gradients, 2) if rank == 0 else dist.recv(gradients, 0)
    if step == halts_at and rank == int(victim):
        print("halts", flush=True)
        if how == "sleep":
            time.sleep(3600)
        if how == "lock":
            lock = threading.Lock()
            lock.acquire()
            lock.acquire()
        if how == "stop":
            os.kill(os.getpid(), 19)
        if how == "loop":
            sum(range(10 ** 14))
    dist.all_reduce(gradients)
"""
TRAINER = """\
import os, sys, threading, time
import torch
from transformers import BertConfig, BertForMaskedLM, Trainer, TrainingArguments
rank, how, victim, halts_at = int(os.environ["RANK"]), *sys.argv[1:3], int(sys.argv[3])
torch.set_num_threads(1)

class Rows(torch.utils.data.Dataset):
    read = 0

    def __len__(self):
        return 1_000_000

    def __getitem__(self, index):
        time.sleep(0.2)
        Rows.read += 1
        if Rows.read == halts_at and rank == int(victim):
            print("halts", flush=True)
            if how == "sleep":
                time.sleep(3600)
            if how == "lock":
                lock = threading.Lock()
                lock.acquire()
                lock.acquire()
            if how == "stop":
                os.kill(os.getpid(), 19)
            if how == "loop":
                sum(range(10 ** 14))
        row = torch.randint(5, 50, (8,))
        return {"input_ids": row, "labels": row}

config = BertConfig(vocab_size=64, hidden_size=16, intermediate_size=16, num_hidden_layers=1, num_attention_heads=2)
arguments = TrainingArguments(
    output_dir=os.path.join(os.path.dirname(os.path.abspath(__file__)), "out"),
    max_steps=1_000_000,
    per_device_train_batch_size=1,
    logging_steps=10,
    save_strategy="no",
    report_to="none",
    use_cpu=True,
    disable_tqdm=True,
)
Trainer(model=BertForMaskedLM(config), args=arguments, train_dataset=Rows()).train()
"""
"""A Trainer of transformers, whose data ends to come in one rank."""
PROGRAMS = {"torch": PROGRAM, "huggingface": TRAINER}
ABSENT = r"has not entered {collective} of default_pg \({entered} entered\)"
SILENT = r"publishes nothing any more, and is not known to be in {collective} of default_pg"
SAYS = {"sleep": ABSENT, "lock": ABSENT, "stop": SILENT, "loop": SILENT}
"""How a rank comes to a halt, and what is to be said of it."""
COLLECTIVES = {"torch": ("all_reduce 61", "60"), "huggingface": (r"\w+ \d+", r"\d+")}
"""The collective that the others wait in, and how many of them the rank has entered, by program. How many the Trainer
enters is its own matter."""


def right(program: str, how: str, victim: int, said: Verdict) -> bool:
    """The rank, the collective and the counts are named, and no other rank."""
    collective, entered = COLLECTIVES[program]
    says = SAYS[how].format(collective=collective, entered=entered)
    found = re.search(rf": rank {victim} {says}.*, in which 2 of 3 wait", said.sentence)
    return said.named == (victim,) and found is not None


@contextmanager
def gang(folder: Path, program: str, how: str, victim: int, halts_at: int = 0) -> Iterator[str]:
    """The address of the store of a gang that runs this program, which is given how, who and at which step."""
    mounted = folder / "mounted"
    mounted.mkdir(parents=True)
    (folder / "train.py").write_text(program)
    (mounted / FILE).write_text(CODE)
    (mounted / RECORDER_FILE).write_text(RECORDER_CODE)
    given = {"MASTER_ADDR": "127.0.0.1", "WORLD_SIZE": str(SIZE), "PYTHONPATH": str(mounted)}
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MUSTER_")}
    command = [str(python_of(CURRENT_TORCH)), "-u", str(folder / "train.py"), how, str(victim), str(halts_at)]
    processes: list[subprocess.Popen[bytes]] = []
    with held_port(TORCH) as port, ended(processes):
        for rank in range(SIZE):
            with (folder / f"{rank}.log").open("wb") as log:
                environ = inherited | given | {"MASTER_PORT": str(port), "RANK": str(rank)}
                processes.append(subprocess.Popen(command, env=environ, stdout=log, stderr=log))
        yield f"127.0.0.1:{port}"


async def run(folder: Path, how: str, victim: int, *, program: str = "torch", patience: float = 240.0) -> Verdict:
    """One run: a gang, a halt, and what was said."""
    with gang(folder, PROGRAMS[program], how, victim, HALTS_AT[program]) as address:
        probe = TorchProbe(address, clock=time.time, expected=SIZE)
        return await watch(probe, folder, victim, collectives.stuck, patience=patience)
