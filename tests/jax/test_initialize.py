"""A training program joins its gang. That it really does is shown by tests/e2e, whose gang joins this way."""

import pytest

from muster.jax import NotAMember, arguments

MEMBER = {
    "JAXOPERATOR_COORDINATOR_ADDRESS": "worker-0-0-x7k2p.run:1234",
    "JAXOPERATOR_NUM_PROCESSES": "4",
    "JAXOPERATOR_PROCESS_ID": "2",
}


def test_a_member_passes_what_jax_does_not_read_itself() -> None:
    assert arguments(MEMBER) == {
        "coordinator_address": "worker-0-0-x7k2p.run:1234",
        "num_processes": 4,
        "process_id": 2,
    }


@pytest.mark.parametrize("missing", MEMBER)
def test_a_missing_variable_is_named(missing: str) -> None:
    with pytest.raises(NotAMember, match=missing):
        arguments({name: value for name, value in MEMBER.items() if name != missing})


def test_a_process_id_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(NotAMember, match="whole numbers"):
        arguments(MEMBER | {"JAXOPERATOR_PROCESS_ID": "two"})
