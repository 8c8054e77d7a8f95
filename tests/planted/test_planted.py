"""The simulation catches planted bugs: here those that cost less than a few seconds; ``python -m tests.planted`` plays
all."""

import pytest

from muster.daemon.steps import status_writer as status_writer
from muster.reconcilers.status import write_status
from muster.state.facts import presence
from tests.planted import hunting, writing
from tests.planted.bug import Bug, Hunt, Swaps, bug, planted, swap
from tests.planted.catalogue import BUGS

ONLY_WITH_A_FAULT = ("own-writes-unread", "done-in-memory")
"""Bugs that no such hunt has caught so far."""
HUNTS = {case: [hunt for hunt in case.hunts if hunt.family == "clean"] for case in BUGS}
CAUGHT = [(case, hunts) for case, hunts in HUNTS.items() if hunts and case.name not in ONLY_WITH_A_FAULT]
"""Those that a run without a fault shows."""
FEW = 10
"""Bugs of `make test`. `make test-slow` has the others."""


@pytest.mark.parametrize(
    ("case", "hunts"),
    [
        pytest.param(case, hunts, id=case.name, marks=() if at % (len(CAUGHT) // FEW) == 0 else pytest.mark.slow)
        for at, (case, hunts) in enumerate(CAUGHT)
    ],
)
def test_a_planted_bug_is_caught_and_the_undamaged_daemon_passes(case: Bug, hunts: list[Hunt]) -> None:
    found = (hunting.play_until_caught([case], hunt, hunting.lines(hunt), enough=1) for hunt in hunts)
    caught = next((each for each in found if each.violated), None)
    assert caught is not None, f"{case.name} was not caught by a run without a fault"
    assert not hunting.violations_of([], caught.violated[0][0])


def test_patches_are_removed_after_the_plan() -> None:
    with planted([writing.blind_write]):
        assert vars(status_writer)["write_status"] is not write_status
    assert vars(status_writer)["write_status"] is write_status


def test_a_bug_that_does_not_fit_the_product_catches_nothing() -> None:
    @bug(Hunt("clean", "happy"))
    def without_arguments() -> Swaps:
        """A patch that was forgotten when its target got an argument."""
        return [swap(presence, "none_older", lambda: True)]

    with pytest.raises(hunting.Misfit, match="without-arguments does not fit"):
        hunting.violations_of([without_arguments], "happy:n=1")


def test_every_bug_finds_what_it_replaces() -> None:
    for case in BUGS:
        with planted([case]):
            pass
