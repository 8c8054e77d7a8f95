"""``python -m tests.simulation.traces``: what Muster decides in many plans, without its words.

The trace of a plan is the sequence of its decisions: the record and the actions without sentences, the conditions'
status and reason, and when to wake. A change of words, or of where a sentence is made, changes no trace. So a trace
from before a change and one from after it are compared: ``--out FILE`` writes a digest for each plan, ``--show PLAN``
prints a trace whole. ``--reworded`` plays with other words (``rewording``).
"""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import msgspec

from tests.simulation.command import say, with_fixed_hashes

ACTIONS: Final = "muster.state.vocabulary.actions"
"""The module of the actions, which is imported once its sentences are reworded."""
WORDS: Final = frozenset(
    {"message", "how", "waitedFor", "stuckBy", "sentence", "calls", "known", "steps", "collectives", "places"}
    | {"failure", "evidence", "why"}
)
"""Names of fields that hold a sentence, where their value is a text."""
FACTS: Final = frozenset({"stuck", "known", "about", "final", "editRefused"})
"""Names of fields that hold what sentences are made of: no action follows from these that shows in no other field."""
CONTROLLER: Final = "muster.daemon.steps.controller.decide"


def traced(line: str, *, forgetful: bool = False) -> list[str]:
    """The decisions of that plan, in order, without those that repeat the one before of their experiment.

    ``forgetful``: each is also taken from a record with other words, as another version of Muster would have written
    it, and must be the same.
    """
    from muster.state.decide.machine import Decision, decide
    from tests.simulation.plans.plan import parse
    from tests.simulation.world.world import World

    found: list[str] = []
    read: list[str] = []
    last: dict[str, str] = {}

    def noted(plan: Any, record: Any, *args: Any, **kwargs: Any) -> Decision:
        other = decide(plan, _with_other_words(record), *args, **kwargs) if forgetful and record is not None else None
        decision = decide(plan, record, *args, **kwargs)
        if other is not None and _facts(other) != _facts(decision):  # (musterd outlives an exception)
            read.append(decision.record.reason)
        row = json.dumps(_plain(decision), sort_keys=True, default=str)
        if last.get(plan.uid) != row:
            last[plan.uid] = row
            found.append(row)
        return decision

    with patch(CONTROLLER, noted):
        World(parse(line)).play()
    assert not read, f"{line}: words were read while it was {read[0]}"
    return found


def digest(line: str, *, forgetful: bool = False) -> str:
    """A line with the plan, how many decisions it has, and their digest."""
    rows = traced(line, forgetful=forgetful)
    return f"{sha256(chr(10).join(rows).encode()).hexdigest()[:16]} {len(rows):5} {line}"


def chosen(takeover: int) -> Iterator[str]:
    """The run of every scenario with its first gang; with ``takeover`` also one in which a standby takes over then."""
    from tests.scenarios.catalogue import scenarios
    from tests.simulation.plans.families import gangs
    from tests.simulation.plans.plan import Fault, Plan

    for scenario in scenarios().values():
        size, operator = next(gangs(scenario))
        yield str(Plan(scenario.name, size, operator=operator))
        if takeover:
            yield str(Plan(scenario.name, size, (Fault("failover", takeover),), operator=operator))


def _plain(decision: Any) -> dict[str, Any]:
    return {
        "record": _wordless(decision.record.to_object()),
        "actions": [_of_action(each) for each in decision.actions],
        "story": [(each.reason, each.warning) for each in decision.story],
        "probe": str(decision.probe),
        **{name: getattr(decision, name) for name in ("write", "wake_at", "read_first", "paid", "held", "moved")},
    }


def _facts(decision: Any) -> Any:
    """What is decided, whenever it is written."""
    plain = _plain(decision)
    kept = {name: plain["record"].get(name) for name in ("phase", "epoch", "reason", "cause", "attempts", "completed")}
    conditions = [(each.type, each.status, each.reason) for each in decision.record.conditions]
    return kept, conditions, plain["actions"], plain["probe"], plain["read_first"], plain["held"]


def _with_other_words(record: Any) -> Any:
    """The record, in other words."""
    from muster.state.vocabulary.record import from_status

    def other(value: Any, name: str = "") -> Any:
        if isinstance(value, Mapping):
            return {key: other(each, key) for key, each in value.items()}
        if isinstance(value, str):
            return value.swapcase() if name in WORDS else value
        return [other(each, name) for each in value] if isinstance(value, list) else value

    return from_status(other(record.to_object()))


def _wordless(value: Any) -> Any:
    """The value without sentences."""
    if isinstance(value, Mapping):
        kept = ((key, _wordless(each)) for key, each in value.items() if not _is_words(key, each))
        return dict(kept)
    return [_wordless(each) for each in value] if isinstance(value, list) else value


def _is_words(name: str, value: Any) -> bool:
    return (name in WORDS and isinstance(value, str)) or (
        name in FACTS and (name != "stuck" or isinstance(value, dict))
    )


def _of_action(action: Any) -> Any:
    """The action without its reason in words; pods by name and uid."""
    if type(action).__module__ == ACTIONS:
        rest = {name: _of_action(getattr(action, name)) for name in action.__struct_fields__}
        return {"": type(action).__name__} | {name: value for name, value in rest.items() if name not in WORDS}
    if hasattr(action, "uid") and hasattr(action, "name"):
        return f"{action.name} {action.uid}"
    if isinstance(action, msgspec.Struct):
        return _of_action(tuple(getattr(action, name) for name in action.__struct_fields__ if name not in WORDS))
    return [_of_action(each) for each in action] if isinstance(action, tuple) else action


def main() -> int:
    """Write the digests of plans, or print one trace."""
    with_fixed_hashes("tests.simulation.traces")
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.traces", description=__doc__)
    parser.add_argument("--out", help="file for the digests; without it they are printed")
    parser.add_argument("--show", metavar="PLAN", help="print the trace of that plan")
    parser.add_argument("--plan", action="append", help="only this plan; repeatable")
    parser.add_argument("--takeover", type=int, default=0, metavar="N", help="also a takeover at the Nth write of each")
    parser.add_argument("--part", type=int, default=1, metavar="N", help="only every Nth of all of these")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--reworded", action="store_true", help="with other words in muster.state")
    arguments = parser.parse_args()
    if arguments.reworded:
        from tests.simulation.rewording import install

        install()
    if arguments.show:
        say("\n".join(traced(arguments.show)))
        return 0
    from tests.simulation.runner import outcomes, pool

    lines = arguments.plan or list(islice(chosen(arguments.takeover), 0, None, arguments.part))
    played = partial(digest, forgetful=arguments.reworded)
    if arguments.processes == 1:  # at the priority of this process
        rows = list(map(played, lines))
    else:
        with pool(arguments.processes, 64) as players:
            rows = list(outcomes(players.imap(played, lines)))
    if arguments.out:
        Path(arguments.out).write_text("".join(f"{row}\n" for row in rows), encoding="utf-8")
        say(f"{len(rows)} traces, {sum(int(row.split()[1]) for row in rows)} decisions")
    else:
        say("\n".join(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
