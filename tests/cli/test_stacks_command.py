"""``muster stacks``: what it prints, as text and as data, and its exit status."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from muster.cli.commands import stacks as command
from muster.cli.exits import FAILED, PARTIAL, SUCCEEDED
from muster.client.stacks.frames import Frame, ProcessStacks, RankStacks, ThreadStack
from tests.cli.conftest import Call
from tests.cli.test_foreign_text import EVIL, harmless
from tests.client.localserver import LocalServer


def rank(number: int, *functions: str, raw: str = "Current thread 0x1") -> RankStacks:
    frames = tuple(Frame(function, "/app/train.py", 10 + index) for index, function in enumerate(functions))
    process = ProcessStacks(7, "python train.py", "faulthandler", (ThreadStack("0x1", True, frames),), raw)
    return RankStacks(number, f"pod-{number}", (process,))


def missing(number: int) -> RankStacks:
    return RankStacks(number, f"pod-{number}", unread="no py-spy in the image and spec.assist is off")


@pytest.fixture
def gives(server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Let the cluster's gang give these stacks; the arguments that they were asked with are returned."""

    def give(*found: RankStacks) -> dict[str, Any]:
        asked: dict[str, Any] = {}

        async def stacks_of(client: Any, name: str, ranks: Sequence[int], **options: Any) -> list[RankStacks]:
            asked.update(options, name=name, ranks=ranks, namespace=client.namespace)
            options["done"](len(found), len(found))
            return list(found)

        monkeypatch.setattr(command, "stacks_of", stacks_of)
        return asked

    return give


def test_the_sentences_come_first_and_then_the_stack_of_each_group(call: Call, gives: Any) -> None:
    gives(rank(0, "gather", "<module>"), rank(1, "load", "<module>"), rank(2, "gather", "<module>"))
    result = call("stacks", "mine")
    assert result.exit_code == SUCCEEDED
    assert result.stdout.splitlines() == [
        "2 ranks (0, 2) in gather at train.py:10",
        "rank 1 in load at train.py:10",
        "",
        "2 ranks (0, 2), the innermost call first:",
        "  gather (/app/train.py:10)",
        "  <module> (/app/train.py:11)",
        "",
        "rank 1, the innermost call first:",
        "  load (/app/train.py:10)",
        "  <module> (/app/train.py:11)",
    ]


def test_ranks_without_stacks_stand_on_standard_error_and_set_the_exit_status(call: Call, gives: Any) -> None:
    gives(rank(0, "gather"), missing(1), missing(3))
    result = call("stacks", "mine")
    assert result.exit_code == PARTIAL
    assert result.stderr == "2 ranks (1, 3): no py-spy in the image and spec.assist is off\n"
    gives(missing(0))
    result = call("stacks", "mine")
    assert (result.exit_code, result.stdout) == (FAILED, "")


def test_a_deep_stack_is_cut(call: Call, gives: Any) -> None:
    gives(rank(0, *(f"f{number}" for number in range(command.DEEPEST + 3))))
    assert call("stacks", "mine").stdout.splitlines()[-1] == "  and 3 more"


def test_raw_prints_what_was_read_of_every_process(call: Call, gives: Any) -> None:
    gives(rank(1, "gather", raw="Thread 0x2\n\nCurrent thread 0x1"))
    result = call("stacks", "mine", "--raw")
    assert result.stdout == "== rank 1 (pod-1), process 7: python train.py\nThread 0x2\n\nCurrent thread 0x1\n"


def test_data_has_groups_ranks_and_reasons(call: Call, gives: Any) -> None:
    gives(rank(0, "gather"), missing(1))
    result = call("stacks", "mine", "-o", "json")
    found = json.loads(result.stdout)
    assert result.exit_code == PARTIAL
    group = {"ranks": [0], "does": "in gather at train.py:10", "place": "train.py:10"}
    assert found["groups"][0] == group | {"frames": found["groups"][0]["frames"]}
    assert found["unread"][0]["ranks"] == [1]
    assert [each["rank"] for each in found["ranks"]] == [0, 1]


def test_the_options_reach_the_client(call: Call, gives: Any) -> None:
    asked = gives(rank(4, "gather"))
    call("stacks", "jobset/mine", "--rank", "4", "--timeout", "1m", "--at-once", "3", "-n", "lab")
    given = {"name": "jobset/mine", "ranks": (4,), "patience": 60.0, "at_once": 3, "namespace": "lab"}
    assert {key: asked[key] for key in given} == given


@pytest.mark.parametrize("form", [[], ["--raw"], ["-o", "json"], ["-o", "yaml"]])
def test_text_of_the_program_cannot_steer_the_terminal(call: Call, gives: Any, form: list[str]) -> None:
    gives(rank(0, f"f{EVIL}", raw=EVIL), RankStacks(1, EVIL, unread=EVIL))
    result = call("stacks", "mine", *form)
    assert harmless(result.output), ascii(result.output)
