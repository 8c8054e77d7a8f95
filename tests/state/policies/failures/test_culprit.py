"""Where only survivors are seen to fail, the rank that they name is the cause, and a few seconds are waited for it."""

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
from muster.state.policies.verdicts import Fail, ReadFirst, Restart, Wait
from muster.state.view.engine_facts import LiveRead
from muster.state.view.roll import RankError, RankState, RollAnswer
from muster.state.vocabulary.pod import Exit, Pod, PodPhase
from muster.state.vocabulary.record import Cause
from tests.builders import NOW, answer, plan, pod, record, sure, view, view_of

ABORTED = 134
BARRIER = (
    "INTERNAL: Shutdown barrier has failed. Barrier result: 'DEADLINE_EXCEEDED: Barrier timed out. # of tasks that "
    "reached the barrier: {reached}/4. The first task at the barrier: {first}. Some timed out task names: 0 2"
)
ALONE = BARRIER.format(reached=1, first=1)
SILENT = "UNAVAILABLE: The following tasks are unhealthy (stopped sending heartbeats): 2 The tasks have crashed."
LOST_PEER = "ValueError: UNKNOWN: Gloo AllGather failed: [gloo/transport/tcp/pair.cc:547] Connection closed by peer"
FAILED = RankState.FAILED
OF_PYTORCH: dict[str, Any] = {"survivor_text": PYTORCH.survivor_text, "culprits": PYTORCH.culprits}


def ended(rank: int, code: int = ABORTED, says: str = "", at: float = NOW - 1, **changes: Any) -> Pod:
    return pod(rank, phase=PodPhase.FAILED, exit=Exit("main", code, 0, "Error", says, at), **changes)


def case(
    *pods: Pod, heard: RollAnswer | None = None, now: float = NOW, first_seen: float = NOW - 1, **plan_fields: Any
) -> Context:
    """Four members: those given, and running ones for the other ranks. The failures were ``first_seen`` then."""
    ranks = {each.rank for each in pods}
    run, kept = plan(**plan_fields), record(scheduled_at=NOW - 60)
    seen = view(*pods, *(pod(rank) for rank in range(4) if rank not in ranks), heard=heard)
    seen.engine.live_read = LiveRead(NOW, 1)
    for at in (first_seen, now):
        seen.remember(run, kept, at)
    return Context.at(run, kept, seen, now)


def cause(context: Context) -> Cause:
    verdict = restart.judge(context)
    assert isinstance(verdict, Restart | Fail)
    assert verdict.cause is not None
    return verdict.cause


def barrier_failed(text: str) -> RollAnswer:
    errors = tuple(RankError(rank, 13, text) for rank in range(4))
    return answer(FAILED, FAILED, FAILED, FAILED, errors=errors)


def test_the_rank_that_the_coordinator_names_is_the_cause() -> None:
    aborted = [ended(rank) for rank in range(4)]
    found = cause(case(*aborted, heard=barrier_failed(ALONE)))
    assert (found.rank, found.exit_code) == (1, ABORTED)
    assert found.message == "it was alone at JAX's shutdown barrier: its program ended before those of the others"


def test_the_rank_that_a_survivors_last_words_name_is_the_cause() -> None:
    says = ("", "coordination_service_agent.cc: Polled an error", ALONE, LOST_PEER)
    assert cause(case(*(ended(rank, says=words) for rank, words in enumerate(says)))).rank == 1


def test_what_the_named_rank_says_itself_goes_before_what_the_others_say_of_it() -> None:
    last = ended(1, says="ValueError: loss is NaN")
    found = cause(case(ended(0, says=ALONE), last, ended(2, says=ALONE), ended(3, says=ALONE)))
    assert (found.rank, found.message) == (1, "ValueError: loss is NaN")


def test_a_rank_without_heartbeats_is_the_cause_though_its_pod_runs() -> None:
    context = case(*(ended(rank, says=SILENT) for rank in (0, 1, 3)), now=NOW + culprit.WAIT)
    found = cause(context)
    assert (found.rank, found.reason, found.exit_code) == (2, "RankFailed", None)
    assert "stopped sending heartbeats" in found.message


@pytest.mark.parametrize(("reached", "first"), [(3, "1"), (1, "4"), (1, "99999999999999999999")])
def test_a_barrier_that_several_ranks_have_reached_and_a_rank_that_the_gang_does_not_have_name_nobody(
    reached: int, first: str
) -> None:
    """Of several, the first may have ended as it should, while another one went on for too long."""
    failed = BARRIER.format(reached=reached, first=first)
    assert culprit.named(case(ended(0, says=failed), heard=barrier_failed(failed))) is None


def test_versions_up_to_0_7_name_the_task_by_its_path() -> None:
    path = BARRIER.format(reached=1, first="/job:jax_worker/replica:0/task:3")
    assert sure(culprit.named(case(heard=barrier_failed(path)))).rank == 3


@pytest.mark.parametrize("says", ["ValueError: loss is NaN", "terminate called after throwing std::bad_alloc"])
def test_an_abort_with_words_of_its_own_is_no_consequence(says: str) -> None:
    context = case(ended(0, says=ALONE, at=NOW - 2), ended(3, says=says), heard=barrier_failed(SILENT))
    assert cause(context).rank == 3


def test_an_abort_after_the_greeting_of_gloo_is_a_consequence_and_an_exit_with_a_code_is_none() -> None:
    greeting = words("[Gloo] Rank 3 is connected to 3 peer ranks. Expected number of connected peer ranks is : 3").text
    assert cause(case(ended(3, says=greeting, at=NOW - 2), ended(1, 1, "ValueError: loss is NaN"))).rank == 1
    assert cause(case(ended(0, 1, LOST_PEER), ended(3, 3, greeting), now=NOW + culprit.WAIT)).rank == 3


def test_an_exception_that_says_a_peer_was_lost_is_a_consequence() -> None:
    lost = [ended(rank, 1, LOST_PEER) for rank in (0, 2, 3)]
    assert cause(case(*lost, ended(1, 1, "ValueError: loss is NaN"))).rank == 1
    assert isinstance(restart.judge(case(*lost)), Wait)
    assert cause(case(*lost, ended(1, 1, "ValueError: loss is NaN"), **OF_PYTORCH)).rank == 1


def test_a_mismatch_of_collectives_that_gloo_notices_is_no_consequence() -> None:
    mismatch = (
        "terminate called after throwing an instance of 'gloo::EnforceNotMet'\n"
        "  what():  [enforce fail at /pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:454] op.preamble.length <= "
        "op.nbytes. 4096 vs 40. Received data size doesn't match expected size. Is there a distributed collective "
        "mismatch in your code?"
    )
    lost = [ended(rank, 1, LOST_PEER) for rank in (0, 2)]
    assert cause(case(*lost, ended(1, 134, mismatch), **OF_PYTORCH)).rank == 1


def test_a_killed_rank_is_no_survivor_whatever_it_says_last() -> None:
    assert cause(case(ended(2, 137, LOST_PEER))).rank == 2


def test_a_step_waits_for_what_a_lone_abort_is_a_consequence_of() -> None:
    assert restart.judge(case(ended(0))) == Wait(NOW - 1 + culprit.WAIT)
    assert cause(case(ended(0), now=NOW - 1 + culprit.WAIT)).rank == 0


def test_a_step_waits_longer_where_a_launcher_sees_the_end_of_its_process_late() -> None:
    assert restart.judge(case(ended(0), launcher=5.0)) == Wait(NOW - 1 + culprit.WAIT + 5)
    killed = ended(1, 1, "rank 2 of the node was ended by signal 9")
    late = case(ended(0), killed, now=NOW - 1 + culprit.WAIT + 4, launcher=5.0)
    assert cause(late).rank == 1


def test_a_step_waits_for_the_end_of_the_rank_that_is_named() -> None:
    assert isinstance(restart.judge(case(ended(0, says=ALONE))), Wait)
    assert not isinstance(restart.judge(case(ended(0, says=ALONE), ended(1))), Wait)


def test_nothing_is_waited_for_once_all_have_ended_or_a_failure_of_its_own_or_a_disruption_is_seen() -> None:
    assert cause(case(*(ended(rank) for rank in range(4)))).rank == 0
    assert cause(case(ended(0), ended(1, 1, "ValueError: loss is NaN"))).rank == 1
    assert cause(case(ended(0), pod(2, terminating=True, disruption="Preempted"))).disruption


@pytest.mark.parametrize("at", [NOW + 30, NOW - 30, 0.0])
def test_a_wait_is_on_the_daemons_own_clock_whatever_that_of_the_node_says(at: float) -> None:
    assert restart.judge(case(ended(0, at=at))) == Wait(NOW - 1 + culprit.WAIT)
    assert cause(case(ended(0, at=at), now=NOW - 1 + culprit.WAIT)).rank == 0


def test_a_wait_begins_again_in_each_epoch() -> None:
    seen = view_of(case(ended(0)))
    seen.remember(plan(), record(epoch=1), NOW)
    assert seen.failed_at is None
    seen.change(None, ended(2, epoch=1))
    seen.remember(plan(), record(epoch=1), NOW + 5)
    assert seen.failed_at == NOW + 5


def test_an_operator_whose_survivors_are_not_known_waits_for_nothing() -> None:
    unknown: dict[str, Any] = {"survivor_exits": frozenset(), "survivor_text": "", "culprits": ()}
    assert cause(case(ended(0, says=ALONE), **unknown)).rank == 0


def test_the_pods_are_read_from_the_live_api_before_the_wait() -> None:
    assert isinstance(restart.judge(case(ended(0, resource_version=2))), ReadFirst)


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
    quoted = words(f"{TRACEBACK}{text if ': ' in text.split()[0] else f'RuntimeError: {text}'}\n")
    end = Exit("main", 1, 0, "Error", quoted.text, NOW - 1, explains=quoted.explains, last_line=quoted.last_line)
    return pod(rank, phase=PodPhase.FAILED, exit=end, **changes)


def torch_case(*pods: Pod, now: float = NOW + culprit.WAIT, **more: Any) -> Context:
    return case(*pods, now=now, **OF_PYTORCH, **more)


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
