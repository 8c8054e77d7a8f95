"""Field values that only an attacker, a bug or another version would send."""

import json

import pytest

from muster.api.values.printable import WORD, small_number, word
from muster.api.wire.kinds import MAX_COUNTER
from muster.watchers import experiments
from muster.watchers.pods import decode as pods
from tests.builders import sure
from tests.fakes.objects import pod
from tests.fuzz.samples import SPECS, experiment
from tests.fuzz.world import line_of


@pytest.mark.parametrize(
    ("address", "kept"),
    [
        *((address, address) for address in ("10.0.0.7", "fd00::1", "::")),
        *((text, "") for text in ("evil.example.org", "10.0.0.7:80", "256.1.1.1", "[::1]", "fe80::1%eth0", "\0", "")),
    ],
)
def test_only_an_address_is_kept_as_a_pods_address(address: str, kept: str) -> None:
    event = pods.DECODER.event(line_of("ADDED", pod(podIP=address)))
    assert sure(event.obj).ip == kept


def test_a_lone_surrogate_in_one_pod_does_not_spoil_the_list() -> None:
    items = [pod("u1", 1), pod("u2", 2, message="\ud800"), pod("u3", 3)]
    body = json.dumps({"metadata": {"resourceVersion": "9"}, "items": items}).encode()
    page = pods.DECODER.page(body)
    assert list(page.objects) == ["u1", "u2", "u3"]
    assert (page.version, page.problems) == (9, [])


@pytest.mark.parametrize(("given", "kept"), [(-1, 0), (0, 0), (7, 7), (2**53, 2**53), (2**63, MAX_COUNTER)])
def test_a_generation_is_bounded_to_what_a_status_holds(given: int, kept: int) -> None:
    tree = experiment("u1", "run", SPECS[0], 1)
    tree["metadata"]["generation"] = given
    event = experiments.DECODER.event(line_of("ADDED", tree))
    assert sure(event.obj).generation == kept


def test_long_words_are_cut_and_equal_words_share_memory() -> None:
    assert len(word("x" * 10_000)) == WORD
    assert word("x" * 10_000) is word("x" * 20_000)
    assert word("node-" + "7" * 3) is word("node-777")
    assert (word(None), word("")) == ("", "")


@pytest.mark.parametrize(
    ("text", "number"),
    [("0", 0), ("007", 7), ("999999999", 999_999_999), ("1000000000", -1), ("-1", -1), ("\u0663", -1), ("", -1),
     (None, -1), ("1" * 10_000, -1), ("1e3", -1), ("x", -1), (" 1", -1), ("\uff11", -1), ("0x1", -1)],
)  # fmt: skip
def test_a_label_is_a_small_number_or_nothing(text: str | None, number: int) -> None:
    assert small_number(text) == number
