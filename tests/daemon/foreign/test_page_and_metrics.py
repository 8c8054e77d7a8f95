"""The page and the metrics distinguish objects of two kinds that have one name."""

import asyncio

from tests.daemon.foreign.world import World, job, virtually
from tests.daemon.virtual_daemon import experiment, scraped

JOB = "/apis/kubeflow.org/v1/namespaces/team/jaxjobs/run"
RUN = "/apis/muster.dev/v1alpha1/namespaces/team/experiments/run"


def test_an_experiment_and_a_jaxjob_of_one_name_are_two_subjects() -> None:
    """The name of the second says its kind, as ``muster get`` takes it."""

    async def story(world: World) -> None:
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

    virtually(story)
