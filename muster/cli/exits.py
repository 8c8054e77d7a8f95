"""The exit statuses of ``muster``."""

SUCCEEDED = 0
FAILED = 1
INVALID = 2
"""The manifest cannot be used, or the command line is wrong."""
DEADLINE = 3
"""A clock of the experiment ran out, or ``muster wait`` did."""
LOSSY = 4
"""`muster convert --strict`: the Experiment lacks something that the manifest states."""
PARTIAL = 5
"""`muster stacks`: the stacks of some ranks could not be read."""
INCIDENT = 6
"""`muster incidents --exit-code`: there is one."""
FOUND = INCIDENT
"""`muster diagnose`: trouble was found."""
INTERRUPTED = 130


def status_of(outcome: str | None) -> int:
    """Return the exit status for the outcome of an experiment; one that has not finished (None) counts as failed."""
    return {"Succeeded": SUCCEEDED, "Deadline": DEADLINE}.get(outcome or "", FAILED)
