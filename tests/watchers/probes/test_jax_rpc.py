"""The package can send no call but the permitted ones."""

import ast
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import muster.watchers.probes.jax
from muster.watchers.probes.jax.rpc import Method, Question, Seen, fields, signed
from muster.watchers.probes.stated import CHECK

PACKAGE = Path(muster.watchers.probes.jax.__file__).parent
ROOM = PACKAGE.parent.parent
SOURCES = {path.relative_to(ROOM).as_posix(): ast.parse(path.read_text()) for path in sorted(ROOM.rglob("*.py"))}

PERMITTED = {
    "/xla.coordination.CoordinationService/WatchTasks",
    "/xla.coordination.CoordinationService/TryGetKeyValue",
    "/xla.coordination.CoordinationService/GetKeyValueDir",
    "/tensorflow.CoordinationService/WatchJobState",
    "/tensorflow.CoordinationService/GetJobState",
    "/tensorflow.CoordinationService/GetTaskState",
    "/tensorflow.CoordinationService/TryGetKeyValue",
    "/tensorflow.CoordinationService/GetKeyValueDir",
}
CALL_MAKER = "unary"
ANSWERED_BY = "post"
"""The functions that send any method, and their arguments."""


def places(wanted: str) -> list[str]:
    """Return the files that use this name as an attribute or a function."""
    return [
        name
        for name, tree in SOURCES.items()
        for node in ast.walk(tree)
        if (isinstance(node, ast.Attribute) and node.attr == wanted)
        or (isinstance(node, ast.Name) and node.id == wanted and isinstance(node.ctx, ast.Load))
    ]


def test_only_one_file_names_a_method() -> None:
    docs = {
        id(node.body[0].value)
        for tree in SOURCES.values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    names = [
        (name, node.value)
        for name, tree in SOURCES.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and "CoordinationService" in node.value
        and id(node) not in docs
    ]
    assert {name for name, _ in names} == {"probes/jax/rpc.py"}
    assert {value for _, value in names} == PERMITTED
    assert len(names) == len(PERMITTED)


def test_only_one_place_makes_a_call_with_a_method_of_the_enum_and_one_asks_for_health() -> None:
    found = set(places(CALL_MAKER))
    assert found == {"probes/jax/rpc.py", "probes/stated.py"}
    assert places(ANSWERED_BY) == ["probes/bounded/channel.py"]
    methods = {
        name: [
            ast.unparse(node.args[0])
            for node in ast.walk(SOURCES[name])
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == CALL_MAKER
        ]
        for name in found
    }
    assert methods == {"probes/jax/rpc.py": ["question.method.value"], "probes/stated.py": ["CHECK"]}
    assert CHECK == "/grpc.health.v1.Health/Check"


@given(
    st.sampled_from(Method),
    st.integers(0, (1 << 64) - 1) | st.just(0),
    st.none() | st.builds(Seen, st.integers(0, (1 << 64) - 1), st.integers(0, 1 << 40)),
    st.text(max_size=10),
)
def test_no_question_encodes_to_a_dangerous_request(
    method: Method, incarnation: int, seen: Seen | None, key: str
) -> None:
    try:
        body = Question(method, incarnation, seen, key).encode()
    except ValueError:
        return  # refused before anything was encoded
    request: dict[int, Any] = dict(fields(body))
    if method is Method.V2_WATCH_TASKS:
        assert request[2] == (seen.version if seen else (1 << 64) - 1)
        assert dict(fields(request[1])) == {3: seen.incarnation if seen else incarnation}
    elif method is Method.V1_WATCH_JOB_STATE:
        assert request == {1: b"jax_worker", 2: (1 << 64) - 1}
        assert signed(request[2]) == -1
    elif method is Method.V1_GET_TASK_STATE:
        assert list(request) == [1]
        assert dict(fields(request[1])) == {1: b"jax_worker", 2: 0}
    elif method is Method.V1_GET_JOB_STATE:
        assert request == {1: b"jax_worker"}


@pytest.mark.parametrize("method", [method for method in Method if method is not Method.V2_WATCH_TASKS])
def test_only_protocol_v2_can_be_asked_for_changes(method: Method) -> None:
    with pytest.raises(ValueError, match="cannot wait for changes"):
        Question(method, 5, Seen(5, 3), "key")


def test_a_version_of_another_incarnation_cannot_be_sent() -> None:
    with pytest.raises(ValueError, match="another incarnation"):
        Question(Method.V2_WATCH_TASKS, 6, Seen(5, 3))
