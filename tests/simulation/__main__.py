"""``python -m tests.simulation``: play all plans, or replay one."""

import argparse
import os
import sys
import time
from functools import partial
from itertools import islice
from operator import itemgetter

from tests.scenarios.operators import OPERATORS
from tests.simulation.command import say, with_fixed_hashes
from tests.simulation.oracles.histories import history
from tests.simulation.plans.families import FAMILIES, RANDOM
from tests.simulation.plans.plan import parse
from tests.simulation.runner import Tally, exhaustive, judge, random, run
from tests.simulation.soak import WAVE, soak
from tests.simulation.world.world import World

DEAREST = 8
"""How many scenarios are named with their seconds of CPU."""

STEP = 1000
"""Progress is printed after this many plans."""


def main() -> int:
    """Run as the command line says; 1 if there is a violation."""
    with_fixed_hashes("tests.simulation")
    arguments = _arguments()
    if arguments.replay:
        return _replay(arguments.replay)
    families = arguments.family or [*FAMILIES, RANDOM]
    began = time.monotonic()
    named = [family for family in families if family != RANDOM]
    soaking = partial(_soak, arguments.soak) if arguments.soak else None
    fixed = exhaustive(
        named,
        arguments.scenario or (),
        operators=arguments.operator or (),
        sizes=arguments.size or (),
        everywhere=arguments.everywhere,
        share=not (arguments.all or arguments.everywhere or arguments.scenario or arguments.family),
        part=arguments.part,
    )
    drawn = random(arguments.runs, arguments.seed) if RANDOM in families else ()
    tasks = [*islice(fixed, 0, None, arguments.every), *drawn]
    played = partial(_progress, len(tasks))
    tally = run(tasks, processes=arguments.processes, on_violation=_tell, on_played=played, beside=soaking)
    for family, number in tally.plans.items():
        seconds, violations = tally.seconds[family], tally.violations[family]
        say(f"  {family:12} {number:6} plans {seconds:6.0f} s of CPU, {violations} violations")
    dearest = sorted(tally.by_scenario.items(), key=itemgetter(1), reverse=True)[:DEAREST]
    say(f"  dearest scenarios: {', '.join(f'{name} {seconds:.0f} s' for name, seconds in dearest)}")
    say(f"{time.monotonic() - began:.0f} s, seeds {arguments.seed} to {arguments.seed + arguments.runs - 1}")
    say(f"plans {tally.plans.total()}, violations {tally.violations.total()}")
    return 1 if tally.violations.total() else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--runs", type=int, default=5000, help="random plans (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first random plan (default: %(default)s)")
    parser.add_argument("--all", action="store_true", help="all plans at boundaries, not CI's share of them")
    parser.add_argument("--everywhere", action="store_true", help="faults at every step, not at the phases' boundaries")
    parser.add_argument("--part", type=int, default=1, metavar="N", help="of the share, one plan in N, as CI does")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only every Nth plan that is not random")
    parser.add_argument("--family", action="append", choices=[*FAMILIES, RANDOM], help="only this family; repeatable")
    parser.add_argument("--scenario", action="append", help="only this scenario; repeatable")
    parser.add_argument("--operator", action="append", choices=OPERATORS, help="only this operator; repeatable")
    parser.add_argument("--size", type=int, action="append", help="only gangs of this size; repeatable")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1, help="default: one per processor")
    parser.add_argument("--soak", type=int, default=0, metavar="N", help="also create and delete N experiments")
    parser.add_argument("--replay", metavar="PLAN", help="play one plan and print what happens")
    parsed = parser.parse_args()
    if 0 < parsed.soak < 2 * WAVE:
        parser.error(f"--soak: at least {2 * WAVE}: what remains is compared between waves of {WAVE}")
    return parsed


def _soak(experiments: int) -> list[str]:
    world = soak(experiments)
    for footprint in world.footprints:
        say(f"  {footprint}")
    say(f"  soak of {experiments} experiments, {len(world.violations)} violations: {world.ended}")
    for violation in world.violations:
        say(f"    {violation}")
    return world.violations


def _replay(line: str) -> int:
    plan = parse(line)
    world = World(plan, say=say)
    world.play()
    result = judge(plan)
    say(f"{plan}: history {history(world).digest[:16]}, {len(result.violations)} violations")
    for violation in result.violations:
        say(f"  {violation}")
    return 1 if result.violations else 0


def _progress(all_plans: int, tally: Tally) -> None:
    if (plans := tally.plans.total()) % STEP == 0:
        say(f"  {plans:,} of {all_plans:,} plans, {tally.violations.total()} violations")


def _tell(line: str, violations: tuple[str, ...]) -> None:
    say(f"python -m tests.simulation --replay '{line}'")
    for violation in violations[:4]:
        say(f"    {violation}")


if __name__ == "__main__":
    sys.exit(main())
