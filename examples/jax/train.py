"""Data-parallel training on as many processes as the experiment has, with checkpoints.

A small network learns to classify two interleaved spirals. Each process holds its own share of the points; the
gradient is averaged over all processes by a collective in every step, so the loss is one number for the whole gang.
Rank 0 writes a checkpoint every few steps, and a restarted gang continues from there.

Nothing here imports Muster: jax reads the coordinator's address from JAX_COORDINATOR_ADDRESS by itself, and the
JAXOPERATOR_* variables are AIchor's.
"""

import argparse
import os
import pickle
import time
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

HANGS_AT = 250
"""The step at which a rank waits for data, if one is to wait."""
POINTS = 512
"""Points per process."""


def spirals(rank: int) -> tuple[np.ndarray, np.ndarray]:
    """Return this process's share of the points: two coordinates each, and the spiral of each."""
    rng = np.random.default_rng(rank)
    label = rng.integers(0, 2, POINTS)
    turn = rng.uniform(0.25, 1.75, POINTS) * 2 * np.pi
    angle = turn + label * np.pi
    noise = rng.normal(0, 0.05, (POINTS, 2))
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1) * turn[:, None] / np.pi + noise
    return points.astype(np.float32), label.astype(np.float32)


def fresh_weights() -> list[tuple[jax.Array, jax.Array]]:
    """Return two hidden layers, the same on every process."""
    sizes = [2, 64, 64, 1]
    keys = jax.random.split(jax.random.key(0), len(sizes) - 1)
    return [
        (jax.random.normal(key, (fan_in, fan_out)) * np.sqrt(2 / fan_in), jnp.zeros(fan_out))
        for key, fan_in, fan_out in zip(keys, sizes, sizes[1:], strict=False)
    ]


def loss_of(weights: list[tuple[jax.Array, jax.Array]], points: jax.Array, labels: jax.Array) -> jax.Array:
    """Return the binary cross-entropy over every process's points."""
    for matrix, bias in weights[:-1]:
        points = jax.nn.gelu(points @ matrix + bias)
    matrix, bias = weights[-1]
    logits = (points @ matrix + bias)[:, 0]
    return jnp.mean(jnp.logaddexp(0.0, logits) - labels * logits)


@partial(jax.jit, donate_argnums=(0, 1))
def step(weights, momentum, points, labels):  # type: ignore[no-untyped-def]
    """Make one step of gradient descent with momentum; XLA inserts the all-reduce between processes."""
    loss, gradients = jax.value_and_grad(loss_of)(weights, points, labels)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, gradients)
    weights = jax.tree.map(lambda w, m: w - 0.05 * m, weights, momentum)
    return weights, momentum, loss


def save(path: Path, state: object) -> None:
    """Write a checkpoint atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = path.with_suffix(".new")
    scratch.write_bytes(pickle.dumps(jax.tree.map(np.asarray, state)))
    scratch.replace(path)


def next_batch() -> None:
    """Read from a storage that does not answer."""
    time.sleep(3600)


def main() -> None:
    """Join the gang, load the last checkpoint, train."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument(
        "--checkpoints", type=Path, default=Path(os.environ.get("AICHOR_OUTPUT_PATH", ".muster/checkpoints"))
    )
    parser.add_argument("--every", type=int, default=20, help="steps between checkpoints")
    parser.add_argument(
        "--pace", type=float, default=0.05, help="least seconds per step, so that there is something to see"
    )
    parser.add_argument("--absent", type=int, default=-1, help="this rank never calls the coordinator")
    parser.add_argument("--hangs", type=int, default=-1, help="this rank waits for data forever during training")
    args = parser.parse_args()

    rank = int(os.environ["JAXOPERATOR_PROCESS_ID"])
    size = int(os.environ["JAXOPERATOR_NUM_PROCESSES"])
    if rank == args.absent:
        print(f"rank {rank} waits for data that never comes", flush=True)
        time.sleep(3600)
    jax.distributed.initialize(num_processes=size, process_id=rank)

    mesh = Mesh(np.array(jax.devices()), ("data",))
    shared = NamedSharding(mesh, P())
    split = NamedSharding(mesh, P("data"))
    points, labels = (jax.make_array_from_process_local_data(split, part) for part in spirals(rank))

    checkpoint = args.checkpoints / os.environ.get("MUSTER_EXPERIMENT_UID", "run") / "latest.pkl"
    weights = fresh_weights()
    state = (0, weights, jax.tree.map(jnp.zeros_like, weights))
    if checkpoint.exists():
        state = pickle.loads(checkpoint.read_bytes())
    first, weights, momentum = multihost_utils.broadcast_one_to_all(state)
    first = int(first)
    weights, momentum = jax.device_put((weights, momentum), shared)
    if rank == 0:
        print(f"{size} processes, {len(jax.devices())} devices, from step {first}", flush=True)

    loss = None  # a gang that starts at or after its last step has none
    for number in range(first + 1, args.steps + 1):
        began = time.monotonic()
        if rank == args.hangs and number == HANGS_AT:
            next_batch()
        weights, momentum, loss = step(weights, momentum, points, labels)
        float(loss)  # wait for it, so that the pace is that of the gang
        if rank == 0 and (number % 10 == 0 or number == args.steps):
            print(f"step {number:4d}  loss {float(loss):.4f}", flush=True)
        if rank == 0 and number % args.every == 0:
            save(checkpoint, (number, weights, momentum))
        time.sleep(max(0.0, args.pace - (time.monotonic() - began)))
    multihost_utils.sync_global_devices("done")
    if rank == 0:
        print("done" if loss is None else f"done, loss {float(loss):.4f}", flush=True)


if __name__ == "__main__":
    main()
