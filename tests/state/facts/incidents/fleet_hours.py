"""Hours of a fleet in which runs get stuck independently of each other: none of that is an incident.

400 runs on 500 nodes of 25 racks. One run in forty gets stuck each hour, for 20 minutes on average: of a node, of an
image of its own, of a coordinator that does not serve, of a missing Secret, of a frozen coordinator, and of one of six
registries that does not answer it alone. A node in a thousand fails each hour, alone, with the one or
two runs on it.

    python -m tests.state.facts.incidents.fleet_hours 1000
"""

import sys
from collections.abc import Iterator
from random import Random

from muster.state.facts.incidents.places import Places
from muster.state.facts.incidents.signs import Run, Sign
from muster.state.facts.incidents.tracking import Tracking, follow

RUNS, NODES, RACK = 400, 500, 20
STEP = 20.0
PLACES = Places(
    {
        f"n{n}": {"topology.kubernetes.io/rack": f"r{n // RACK}", "topology.kubernetes.io/zone": f"z{n % 3}"}
        for n in range(NODES)
    }
)


def false_incidents(hours: int, seed: int, *, labelled: bool) -> list[str]:
    """The incidents that were seen in so many hours."""
    random, tracking, now = Random(seed), Tracking(), 0.0
    stuck: dict[int, tuple[float, Sign]] = {}
    found: dict[str, None] = {}
    for _ in range(int(hours * 3600 / STEP)):
        now += STEP
        stuck = {number: one for number, one in stuck.items() if one[0] > now}
        for sign in _new(random, now):
            stuck.setdefault(int(sign.run.name), (now + random.expovariate(1 / 1200), sign))
        tracking = follow(tracking, (sign for _, sign in stuck.values()), now, PLACES if labelled else None)
        found |= dict.fromkeys(each.sentence for each in tracking.shown)
    return list(found)


def _new(random: Random, now: float) -> Iterator[Sign]:
    if random.random() < NODES / 1000 * STEP / 3600:
        node = f"n{random.randrange(NODES)}"
        for _ in range(random.choice((1, 2))):
            yield Sign(_run(random), "NodeNotReady", "node", node, 8, now, node=True)
    if random.random() < RUNS / 40 * STEP / 3600:
        run = _run(random)
        kind, subject, cause = random.choices(
            (
                ("image", f"r.example/{run.name}:1", "ImagePull"),
                ("registry", f"registry-{random.randrange(6)}.example", "ImagePull"),
                ("", "", "Unschedulable"),
                ("config", f'{run.namespace}/secret "{run.name}"', "ContainerCannotStart"),
                ("node", f"n{random.randrange(NODES)}", "CoordinatorFrozen"),
            ),
            (10, 1, 5, 5, 5),
        )[0]
        yield Sign(run, cause, kind, subject, 1, now)


def _run(random: Random) -> Run:
    number = random.randrange(RUNS)
    return Run(f"team-{number % 20}", str(number))


if __name__ == "__main__":
    asked = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    seen = [each for labelled in (True, False) for each in false_incidents(asked // 2, asked, labelled=labelled)]
    print(f"{asked} fleet-hours, {len(seen)} false incidents", *seen, sep="\n")  # noqa: T201 - its result
    sys.exit(bool(seen))
