"""The page and the metrics distinguish objects of two kinds that have one name."""

import asyncio

from muster.state.vocabulary.subject import JOBSET
from tests.daemon.run_kinds.world import World, job, virtually
from tests.daemon.virtual_daemon import experiment, scraped
from tests.kinds.jobset.jobsets import job as replicated
from tests.kinds.jobset.jobsets import jobset

JOB = "/apis/kubeflow.org/v1/namespaces/team/jaxjobs/run"
SET = f"/apis/{JOBSET.api_version}/namespaces/team/jobsets/run"
RUN = "/apis/muster.dev/v1alpha1/namespaces/team/experiments/run"


@virtually
async def test_an_experiment_and_a_jaxjob_of_one_name_are_two_subjects(world: World) -> None:
    world.serve()
    daemon = await world.daemon()
    world.api.put(JOB, job())
    world.api.put(RUN, experiment(2))
    await asyncio.sleep(10)
    found = {name: daemon.find("team", name) for name in ("run", "jaxjob/run", "jobset/run", "x/run")}
    assert {name: subject and subject.plan.operator for name, subject in found.items()} == {
        "run": "jobset", "jaxjob/run": "jaxjob", "jobset/run": None, "x/run": None,
    }  # fmt: skip
    text = scraped(daemon)
    assert 'experiment="jaxjob/run"' in text
    assert 'experiment="run"' in text
    assert 'muster_experiments_unreported{reason="duplicate"} 0.0' in text


@virtually
async def test_the_end_of_a_jobset_is_counted_and_its_series_name_it_as_one(world: World) -> None:
    """In place of ``jobset_completed_total`` and ``jobset_failed_total``."""
    world.serve(JOBSET)
    daemon = await world.daemon("jobsets")
    made = jobset(replicated("w", job={"backoffLimit": 0}, pod={"restartPolicy": "Never"}), name="run")
    world.api.put(SET, {**made, "metadata": {"name": "run", "namespace": "team"}})
    await asyncio.sleep(3)
    world.cluster.start(0)
    world.cluster.end(0)
    await asyncio.sleep(6)
    text = scraped(daemon)
    ended = 'operator="jobset-object",outcome="Succeeded",reason="AllMembersSucceeded"'
    assert f"muster_outcomes_total{{{ended}}} 1.0" in text
    assert 'experiment="jobset/run"' in text
    assert "jobset_completed_total" not in text
