"""``python -m tests.phases``: docs/phases.md, drawn from the table of phases."""

import sys

from muster.state.vocabulary.transitions import TRANSITIONS


def page() -> str:
    """docs/phases.md."""
    lines = [
        "<!-- Made by `python -m tests.phases` from muster/state/vocabulary/transitions.py. Do not edit. -->",
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
