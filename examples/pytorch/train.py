"""Data-parallel training on as many processes as the experiment has, with checkpoints.

A small network learns to classify two interleaved spirals. Each process holds its own share of the points; the
gradients are averaged over all processes in every step, so the weights stay equal everywhere. Rank 0 writes a
checkpoint every few steps, and a restarted gang continues from there.

Nothing here imports Muster: ``init_method="env://"`` reads MASTER_ADDR, MASTER_PORT, WORLD_SIZE and RANK by itself. The
same program runs under ``torchrun``, which reads the PET_* variables and starts a process per GPU.
"""

import argparse
import math
import os
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

POINTS = 256
"""Points per process."""


def spirals(rank: int) -> "tuple[torch.Tensor, torch.Tensor]":
    """Return this process's share of the points: two coordinates each, and the spiral of each."""
    generator = torch.Generator().manual_seed(rank)
    label = torch.randint(0, 2, (POINTS,), generator=generator).float()
    turn = (0.25 + 1.5 * torch.rand(POINTS, generator=generator)) * 2 * math.pi
    angle = turn + label * math.pi
    points = torch.stack([torch.cos(angle), torch.sin(angle)], dim=1) * turn[:, None] / math.pi
    return points + 0.05 * torch.randn(POINTS, 2, generator=generator), label


def average(network: nn.Module) -> None:
    """Average the gradients of all processes, as DistributedDataParallel does, in two lines."""
    for parameter in network.parameters():
        dist.all_reduce(parameter.grad)
        parameter.grad /= dist.get_world_size()


def save(path: Path, state: object) -> None:
    """Write a checkpoint atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".new")
    torch.save(state, scratch)
    scratch.replace(path)


def main() -> None:
    """Join the gang, load the last checkpoint, train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument(
        "--checkpoints", type=Path, default=Path(os.environ.get("AICHOR_OUTPUT_PATH", ".muster/checkpoints"))
    )
    parser.add_argument("--every", type=int, default=10, help="steps between checkpoints")
    parser.add_argument("--pace", type=float, default=0.05, help="least seconds per step")
    parser.add_argument("--absent", type=int, default=-1, help="this rank never joins")
    args = parser.parse_args()

    if int(os.environ["RANK"]) == args.absent:
        print(f"rank {args.absent} waits for data that never comes", flush=True)
        time.sleep(3600)
    dist.init_process_group("gloo", init_method="env://")
    rank = dist.get_rank()

    torch.manual_seed(0)
    network = nn.Sequential(nn.Linear(2, 64), nn.GELU(), nn.Linear(64, 64), nn.GELU(), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(network.parameters(), lr=0.05, momentum=0.9)
    checkpoint = args.checkpoints / os.environ.get("MUSTER_EXPERIMENT_UID", "run") / "latest.pt"
    first = 0
    if checkpoint.exists():
        first, weights, momentum = torch.load(checkpoint)
        network.load_state_dict(weights)
        optimizer.load_state_dict(momentum)
    if rank == 0:
        print(f"{dist.get_world_size()} processes, from step {first}", flush=True)

    points, labels = spirals(rank)
    for number in range(first + 1, args.steps + 1):
        began = time.monotonic()
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(network(points)[:, 0], labels)
        loss.backward()
        average(network)
        optimizer.step()
        dist.all_reduce(loss.detach().div_(dist.get_world_size()))
        if rank == 0 and number % 10 == 0:
            print(f"step {number:4d}  loss {float(loss):.4f}", flush=True)
        if rank == 0 and number % args.every == 0:
            save(checkpoint, (number, network.state_dict(), optimizer.state_dict()))
        time.sleep(max(0.0, args.pace - (time.monotonic() - began)))

    total = torch.stack([parameter.detach().double().sum() for parameter in network.parameters()]).sum()
    totals = [torch.zeros_like(total) for _ in range(dist.get_world_size())]
    dist.all_gather(totals, total)
    assert all(torch.equal(each, total) for each in totals), "the ranks' weights differ"
    print(f"rank {rank}: done, weights {float(total):.6f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
