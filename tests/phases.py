"""``python -m tests.phases`` prints the diagram of phases (Mermaid) and when each change happens."""

import sys

from muster.state.vocabulary.transitions import TRANSITIONS


def diagram() -> str:
    """Return the diagram and the table of changes."""
    lines = ["```mermaid", "stateDiagram-v2"]
    rows = [(before, after, why) for before, nexts in TRANSITIONS.items() for after, why in nexts.items()]
    lines += [f"    {before.value if before else '[*]'} --> {after.value}" for before, after, _ in rows]
    lines += [f"    {phase.value} --> [*]" for phase, nexts in TRANSITIONS.items() if phase and not nexts]
    lines += ["```", "", "| from | to | when |", "|---|---|---|"]
    lines += [f"| {before.value if before else '(new)'} | {after.value} | {why} |" for before, after, why in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(diagram())
