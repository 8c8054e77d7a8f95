"""The address that survivors quote names the member that they lost, and only where it can be no other one."""

from time import process_time
from typing import Any

import pytest

from muster.api.values.printable import MESSAGE
from muster.api.values.termination_message import words
from muster.kinds.jax.operator import JAX
from muster.kinds.pytorch.operator import PYTORCH
from muster.state.facts.context import Context
from muster.state.policies import restart
from muster.state.policies.failures import culprit
from muster.state.policies.verdicts import Wait
from muster.state.vocabulary.pod import Exit, Pod, PodPhase
from tests.builders import NOW, pod
from tests.state.policies.failures.test_culprit import case, cause

GLOO = (
    "[/__w/pytorch/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:561] Connection closed by peer [{ip}]:41234. "
    "This is typically caused by a remote worker crashing. Check the logs of the remote worker before reporting an "
    "error. GLHF! 🏖️"
)
OLD_GLOO = "[./gloo/transport/tcp/pair.cc:598] Connection closed by peer [{ip}]:41234"
RESET = "[./gloo/transport/tcp/pair.cc:589] Read error [{ip}]:41234: Connection reset by peer"
WRITE = "[./gloo/transport/tcp/pair.cc:394] writev [{ip}]:41234: Broken pipe"
NCCL = (
    "NCCL error in: ../torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp:2395, remote process exited or there was a "
    "network error, NCCL version 2.21.5"
)
NCCL_LINES = (
    f"torch.distributed.DistBackendError: {NCCL}\nncclRemoteError: A call failed possibly due to a network error or a "
    "remote process exiting prematurely.\nLast error:\nsocketProgress: Connection closed by remote peer {ip}<41234>"
)
NCCL_RESET = f"{NCCL} socketProgressOpt: Call to recv from {{ip}}<41234> failed : Connection reset by peer"
TRACEBACK = 'Traceback (most recent call last):\n  File "train.py", line 15, in <module>\n    step()\n'


def address(rank: int) -> str:
    return pod(rank).ip


def survivor(rank: int, lost: int | str, form: str = OLD_GLOO, **changes: Any) -> Pod:
    ip = lost if isinstance(lost, str) else address(lost)
    text = form.format(ip=ip)
    said = words(f"{TRACEBACK}{text if ': ' in text.split()[0] else f'RuntimeError: {text}'}\n")
    end = Exit("main", 1, 0, "Error", said.text, NOW - 1, explains=said.explains, last_line=said.last_line)
    return pod(rank, phase=PodPhase.FAILED, exit=end, **changes)


def torch_case(*pods: Pod, now: float = NOW + culprit.WAIT, **more: Any) -> Context:
    return case(*pods, now=now, survivor_text=PYTORCH.survivor_text, culprits=PYTORCH.culprits, **more)


def named(*pods: Pod, **more: Any) -> int | None:
    found = culprit.named(torch_case(*pods, **more))
    return found.rank if found is not None else None


@pytest.mark.parametrize("form", [GLOO, OLD_GLOO, RESET, WRITE, f"{NCCL_LINES}", NCCL_RESET])
def test_the_peer_whose_connection_ended_is_the_cause(form: str) -> None:
    found = cause(torch_case(survivor(1, 3, form)))
    assert (found.rank, found.reason, found.exit_code) == (3, "RankFailed", None)
    assert found.message == "rank 1 lost its connection to it"
    assert found.pod == pod(3).name


def test_gloo_under_jax_names_it_too() -> None:
    text = "ValueError: Gloo AllGather failed: [gloo/transport/tcp/pair.cc:547] Connection closed by peer [{ip}]:9"
    found = culprit.named(case(survivor(0, 2, text), survivor_text=JAX.survivor_text, culprits=JAX.culprits))
    assert found == culprit.Named(2, "rank 0 lost its connection to it")
    assert named(survivor(0, "fd00::7"), pod(2, ip="fd00::7")) == 2, "by an address of IPv6"


def test_a_peer_that_ended_with_0_has_left_the_others() -> None:
    done = Exit("main", 0, 0, "Completed", "", NOW - 5)
    found = cause(torch_case(survivor(0, 3), survivor(1, 3), pod(3, phase=PodPhase.SUCCEEDED, exit=done)))
    assert found.rank == 3
    assert found.message == "its program ended with exit code 0, and rank 0 lost its connection to it"


def test_survivors_that_quote_survivors_lead_to_the_one_that_is_none() -> None:
    assert named(survivor(0, 1), survivor(1, 2), survivor(2, 3)) == 3
    assert named(survivor(0, 2), survivor(1, 3), survivor(2, 3)) == 3


def test_of_more_survivors_than_are_searched_the_quotes_are_followed_too() -> None:
    """The first ones quote one that is not searched, which quotes the member that was lost."""
    last = culprit.READ + 1
    many = [survivor(rank, last) for rank in range(culprit.READ)]
    assert named(*many, survivor(last, culprit.READ), pod(culprit.READ), size=last + 1) is None
    spared = culprit.READ - 1
    assert named(*many[:-1], survivor(last, spared), pod(spared), size=last + 1) == spared


@pytest.mark.parametrize(
    "pods",
    [
        (survivor(0, 1), survivor(1, 0)),
        (survivor(0, 1), survivor(1, 0), survivor(2, 3)),
        (survivor(0, 2), survivor(1, 3)),
        (survivor(0, 0),),
        (survivor(0, "10.9.9.9"),),
        (survivor(0, 1), survivor(1, "10.9.9.9")),
        (survivor(0, 1), survivor(1, 1)),
        (survivor(0, 3, OLD_GLOO + f" [{address(2)}]:7; " + OLD_GLOO.replace("{ip}", address(2))),),
        (survivor(0, "10.9.0.1"), pod(2, ip="10.9.0.1"), pod(3, ip="10.9.0.1")),
        (survivor(0, "10.9.0.1", ip="10.9.0.1"), pod(2, ip="10.9.0.1")),
        (survivor(0, "10.9.0.1"), pod(3, ip="10.9.0.1", epoch=1)),
        (survivor(0, "127.0.0.1"), pod(2, ip="127.0.0.1")),
        (survivor(0, "127.0.1.3"), pod(2, ip="127.0.1.3")),
        (survivor(0, "::1"), pod(2, ip="::1")),
    ],
    ids=[
        "each other", "a circle beside", "two ends", "itself", "no member", "not at last", "itself at last", "two",
        "members share it", "it shares it", "another epoch", "loopback", "another loopback", "loopback of IPv6",
    ],
)  # fmt: skip
def test_quotes_that_lead_to_no_single_member_name_none(pods: tuple[Pod, ...]) -> None:
    assert named(*pods) is None


@pytest.mark.parametrize(
    "text",
    [
        "[./gloo/transport/tcp/pair.cc:152] timed out connecting: SO_ERROR: Connection refused, remote=[{ip}]:13723",
        "[./gloo/transport/tcp/pair.cc:144] no error [{ip}]:13723",
        f"{NCCL} NET/IB: Got completion from peer {{ip}}<41234> with status=12",
        f"{NCCL} socketPollConnect: connect to {{ip}}<41234> returned Connection refused",
        "torch.distributed.DistNetworkError: The client socket has failed to connect to ({ip}, 23456)",
    ],
)
def test_an_address_of_which_no_connection_has_ended_names_none(text: str) -> None:
    assert named(survivor(0, 3, text)) is None


def test_a_failure_of_its_own_goes_before_what_survivors_quote() -> None:
    own = pod(2, phase=PodPhase.FAILED, exit=Exit("main", 1, 0, "Error", "ValueError: loss is NaN", NOW))
    assert cause(torch_case(survivor(0, 3), survivor(1, 3), own)).rank == 2


def test_the_end_of_the_peer_is_waited_for() -> None:
    assert isinstance(restart.judge(torch_case(survivor(0, 3), now=NOW)), Wait)
    killed = pod(3, phase=PodPhase.FAILED, exit=Exit("main", 137, 9, "OOMKilled", "", NOW))
    found = cause(torch_case(survivor(0, 3), killed, now=NOW))
    assert (found.rank, found.reason) == (3, "OOMKilled")


def test_a_text_that_is_made_to_be_slow_is_not() -> None:
    closed = "Connection closed by peer [", "Connection closed by remote peer 1.1.1.1"
    for part in (*closed, "Read error [1:1]:1", "1.1"):
        text = f"RuntimeError: gloo/transport {part * (40 * MESSAGE // len(part))}"
        end = Exit("main", 1, 0, "Error", text, NOW - 1)
        began = process_time()
        assert culprit.named(torch_case(pod(0, phase=PodPhase.FAILED, exit=end))) is None
        assert process_time() - began < 1
