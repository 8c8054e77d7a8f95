"""All bugs, and the pairs that are planted together."""

from importlib import import_module
from pathlib import Path

from tests.planted import deciding, watching, writing
from tests.planted.bug import Bug, Hunt, Pair

_FILES = sorted(Path(__file__).parent.glob("[!_]*.py"))
_MODULES = [
    import_module(f"tests.planted.{file.stem}") for file in _FILES if file.stem not in ("catalogue", "test_planted")
]
BUGS: tuple[Bug, ...] = tuple(each for module in _MODULES for each in vars(module).values() if isinstance(each, Bug))
"""The bugs of all modules beside this one."""

PAIRS: tuple[Pair, ...] = (
    Pair(
        deciding.no_barrier,
        writing.no_live_check,
        (Hunt("crash", "survivors-hang"), Hunt("stale", "survivors-hang"), Hunt("late-write", "survivors-hang")),
    ),
    Pair(
        watching.own_writes_unread,
        writing.no_live_check,
        (Hunt("hold", "survivors-hang"), Hunt("stale", "member-fails", most=250)),
    ),
    Pair(
        watching.own_writes_unread,
        writing.loss_taken_for_granted,
        (Hunt("hold", "member-fails"), Hunt("reorder", "member-fails"), Hunt("drop", "member-fails")),
    ),
    Pair(watching.own_writes_unread, writing.blind_write, (Hunt("hold", "member-fails"), Hunt("late-write", "happy"))),
)
