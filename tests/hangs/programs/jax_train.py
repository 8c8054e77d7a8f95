"""A training of jax that knows nothing of Muster, or reports its steps."""

import jax
import jax.numpy as jnp

from tests.hangs.programs import course, training

training.before()
jax.config.update("jax_cpu_collectives_implementation", "gloo")
if course.REPORTS:
    from muster.jax import initialize, report

    initialize()
else:
    jax.distributed.initialize()

from jax.experimental import multihost_utils  # noqa: E402 - jax meets first


def exchange(opened: bool) -> bool:
    return bool(multihost_utils.process_allgather(jnp.ones(1) * opened).max() > 0)


def meet() -> None:
    multihost_utils.sync_global_devices("met")


def reports(step: int) -> None:
    if course.REPORTS:
        report(step, loss=1.0 / (step + 1))


training.train(exchange, meet, reports)
