"""Fits a line with a parameter server on Ray: the server on one group of workers, the gradients on another.

The groups are Ray resources of their names: ``resources={"server": 1}`` puts an actor on a member of that group. Ray
makes a lost actor or task again once its group has a node; the server then continues from the parameters that the
driver holds, so a lost worker costs a step.
"""

import argparse
import time

import ray

DATA = [(x / 10.0, 3.0 * x / 10.0 + 2.0) for x in range(40)]


@ray.remote(num_cpus=1, resources={"server": 1}, max_restarts=-1, max_task_retries=-1)
class Server:
    """The actor that applies gradients."""

    def apply(self, parameters: tuple[float, float], gradients: list[tuple[float, float]]) -> tuple[float, float]:
        """Return the parameters after one step."""
        slope, offset = parameters
        for by_slope, by_offset in gradients:
            slope, offset = slope - 0.05 * by_slope, offset - 0.05 * by_offset
        return slope, offset

    def group(self) -> str:
        """Return the group of this actor."""
        return group()


@ray.remote(num_cpus=1, resources={"worker": 1}, max_retries=-1)
def gradient(parameters: tuple[float, float], shard: list[tuple[float, float]]) -> tuple[tuple[float, float], str]:
    """Return the gradient of the squared error over a part of the data, and the group that computed it."""
    slope, offset = parameters
    errors = [(slope * x + offset - y, x) for x, y in shard]
    count = len(shard)
    return (sum(2 * error * x for error, x in errors) / count, sum(2 * error for error, _ in errors) / count), group()


def group() -> str:
    """Return the group of this member: the logical resource that its node was started with."""
    mine = ray.get_runtime_context().get_node_id()
    (node,) = (each for each in ray.nodes() if each["NodeID"] == mine)
    return next(name for name in ("head", "server", "worker") if name in node["Resources"])


def main() -> None:
    """Run the steps, and print each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--pace", type=float, default=0.0, help="seconds between steps")
    given = parser.parse_args()
    ray.init()
    shards = [DATA[::2], DATA[1::2]]
    server = Server.remote()
    print("the parameter server is on group", ray.get(server.group.remote()), flush=True)
    parameters = (0.0, 0.0)
    for step in range(given.steps):
        answers = ray.get([gradient.remote(parameters, shard) for shard in shards])
        if step == 0:
            print("gradients come from group", ", ".join(sorted({where for _, where in answers})), flush=True)
        parameters = ray.get(server.apply.remote(parameters, [found for found, _ in answers]))
        print(f"step {step}: y = {parameters[0]:.2f} x + {parameters[1]:.2f}", flush=True)
        time.sleep(given.pace)
    print("done", flush=True)


if __name__ == "__main__":
    main()
