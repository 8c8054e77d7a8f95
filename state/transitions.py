"""The phases of an experiment, and which phase may follow which.

Every change of phase goes through ``enter``, which refuses one that is not in the table. docs/phases.md is made from
the table: ``python -m muster.state.transitions`` prints it.
"""

import sys
from typing import Any

from msgspec.structs import replace

from muster.api.errors import MusterError
from muster.state.record import Phase, Record

TRANSITIONS: dict[Phase | None, dict[Phase, str]] = {
    None: {
        Phase.PENDING: "created",
        Phase.SUSPENDED: "created with spec.suspend",
    },
    Phase.SUSPENDED: {
        Phase.PENDING: "spec.suspend is false again; the next epoch starts",
        Phase.FAILED: "spec.cancel",
    },
    Phase.PENDING: {
        Phase.ASSEMBLING: "the first process runs",
        Phase.RESTARTING: "a member failed, was lost, or a clock with action Restart ran out",
        Phase.SUSPENDED: "spec.suspend",
        Phase.SUCCEEDED: "the success rule holds",
        Phase.FAILED: "a deadline, the restart budget, a final refusal, or spec.cancel",
    },
    Phase.ASSEMBLING: {
        Phase.RUNNING: "the roll is complete",
        Phase.RESTARTING: "as from Pending",
        Phase.SUSPENDED: "spec.suspend",
        Phase.SUCCEEDED: "the success rule holds",
        Phase.FAILED: "as from Pending",
    },
    Phase.RUNNING: {
        Phase.RESTARTING: "as from Pending",
        Phase.SUSPENDED: "spec.suspend",
        Phase.SUCCEEDED: "the success rule holds",
        Phase.FAILED: "as from Pending",
    },
    Phase.RESTARTING: {
        Phase.PENDING: "no pod of the old epoch may run, and the back-off is over; the next epoch starts",
        Phase.SUSPENDED: "spec.suspend",
        Phase.SUCCEEDED: "the edited spec asks for no members",
        Phase.FAILED: "a deadline, a final refusal, or spec.cancel",
    },
    Phase.SUCCEEDED: {},
    Phase.FAILED: {},
}
"""For each phase (None: a new experiment) the phases that may follow, and when they do."""


class IllegalTransition(MusterError):
    """A decision asks for a change of phase that the table does not have: a bug of Muster."""


def enter(record: Record, phase: Phase, now: float, **changes: Any) -> Record:
    """The record at the beginning of ``phase``, with these other changes. Raises ``IllegalTransition``."""
    if phase not in TRANSITIONS[record.phase]:
        raise IllegalTransition(f"phase {phase} cannot follow phase {record.phase}; please report this as a bug")
    return replace(record, phase=phase, phase_at=now, **changes)


def page() -> str:
    """docs/phases.md."""
    lines = [
        "<!-- Made by `python -m muster.state.transitions` from state/transitions.py. Do not edit. -->",
        "# Phases",
        "",
        "`status.phase` is a summary; the conditions are the truth. A change of phase that is not in this table is",
        "refused by the daemon.",
        "",
        "```mermaid",
        "stateDiagram-v2",
    ]
    rows = [(before, after, why) for before, nexts in TRANSITIONS.items() for after, why in nexts.items()]
    lines += [f"    {before.value if before else '[*]'} --> {after.value}" for before, after, _ in rows]
    lines += [f"    {phase.value} --> [*]" for phase, nexts in TRANSITIONS.items() if phase and not nexts]
    lines += ["```", "", "| from | to | when |", "|---|---|---|"]
    lines += [f"| {before.value if before else '(new)'} | {after.value} | {why} |" for before, after, why in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(page())
