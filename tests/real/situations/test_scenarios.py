"""Scenarios that state what the status says, with pretended programs under the real controllers.

The simulation plays the same rows with every fault. Here users act by `muster` and kubectl, and minutes are cut to
seconds: what happens ``after`` some time happens ``SOON``, and the clocks are those of ``SHORT``.
"""

import asyncio
from collections.abc import Iterator

import pytest

from muster.kube.resources import core
from tests.fakes.plans import experiment_path
from tests.real.core import with_core
from tests.real.namespace import Refused, eventually
from tests.real.site import Site
from tests.scenarios.catalogue import scenarios
from tests.scenarios.incidents import EVERY_EPOCH, Ends, Fails
from tests.scenarios.scenario import Scenario, UserAction, charged_in, worded

pytestmark = pytest.mark.timeout(400)
SIZE = 4
SOON, WORK = 2, 8
"""Seconds from the start of a program to its incident, and to its success."""
SHORT = {"timeout": "6s", "ttlAfterFinished": "5s"}
"""Fields of a spec in place of the scenario's."""


def script(scenario: Scenario) -> str:
    """What the pods pretend (``tests.real.nodes.script``). They run on where the status does not say that they end."""
    return "\n".join(_lines(scenario))


def _lines(scenario: Scenario) -> Iterator[str]:
    for one in scenario.incidents:
        assert isinstance(one, Fails | Ends), f"{scenario.name}: no script pretends {one}"
        code = one.code if isinstance(one, Fails) else 0
        for epoch in [""] if one.epochs == EVERY_EPOCH else [f" epoch={each}" for each in one.epochs]:
            yield f"rank={one.rank % SIZE}{epoch}: run {SOON}, exit {code}"
    yield from (f"epoch={epoch}: run 600" for epoch in range(scenario.end.epoch))
    yield f"*: run {WORK}, exit 0" if any(each.startswith("^Succeeded") for each in scenario.says) else "*: run 600"


async def act(here: Site, action: UserAction) -> None:
    """What the user of a scenario does."""
    if action.delete:
        await here.kubectl("delete", "experiment", "run")
    elif action.spec == {"cancel": True}:
        await here.muster("cancel", "run")
    else:
        await here.change("run", **action.spec)
    if action.spec.get("suspend"):
        await here.emptied("run")


async def without_pods(here: Site) -> bool:
    return not await here.pods("run")


async def gone(here: Site) -> bool:
    """Experiment, pods and Service are gone."""
    left = [experiment_path(here.namespace, "run"), core(here.namespace, "services", "run")]
    return await without_pods(here) and not any([await here.get(path) for path in left])


async def stopped(here: Site) -> bool:
    return all(pod["status"]["phase"] not in ("Pending", "Running") for pod in await here.pods("run"))


@pytest.mark.parametrize(
    "name", with_core([each.name for each in scenarios().values() if each.sentences(SIZE)], "member-fails")
)
async def test_a_scenario_is_reported_and_charged_as_it_states(here: Site, name: str) -> None:
    scenario = scenarios()[name]
    here.row.happens(f"scenario {name}")
    await here.submit("run", script(scenario), members=SIZE, **{**scenario.spec, **_short(scenario)})
    ended = asyncio.create_task(
        here.until("run", lambda seen: seen.finished or seen.holds("Stuck"), 300), name="watch for the end"
    )
    try:
        said = await _course(here, scenario)
        if scenario.end.phase:
            seen = await ended
            assert charged_in(seen.raw["status"]) == scenario.end.charged(SIZE)
            await eventually(lambda: stopped(here))
        else:
            await eventually(lambda: gone(here))
            with pytest.raises(Refused, match="does not exist"):
                await here.muster("get", "run")
            said.append("Experiment, pods and Service are gone")
    finally:
        ended.cancel()
        await asyncio.gather(ended, return_exceptions=True)
    here.row.said = "; then: ".join(said)


def _short(scenario: Scenario) -> dict[str, str]:
    return {field: value for field, value in SHORT.items() if field in scenario.spec}


async def _course(here: Site, scenario: Scenario) -> list[str]:
    """What is said after each action of a user, and by itself; of one that is deleted, before."""
    said = []
    alone = [worded(each, SIZE) for each in scenario.says]
    if scenario.user_actions:
        await here.phase("run", "Running")
    for action in scenario.user_actions:
        if action.delete:
            said += [await here.says("run", alone.pop(0)) for _ in range(len(alone))]
        await act(here, action)
        if action.says:
            said.append(await here.says("run", worded(action.says, SIZE)))
    return [*said, *[await here.says("run", each) for each in alone]]
