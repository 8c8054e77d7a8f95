"""Which taint or device the sentence of the scheduler names, where it is read as a whole."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.state.facts.incidents.readings import DEVICE, LONGEST, TAINT, unfit
from tests.builders import sure

MASTER = "1 node(s) had untolerated taint {node-role.kubernetes.io/control-plane: }"
UNSELECTED = "node(s) didn't match Pod's node affinity/selector"
ACCELERATOR = "6 node(s) had untolerated taint {nvidia.com/gpu: present}"
PREEMPTION = " preemption: 0/9 nodes are available: 9 Preemption is not helpful for scheduling."


def names(reasons: str, nodes: int = 9) -> tuple[str, str]:
    found = sure(unfit(f"no node fits pod x; 0/{nodes} nodes are available: {reasons}.{PREEMPTION}"))
    return found.decides(TAINT), found.decides(DEVICE)


@pytest.mark.parametrize(
    ("reasons", "taint", "device"),
    [
        ("9 node(s) had untolerated taint {maintenance: }", "maintenance", ""),
        (f"{MASTER}, 8 node(s) had untolerated taint {{dedicated: team-a}}", "dedicated", ""),
        ("5 node(s) had taint {old: }, that the pod didn't tolerate, 4 Insufficient cpu", "old", ""),
        (f"{MASTER}, 8 Insufficient nvidia.com/gpu", "", "nvidia.com/gpu"),
        ("8 Insufficient amd.com/gpu, 8 Insufficient cpu, 1 node(s) were unschedulable", "", "amd.com/gpu"),
        (
            f"{MASTER}, 2 Insufficient nvidia.com/gpu, 6 node(s) didn't match Pod's node affinity/selector",
            "",
            "nvidia.com/gpu",
        ),
    ],
)
def test_what_keeps_out_most_nodes_is_named(reasons: str, taint: str, device: str) -> None:
    assert names(reasons) == (taint, device)


@pytest.mark.parametrize(
    "reasons",
    [
        f"{MASTER}, 8 {UNSELECTED}",
        f"{MASTER}, 8 Insufficient cpu",
        f"{MASTER}, 8 Insufficient memory, 1 Insufficient nvidia.com/gpu",
        f"{ACCELERATOR}, 3 Insufficient cpu",
        f"{MASTER}, {ACCELERATOR}, 2 Insufficient memory",
        "4 node(s) had untolerated taint {maintenance: }, 5 Insufficient cpu",
        "3 node(s) had untolerated taint {a: }, 3 node(s) had untolerated taint {b: }, 3 Insufficient nvidia.com/gpu",
        "9 node(s) had untolerated taint {node-role.kubernetes.io/master: }",
        "",
    ],
)
def test_nothing_is_named_where_another_reason_keeps_out_more(reasons: str) -> None:
    assert names(reasons) == ("", "")


def test_a_reason_of_the_preemption_is_none_of_the_nodes() -> None:
    found = sure(unfit(f"0/9 nodes are available: 9 Insufficient cpu.{PREEMPTION}"))
    assert [each.words for each in found.reasons] == ["Insufficient cpu"]


def test_a_text_without_the_sentence_names_nothing() -> None:
    assert unfit("9 node(s) had untolerated taint {maintenance: }") is None


@given(st.text(max_size=200) | st.text("0123456789, /{}:nodes()had taint", max_size=400))
def test_a_hostile_sentence_is_read_in_its_bound(text: str) -> None:
    assert sum(len(each.words) for each in sure(unfit(f"0/9 nodes are available: {text}")).reasons) <= LONGEST
