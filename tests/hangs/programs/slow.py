"""A training with DistributedDataParallel in which one rank takes longer for each step: VICTIM, by MINUTE seconds."""

import time

import torch
import torch.distributed as dist

from tests.hangs.programs import course

torch.set_num_threads(1)
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(64, 64))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for step in course.numbers:
    time.sleep(0.1 + (course.MINUTE if course.MINE else 0.0))
    model(torch.ones(8, 64)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    course.step_ends(step)
