"""Where a pod template lets NCCL's RAS be asked."""

from typing import Any

import pytest

from muster.api.values.ras_address import ras_port


def port(value: Any, **spec: Any) -> int:
    env = [{"name": "OTHER", "value": "x:1"}, {"name": "NCCL_RAS_ADDR", "value": value}]
    template = {"spec": {"containers": [{"name": "sidecar"}, {"name": "main", "env": env}], **spec}}
    return ras_port(template)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("0.0.0.0:28028", 28028),
        ("[::]:28028", 28028),
        ("$(POD_IP):7000", 7000),
        ("eth0.example:7000", 7000),
        ("localhost:28028", 0),
        ("127.0.0.1:28028", 0),
        ("[::1]:28028", 0),
        ("28028", 0),
        (":28028", 0),
        ("0.0.0.0:0", 0),
        ("0.0.0.0:65536", 0),
        ("0.0.0.0:280280", 0),
        ("0.0.0.0:٢٨", 0),
        ("0.0.0.0:-1", 0),
        ("", 0),
        (None, 0),
        (28028, 0),
        ({"a": 1}, 0),
    ],
)
def test_the_port_is_that_of_the_variable_where_it_is_no_loopback(value: Any, found: int) -> None:
    assert port(value) == found


def test_pods_on_the_network_of_their_node_are_not_asked() -> None:
    assert port("0.0.0.0:28028", hostNetwork=True) == 0
    assert port("0.0.0.0:28028", hostNetwork=False) == 28028


@pytest.mark.parametrize(
    "template",
    [
        {},
        {"spec": None},
        {"spec": {}},
        {"spec": {"containers": None}},
        {"spec": {"containers": ["x", {"env": "NCCL_RAS_ADDR"}, {"env": ["x", {"value": "0.0.0.0:1"}]}]}},
    ],
)
def test_a_template_without_it_names_none(template: dict[str, Any]) -> None:
    assert ras_port(template) == 0
