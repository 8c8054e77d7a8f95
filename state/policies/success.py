"""Success: every member has ended with exit code 0.

A member that succeeds early is only provisionally done: if another one fails, the whole gang runs again, because a
collective program's result belongs to all of its ranks. A gang of nobody has nothing left to do.
"""

from muster.state.context import Case, Succeed


def judge(case: Case) -> Succeed | None:
    """Succeed once all members of this epoch have."""
    size = case.plan.size
    if case.tally.succeeded < size:
        return None
    if not size:
        return Succeed("no members were asked for")
    return Succeed(f"all {size} members succeeded" if size > 1 else "the member succeeded")
