"""The simulation catches planted bugs: five of them here; ``python -m tests.planted`` plays all."""

import pytest

from muster.daemon import controller as conductor
from muster.reconcilers.status import write_status
from tests.planted import deciding, hunting, watching, writing
from tests.planted.bug import Bug, Hunt, planted
from tests.planted.catalogue import BUGS, PAIRS

CAUGHT = [
    (deciding.epoch_in_memory, Hunt("crash", "member-fails", most=30)),
    (deciding.deadline_in_a_timer, Hunt("crash", "total-passes", most=30)),
    (writing.deleted_before_persisted, Hunt("clean", "member-fails")),
    (watching.own_writes_unread, Hunt("hold", "member-fails", most=30)),
    (watching.cache_by_name, Hunt("stranger", "coordinator-first", most=30)),
]


@pytest.mark.parametrize(("bug", "hunt"), CAUGHT, ids=[bug.name for bug, _ in CAUGHT])
def test_a_planted_bug_is_caught_and_the_undamaged_daemon_passes(bug: Bug, hunt: Hunt) -> None:
    caught = hunting.play_until_caught([bug], hunt, hunting.lines(hunt), enough=1)
    assert caught.violated, f"{bug.name} was not caught by {len(caught.played)} plans"
    assert not hunting.violations_of([], caught.violated[0][0])


def test_patches_are_removed_after_the_plan() -> None:
    with planted([writing.blind_write]):
        assert vars(conductor)["write_status"] is not write_status
    assert vars(conductor)["write_status"] is write_status


def test_the_plans_of_a_hunt_are_always_the_same() -> None:
    hunt = Hunt("crash", "happy", most=10)
    assert hunting.lines(hunt) == hunting.lines(hunt)
    assert len(set(hunting.lines(hunt))) == 10


def test_every_bug_has_a_name_a_description_and_plans() -> None:
    assert len({bug.name for bug in BUGS}) == len(BUGS) >= 12
    assert all(bug.about and bug.hunts for bug in BUGS)
    assert all(pair.hunts for pair in PAIRS)
