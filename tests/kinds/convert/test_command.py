"""A converted line starts a program with the words that Kubernetes would have started it with."""

import re
import subprocess
import sys

from hypothesis import example, given
from hypothesis import strategies as st

from muster.kinds.convert.pod import by_case, line_of

VARIABLES = {"RANK": "3", "NAME": "a b"}
WORDS = st.lists(
    st.lists(
        st.sampled_from(
            ["$(RANK)", "$(NAME)", "$(NOT_SET)", "$$(RANK)", "$$", "$", "a", "'", '"', " ", "\\", "*", "("]
        ),
        max_size=6,
    ).map("".join),
    max_size=4,
)
_SYNTAX = re.compile(r"\$\$|\$\(([^)]*)\)")


def kubelet(text: str) -> str:
    """What Kubernetes makes of a word (third_party/forked/golang/expansion)."""
    return _SYNTAX.sub(lambda found: "$" if found[1] is None else VARIABLES.get(found[1], found[0]), text)


def words_of(line: str) -> list[str]:
    show = f"set -- {line}\n" + r"""for word; do printf '%s\0' "$word"; done"""
    text = subprocess.run(["/bin/sh", "-c", show], capture_output=True, check=True, text=True).stdout
    return text.split("\0")[:-1]


@given(WORDS)
@example(["$('$(RANK)", "$($$)"])
def test_the_words_of_a_line_are_those_of_the_container(words: list[str]) -> None:
    line = line_of([sys.executable, *words])
    kept = re.sub(r"(\$\([^)]*\))|\$\$", lambda found: found[1] or "$$$$", line)  # as reconcilers.render.command does
    assert words_of(kubelet(kept)) == [kubelet(word) for word in (sys.executable, *words)]


def test_lines_that_differ_are_chosen_by_a_variable() -> None:
    line = by_case("GROUP", {"a": "echo first", "*": "echo other"})
    for group, said in (("a", "first"), ("b", "other")):
        found = subprocess.run(
            ["/bin/sh", "-c", line], capture_output=True, check=True, text=True, env={"GROUP": group}
        )
        assert found.stdout.strip() == said
