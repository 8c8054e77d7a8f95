"""An experiment that ends as InvalidSpec is shown where every other one is: status, Event, metrics, log, page."""

import asyncio
from html import unescape
from typing import Any

from muster.daemon.app import Daemon
from muster.daemon.web.pages import Pages
from muster.daemon.web.readers import Anyone
from muster.metrics.collector import Subject
from muster.rollcall.document import Detail
from tests.daemon.virtual_daemon import RUN, Cluster, beside_a_daemon, edit, experiment, scraped, seen_by, virtually
from tests.daemon.web.subjects import Daemon as Web


@virtually
async def test_an_invalid_spec_is_in_the_status_an_event_and_the_metrics(cluster: Cluster, daemon: Daemon) -> None:
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


def pages_of(manifest: dict[str, Any], problem: str) -> tuple[str, str, Detail, str]:
    """Return the list of such problems, the page of the experiment, its document, and the message in its status."""
    known: list[tuple[Subject, str]] = []

    async def story(cluster: Cluster, daemon: Daemon) -> None:
        cluster.api.put(RUN, manifest)
        await asyncio.sleep(5)
        subject = seen_by(daemon)
        assert list(daemon.subjects()) == [subject]
        known.append((subject, str(cluster.status.get("message", ""))))

    beside_a_daemon(story)
    ((subject, message),) = known
    pages = Pages(Web([subject]), lambda: "", lambda: subject.record.finished_at or 0.0)
    (fleet, _) = asyncio.run(pages.fleet(Anyone(), {"problem": problem}))
    own = pages.experiment(Anyone(), subject, {})[0]
    return unescape(fleet.html), unescape(own.html), pages.document(subject), message


def test_an_invalid_spec_is_on_the_page_and_has_a_page_of_its_own() -> None:
    fleet, own, document, why = pages_of(experiment(debug={"jupyter": {"enabled": True}}), "failed")
    assert why.startswith("spec.debug: ")
    assert 'href="/experiments/team/run"' in fleet
    assert why in fleet
    assert why in own
    assert "Warning: InvalidSpec" in own
    assert "muster explain run --namespace team" in own
    assert "muster lint FILE" in own
    assert "0/0" not in own + fleet
    assert (document.phase, document.reason, document.message) == ("Failed", "InvalidSpec", why)


def test_a_status_that_cannot_be_read_is_on_the_page() -> None:
    fleet, own, document, _ = pages_of(experiment() | {"status": {"phase": "Dreaming"}}, "stuck")
    assert "stuck (StatusUnreadable)" in fleet
    assert "badge soon" not in fleet  # no phase is claimed
    assert "'Dreaming' is not a phase" in own
    assert "Muster does nothing with it until its status can be read" in own
    assert document.since == ""


EDIT = {"rules": [{"action": "FailExperiment", "targetGroups": ["wroker"]}]}
"""The API server accepts it: its schema cannot compare two places of a spec."""
WHY = "spec.failurePolicy.rules[0].targetGroups[0]: there is no type wroker"


@virtually
async def test_an_edit_that_cannot_be_run_is_reported_on_the_running_experiment(
    cluster: Cluster, daemon: Daemon
) -> None:
    await cluster.gang()
    edit(cluster.api, RUN, failurePolicy=EDIT)
    await asyncio.sleep(5)
    assert cluster.status["phase"] == "Running"
    assert f"the last edit is not applied, and the run continues without it: {WHY}" in cluster.status["message"]
    assert len(cluster.events("EditRefused")) == 1
    edit(cluster.api, RUN, failurePolicy={"rules": []})
    await asyncio.sleep(5)
    assert WHY not in cluster.status["message"]
    edit(cluster.api, RUN, failurePolicy=EDIT)
    await asyncio.sleep(5)
    cluster.end(0, 1)
    await asyncio.sleep(5)
    assert cluster.status["phase"] == "Succeeded"
