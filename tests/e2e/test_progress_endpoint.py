"""Real programs report to a real musterd by Kubeflow's protocol, and a killed daemon makes no hang."""

import re
from pathlib import Path

import pytest

from muster.client import Snapshot
from tests.e2e.environment import environment, experiment
from tests.e2e.progress import endpoint
from tests.frameworks.interpreters import python_of, reason_without

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(600), pytest.mark.xdist_group("frameworks")]
LONG = 400.0
"""Seconds for what comes true on a machine that does much else, too."""
HERE = Path(__file__).parent
ROOT = HERE.parents[1]


@pytest.mark.skipif(python_of("transformers") is None, reason=reason_without("transformers"))
async def test_the_released_transformers_reports_its_steps_without_a_change(tmp_path: Path) -> None:
    """A real Trainer on CPU. musterd is killed, which is no hang; then the data ends to come, which is one."""
    command = f"HANGS_AT=450 OUT={tmp_path / 'out'} {python_of('transformers')} -u {HERE / 'huggingface.py'}"
    async with environment(tmp_path / "state") as cluster:
        options = await endpoint(cluster, tmp_path)
        await cluster.start_daemon(*options)
        await cluster.client.submit(
            experiment("run", command, operator="pytorch", count=1, memory=2.0, progressEndpoint=True)
        )
        seen = await cluster.until("run", lambda run: run.status.steps is not None, LONG)
        assert seen.status.steps is not None
        assert (seen.status.steps.reporting, seen.status.steps.hung_after >= 60) == (1, True)
        await cluster.kill_daemon()
        await cluster.start_daemon(*options)
        hung = await cluster.until("run", lambda run: run.status.reason == "Hung", LONG)
        assert re.search(r"no report since \S+ \(last step 4\d\d, by 1 rank\)", hung.message)


@pytest.mark.skipif(python_of("xgboost") is None, reason=reason_without("xgboost"))
async def test_each_rank_of_an_xgboost_gang_reports_its_rounds(tmp_path: Path) -> None:
    """The rank follows from the pod of the token, and no program says it."""
    command = f"PYTHONPATH={ROOT} {python_of('xgboost')} -u {HERE / 'xgboost_rounds.py'}"
    async with environment(tmp_path / "state") as cluster:
        await cluster.start_daemon(*await endpoint(cluster, tmp_path))
        await cluster.client.submit(experiment("run", command, operator="xgboost", memory=2.0, progressEndpoint=True))
        seen = await cluster.until("run", _both_report, LONG)
        assert seen.status.steps is not None
        assert seen.status.steps.step > 0


def _both_report(run: Snapshot) -> bool:
    return run.status.steps is not None and run.status.steps.reporting == 2
