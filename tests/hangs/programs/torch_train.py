"""A training of PyTorch that knows nothing of Muster, or reports its steps. Beside the group of all it has one of two.

Its ranks 0 and 1 broadcast to each other, and 0 sends to 2: what the record has of those explains no halt. Once the
gate is open none sends: at the step of the halt 0 would wait for 2, or 2 for 0, and two ranks would be missing.
"""

from itertools import count

import torch
import torch.distributed as dist

from tests.hangs.programs import course, training

training.before()
torch.set_num_threads(1)
dist.init_process_group("gloo")
pair, gradients, steps = dist.new_group([0, 1]), torch.ones(1000), count()
opened = False
if course.REPORTS:
    from muster.torch import report


def exchange(opens: bool) -> bool:
    global opened
    step = next(steps)
    if course.RANK < 2 and step % 5 == 0:
        dist.broadcast(gradients, 0, group=pair)
    sends = step % 7 == 0 and not opened
    if sends and course.RANK == 0:
        dist.send(gradients, 2)
    if sends and course.RANK == 2:
        dist.recv(gradients, 0)
    flag = torch.ones(1000) * opens
    dist.all_reduce(flag)
    opened = opened or bool(flag.max() > 0)
    return opened


def reports(step: int) -> None:
    if course.REPORTS:
        report(step, loss=1.0 / (step + 1))


training.train(exchange, dist.barrier, reports)
