"""From when on the clocks of a watched run count."""

from msgspec.structs import replace

from muster.state.decide.machine import decide
from muster.state.facts.context import Context
from muster.state.policies.watched import following
from muster.state.view.own import OwnState
from muster.state.vocabulary.plan import Engine
from muster.state.vocabulary.pod import Pod
from muster.state.vocabulary.record import Phase
from tests.builders import NOW, plan, pod, record, view


def context(*pods: Pod) -> Context:
    return Context.at(plan(engine=Engine.WATCH), record(), view(*pods), NOW)


def test_the_first_pod_says_when_an_epoch_began() -> None:
    assert following.epoch_at(context(pod(0, created=NOW - 50), pod(1, created=NOW - 60))) == NOW - 60
    for strange in (context(), context(pod(0)), context(pod(0, created=NOW + 9))):
        assert following.epoch_at(strange) == NOW, "a time that is unknown or lies ahead is now"


def test_a_daemon_that_starts_later_has_the_clock_of_a_restarted_run_go_on() -> None:
    wanted, seen = plan(engine=Engine.WATCH), view(*(pod(n, epoch=2) for n in range(4)), epoch=2)
    seen.own = OwnState(epoch=2, started_at=NOW - 900)
    for member in list(seen.pods()):
        seen.change(member, replace(member, created=NOW - 60))
    found = decide(wanted, None, seen, NOW).record
    for _ in range(3):
        found = decide(wanted, found, seen, NOW).record
    assert (found.phase, found.epoch) == (Phase.ASSEMBLING, 2)
    assert (found.started_at, found.epoch_at) == (NOW - 900, NOW - 60)
