"""``python -m tests.fleet_hours``: hours of a fleet, with masses. False incidents and wrong names end it with 1."""

import argparse
import sys
import time

from tests.fleet_hours.play import NAMED_WITHIN, play
from tests.simulation.command import say

MOST_LATE = 0.05


def main() -> int:
    """Play, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m tests.fleet_hours", description=__doc__)
    parser.add_argument("--hours", type=float, default=1000.0, help="hours of the fleet (default: %(default)s)")
    parser.add_argument("--masses", type=int, default=60, help="mass failures in them (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of what happens (default: %(default)s)")
    parser.add_argument("--unlabelled", action="store_true", help="nodes have no labels of racks, pools and zones")
    given = parser.parse_args()
    began = time.process_time()
    seen = play(given.hours, given.masses, given.seed, labelled=not given.unlabelled)
    named, kinds = seen.named.total(), len(seen.masses)
    spent, within = time.process_time() - began, f"named rightly within {NAMED_WITHIN:.0f} s"
    say(f"{seen.hours:.0f} fleet-hours, {given.masses} masses of {kinds} kinds, {spent:.0f} s of CPU")
    say(f"false incidents: {len(seen.false)} (wanted 0)")
    say(f"masses {within}: {named} of {given.masses}; the slowest {seen.slowest:.0f} s")
    say(f"wrong names: {len(seen.wrong)} (wanted 0)")
    say(f"bad nodes of the fleet that were named: {seen.bad_nodes}")
    for title, lines in (("false", seen.false), ("late", seen.late), ("wrong", seen.wrong)):
        for line in list(lines)[:20]:
            say(f"  {title}: {line}")
    return int(bool(seen.false or seen.wrong or named < given.masses * (1 - MOST_LATE)))


if __name__ == "__main__":
    sys.exit(main())
