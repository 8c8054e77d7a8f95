"""The commands of a block, and whether what they name exists: targets of make, settings, files, chart values."""

import re
import shlex
from collections.abc import Callable, Iterator
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, Final

import yaml

from muster.daemon.settings import Settings

ROOT: Final = Path(__file__).parents[2]
SHELL: Final = (".", "cd", "echo", "export", "kill", "sed", "sleep", "tee", "xargs")
OTHERS: Final = frozenset((*SHELL, "amtool", "muster", "curl", "docker", "etcdutl", "pip", "python", "python3", "git"))
"""Programs whose arguments are not checked here; those of muster are in test_commands_parse.py."""
VARIABLE: Final = re.compile(r"\w+=\S*")


def commands(body: str) -> Iterator[list[str]]:
    """The simple commands of a script as words: parts of a pipe or list, and what stands in ``$(...)``."""
    for line in body.replace("\\\n", " ").splitlines():
        words = shlex.shlex(line.removeprefix("$ "), posix=True, punctuation_chars="();<>|&")
        words.whitespace_split = True
        for is_end, part in groupby(words, key=lambda word: set(word) <= set("();<>|&$")):
            found = list(part)
            while found and VARIABLE.fullmatch(found[0]):
                found.pop(0)
            if found and not is_end:
                yield found


def check_musterd(words: list[str]) -> None:
    """Each option is a setting."""
    for word in words:
        if word.startswith("--"):
            assert word[2:].partition("=")[0].replace("-", "_") in Settings.model_fields, (
                f"musterd has no option {word}"
            )


def check_make(words: list[str]) -> None:
    """Each target is one of the Makefile."""
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for word in words:
        assert "=" in word or word in targets, f"make has no target {word}"


def check_paths(words: list[str]) -> None:
    """Each file of the project that is named exists."""
    for word in words:
        for path in re.findall(r"\b(?:deploy|tools|docs|examples|benchmarks)/[\w./-]*", word):
            assert (ROOT / path).exists(), f"{path} does not exist"


def check_helm(words: list[str]) -> None:
    """Each value that is set is one of the chart, and each file exists."""
    check_paths(words)
    values = yaml.safe_load((ROOT / "deploy/helm/muster/values.yaml").read_text(encoding="utf-8"))
    for option, given in pairwise(words):
        if option == "--set":
            for pair in given.split(","):
                check_value(values, pair.partition("=")[0])


def check_value(node: Any, path: str) -> None:
    """A path leads to a value. Below an empty mapping or a list, anything may stand."""
    for part in path.replace("\\.", "\0").split("."):
        if isinstance(node, list) or (isinstance(node, dict) and not node):
            return
        name = part.partition("[")[0]
        assert isinstance(node, dict), f"the chart has no value {path}"
        assert name in node, f"the chart has no value {path}"
        node = node[name]


CHECKS: Final[dict[str, Callable[[list[str]], None]]] = {
    "musterd": check_musterd,
    "make": check_make,
    "kubectl": check_paths,
    "helm": check_helm,
}


def check(words: list[str]) -> None:
    program, *arguments = words
    if program in CHECKS:
        CHECKS[program](arguments)
    else:
        assert program in OTHERS, f"{program} is not a program that these pages know"
