"""The samples that a process takes of its own collectives, with a record that the test writes."""

import json
from types import SimpleNamespace
from typing import Any

from muster.assist.mounted.place_watch import LIBRARIES
from muster.assist.mounted.torch_recorder import CHECK, FASTEST, Recorder, meets


class Native:
    """What of torch's record is asked."""

    def __init__(self) -> None:
        self.status: dict[str, dict[str, str]] = {}
        self.entries: list[dict[str, Any]] = []

    def _dump_fr_trace_json(self, entries: bool, stacks: bool, backend: str) -> bytes:
        said = {"pg_status": self.status if backend == "gloo" else {}, "entries": self.entries if entries else []}
        return json.dumps(said).encode()

    def stands(self, number: str, entered: int, over: int) -> None:
        self.status[number] = {"last_enqueued_collective": str(entered), "last_completed_collective": str(over)}

    def ran(self, number: int, *operations: str) -> None:
        for operation in operations:
            name = [str(number), "default_pg" if number == 0 else "undefined"]
            about = {"record_id": len(self.entries), "pg_id": number, "process_group": name, "is_p2p": False}
            self.entries.append({**about, "profiling_name": f"gloo:{operation}"})


def recorder() -> tuple[Recorder, Native]:
    native, one = Native(), object.__new__(Recorder)
    groups = {_Group("default_pg"): "0", _Group("undefined"): "1"}
    c10d: Any = SimpleNamespace(_world=SimpleNamespace(pg_names=groups))
    c10d.get_process_group_ranks = lambda _: [0, 1, 2]
    one.c10d, one.native = c10d, native
    one.shares, one.checked, one.check_at, one.moved_at = {}, -1, 0.0, 0.0
    return one, native


class _Group:
    def __init__(self, described: str) -> None:
        self.group_desc = described


def check(one: Recorder, at: float) -> None:
    one.moved_at = at
    one.check(at)


def test_a_group_is_sampled_once_all_of_its_operations_since_a_check_wait_for_every_member() -> None:
    one, native = recorder()
    native.ran(0, "broadcast", "all_reduce")
    check(one, 0.0)
    assert one.shares == {}  # those before the first check are of the start
    native.ran(0, "all_reduce", "_reduce_scatter_base", "barrier")
    native.ran(1, "all_reduce", "broadcast")
    check(one, CHECK - 1)
    assert one.shares == {}
    check(one, CHECK)
    assert one.shares == {"0": ["0", "default_pg", "gloo", 3, "0-2", 0, 0, 0, 0]}
    native.ran(0, "all_reduce", "broadcast")
    check(one, 2 * CHECK)
    assert one.shares == {}


def test_a_sample_counts_where_the_process_waits() -> None:
    one, native = recorder()
    native.ran(0, "all_reduce")
    check(one, 0.0)
    native.ran(0, "all_reduce")
    check(one, CHECK)
    for entered, over, other in ((5, 5, 0), (6, 5, 0), (6, 5, 1), (6, 6, 1)):
        native.stands("0", entered, over)
        native.stands("1", other, 0)
        one.sample()
    assert one.shares["0"][5:] == [6, 4, 2, 1]


def test_nothing_is_read_while_the_process_does_not_move() -> None:
    one, native = recorder()
    native.ran(0, "all_reduce")
    one.check(FASTEST + 1)
    assert one.checked == -1


TORCH = "/venv/lib/python3.12/site-packages/torch"
OWN = ("train", "/app/train.py", 88)
C10D = ("recv", f"{TORCH}/distributed/distributed_c10d.py", 2400)


def test_a_program_meets_others_where_its_line_has_called_torch_distributed() -> None:
    through = [C10D, ("wrapper", f"{TORCH}/distributed/c10d_logger.py", 83), OWN]
    stages = [("_wait_batch_p2p", f"{TORCH}/distributed/pipelining/schedules.py", 5), OWN]
    assert meets(through, LIBRARIES)
    assert meets(stages, LIBRARIES)


def test_a_line_of_the_program_that_a_library_has_called_meets_no_other_rank() -> None:
    hook = [("sleeps", "/app/hooks.py", 3), C10D, OWN]
    saves = [("save", f"{TORCH}/distributed/checkpoint/state_dict_saver.py", 9), OWN]
    assert not meets(hook, LIBRARIES)
    assert not meets(saves, LIBRARIES)
    assert not meets([], LIBRARIES)
