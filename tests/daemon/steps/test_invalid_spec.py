"""An experiment that ends as InvalidSpec is seen where every other one is: status, Event, metrics, log."""

import asyncio

from muster.daemon.app import Daemon
from tests.daemon.virtual_daemon import RUN, Cluster, experiment, scraped, virtually


def test_an_invalid_spec_is_in_the_status_an_event_and_the_metrics() -> None:
    async def story(cluster: Cluster, daemon: Daemon) -> None:
        cluster.api.put(RUN, experiment(debug={"jupyter": {"enabled": True}}))
        await asyncio.sleep(5)
        assert (cluster.status["phase"], cluster.status["reason"]) == ("Failed", "InvalidSpec")
        assert len(cluster.events("InvalidSpec")) == 1
        text = scraped(daemon)
        assert 'muster_outcomes_total{operator="_invalid",outcome="Failed",reason="InvalidSpec"} 1.0' in text
        assert 'muster_experiments{operator="_invalid",phase="Failed"} 1.0' in text
        cluster.api.remove(RUN)
        await asyncio.sleep(5)
        assert 'operator="_invalid",phase="Failed"} 1.0' not in scraped(daemon)

    virtually(story)
