"""After the kubelet has expanded the command, the shell gets the line as it was written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muster.reconcilers.render.environment import shell


def kubelet(line: str, env: dict[str, str]) -> str:
    """The kubelet's expansion of one argument, after its description; it works on bytes."""
    text, out, at = line.encode(), b"", 0
    while at < len(text):
        following = text[at + 1 : at + 2]
        if text[at : at + 1] != b"$" or not following:
            out, at = out + text[at : at + 1], at + 1
        elif following == b"$":
            out, at = out + b"$", at + 2
        elif following == b"(" and (end := text.find(b")", at)) != -1:
            name = text[at + 2 : end].decode()
            out, at = out + env.get(name, f"$({name})").encode(), end + 1
        else:
            out, at = out + b"$" + chr(following[0]).encode(), at + 2
    return out.decode()


@pytest.mark.parametrize(
    "line",
    [
        "python3 -u main.py",
        "echo $$ > pid; kill -TERM $$",
        'echo "$(date)" $(echo $$) $HOME ${HOME} $((1 + 1))',
        "echo 5$€ $é",
        "odd $$$ and open $( echo",
        "a 'quoted' \"line\" \\ with `backticks`\nand a second line",
        "$",
    ],
)
def test_the_shell_sees_the_line_as_written(line: str) -> None:
    program, flag, said = shell(line)
    assert (program, flag) == ("/bin/sh", "-c")
    assert kubelet(said, {}) == line


def test_injected_variables_are_expanded_as_kubernetes_documents() -> None:
    (_, _, said) = shell("train --at $(ADDRESS) --pid $$$(RANK)")
    assert kubelet(said, {"ADDRESS": "w-0:1234", "RANK": "3"}) == "train --at w-0:1234 --pid $$3"


@given(st.text(alphabet="$()Aé\n ", max_size=12))
def test_no_line_is_changed_by_the_kubelet(line: str) -> None:
    assert kubelet(shell(line)[2], {}) == line
