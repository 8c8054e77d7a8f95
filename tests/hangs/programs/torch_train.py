"""A training of PyTorch that knows nothing of Muster, or reports its steps. Beside the group of all it has one of two.

Its ranks 0 and 1 broadcast to each other, and 0 sends to 2: what the record has of those explains no halt.
"""

from itertools import count

import torch
import torch.distributed as dist

from tests.hangs.programs import course, training

training.before()
torch.set_num_threads(1)
dist.init_process_group("gloo")
pair, gradients, steps = dist.new_group([0, 1]), torch.ones(1000), count()
if course.REPORTS:
    from muster.torch import report


def exchange(opened: bool) -> bool:
    step = next(steps)
    if course.RANK < 2 and step % 5 == 0:
        dist.broadcast(gradients, 0, group=pair)
    if step % 7 == 0 and course.RANK == 0:
        dist.send(gradients, 2)
    if step % 7 == 0 and course.RANK == 2:
        dist.recv(gradients, 0)
    flag = torch.ones(1000) * opened
    dist.all_reduce(flag)
    return bool(flag.max() > 0)


def reports(step: int) -> None:
    if course.REPORTS:
        report(step, loss=1.0 / (step + 1))


training.train(exchange, dist.barrier, reports)
