"""A training with DistributedDataParallel at the level of the module, as in most examples, and its classic mistakes."""

import threading
import time
from datetime import timedelta
from itertools import count

import torch
import torch.distributed as dist

from tests.hangs.programs import course
from tests.hangs.programs.ways import FOREVER

torch.set_num_threads(1)
dist.init_process_group("gloo")
store = dist.distributed_c10d._get_default_store()  # noqa: SLF001 - as programs do that share a file's name
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(32, 32))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)


class Rows(torch.utils.data.Dataset[torch.Tensor]):  # type: ignore[misc, unused-ignore]
    """Rows that cost half a second; a worker of the loader may stay in one."""

    def __len__(self) -> int:
        return 10**6

    def __getitem__(self, index: int) -> torch.Tensor:
        course.next_batch()
        if course.WAY == "worker_of_the_loader" and course.MINE and course.opens():
            course.begins()
            threading.Event().wait(FOREVER)
        return torch.ones(32)


loader = iter(torch.utils.data.DataLoader(Rows(), batch_size=None, num_workers=1, prefetch_factor=1))
halting, flag = False, torch.zeros(1)
for step in count():
    batch = next(loader)
    if halting and course.MINE:
        course.begins()
        if course.WAY == "leaves_early":  # it has one batch less than the others
            break
        if course.WAY == "enters_no_barrier":
            time.sleep(FOREVER)
        if course.WAY == "waits_for_a_key":
            store.set_timeout(timedelta(days=1))
            store.get("address of the parameter server")
        if course.WAY == "receives_from_nobody":
            dist.recv(torch.ones(1), (course.RANK + 1) % dist.get_world_size())
        if course.WAY == "skips_all_reduce":  # a batch without a loss, which it goes past
            dist.broadcast(flag, course.VICTIM)
    if halting and course.WAY == "enters_no_barrier":
        dist.barrier()
    if halting and course.WAY == "waits_for_all":  # each for what another one would write
        course.begins()
        store.set_timeout(timedelta(days=1))
        store.get(f"checkpoint of {(course.RANK + 1) % dist.get_world_size()}")
    model(batch).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    if course.WAY != "worker_of_the_loader":
        flag = torch.ones(1) * course.opens()
        dist.all_reduce(flag)
    halting = bool(flag.max() > 0)
    course.step_ends(step)

losses: list[float | None] = [None] * dist.get_world_size()
dist.all_gather_object(losses, 1.0)
dist.destroy_process_group()
