"""The protocol of a PyTorch gang's process and the daemon about collectives: names, bounds and pace of its values.

A process writes one small value under ``KEYS/<member>`` into the TCPStore of its job, the n-th further process of the
same pod under ``KEYS/<member>.<n>``. Each value is a JSON object::

    {"rank": 2, "life": 1, "beat": 31, "moves": 928139, "longest": 2.5, "still": 14.0, "processes": 1,
     "groups": [["0", "default_pg", "gloo", 4, "0-3", 6, "all_reduce", 1]],
     "shares": [["0", "default_pg", "gloo", 4, "0-3", 6, 120, 95, 0]],
     "in": "next", "file": "data.py", "line": 41, "worked": 12.1, "how": "computing", "alone": 1,
     "meets": 0, "pause": 600.0}

``beat`` counts the values. ``moves`` is another number once the process has entered or ended a collective or has sent
or received. ``still`` is for how many seconds it is the same, by the monotonic clock of the process, and ``longest``
the longest time for which it was. ``life`` counts the calls of ``init_process_group``. ``groups`` is present once the
process has been still for a while: for each process group that it is in the name, the description, the backend, the
size, the ranks, the collectives that it has entered (-1: not known), the last one, and whether that is not over.
``shares`` has, of groups of gloo that have no other collectives than ``TOGETHER``, the same five and four counts that
only grow: collectives entered, random moments at which the process has looked, at how many of them it was in a
collective of the group, and at how many it was not and in one of another group. ``in``, ``file``, ``line``, ``how``,
``alone`` and ``pause`` are those of ``muster.api.places``; ``worked`` is how many seconds ago it was at work.
``meets`` is 1 if its line of the program has called torch.distributed, also to send or to receive: the record of gloo
has none of those.

``muster.assist.mounted.torch_recorder`` has the same numbers: it imports nothing of Muster.
"""

KEYS = "muster/collectives"
"""The directory of the keys."""
MAX_VALUE = 3072
"""Bytes of the value of one process."""
MAX_GROUPS = 24
"""Process groups in one value."""
MAX_RANKS = 120
"""Characters of the ranks of a group, or of their check sum."""
MAX_SHARES = 4
"""Process groups whose share of the process's time a value has."""
TOGETHER = "all_reduce", "all_gather", "allgather", "barrier", "reduce_scatter"
"""Beginnings of names of operations, after underscores, that no member leaves before all have entered."""
MAX_PROCESSES = 64
"""Processes of one pod whose values are read."""

FASTEST, SLOWEST = 2.0, 20.0
"""Seconds between two values of a process, in a gang of at most 200 and of at least 2,000 processes."""
VALUES_PER_SECOND = 100
"""Values that the store takes from the whole gang in a second between those sizes."""


def beat_interval(processes: int) -> float:
    """Return the seconds between two values of one process, in a gang of that many."""
    return min(max(processes / VALUES_PER_SECOND, FASTEST), SLOWEST)
