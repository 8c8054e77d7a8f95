"""The code blocks of a documentation page, and how they are executed.

All ``sh`` blocks of a page are one script, which a test executes: variables stay. A comment may change a block:

- ``<!-- file: NAME -->``: it is the file NAME in the folder in which the page is executed;
- ``<!-- run by: TEST, TEST -->``: these tests do what it shows (a file, or ``file::test``);
- ``<!-- recorded: NAME -->``: docs/images/roll-call/NAME.txt, put there by docs/images/roll_call.py;
- ``<!-- not run: REASON -->``: it is left out.
"""

import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(
    r"(?:^<!-- (?P<note>file|not run|run by|recorded): (?P<text>.+?) -->\n)?^```(?P<kind>\w*)\n(?P<body>.*?)^```$",
    re.M | re.S,
)


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block, and what the comment before it states."""

    kind: str
    body: str
    line: int
    file: str = ""
    reason: str = ""
    tests: tuple[str, ...] = ()
    recorded: str = ""

    @property
    def first(self) -> str:
        return self.body.partition("\n")[0].strip()

    @property
    def is_executed(self) -> bool:
        """Whether it is a part of the script of its page."""
        return self.kind == "sh" and not self.reason and not self.tests

    @property
    def is_marked(self) -> bool:
        """Whether the page states what is done with it."""
        return bool(self.is_executed or self.file or self.reason or self.tests or self.recorded)


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        note, words = found["note"], found["text"] or ""
        yield Block(
            found["kind"],
            found["body"],
            text.count("\n", 0, found.start("body")),
            file=words if note == "file" else "",
            reason=words if note == "not run" else "",
            tests=tuple(re.split(r",\s*", words)) if note == "run by" else (),
            recorded=words.partition(",")[0] if note == "recorded" else "",
        )


def absent(path: str, name: str = "") -> bool:
    """The project has no such file, or the file no function of that name."""
    file = ROOT / path
    if not file.is_file():
        return True
    return name != "" and not re.search(rf"^ *(async )?def {name}\(", file.read_text(encoding="utf-8"), re.MULTILINE)


def script(found: Sequence[Block]) -> str:
    """The commands of a page as one bash script that stops at the first that fails and prints each block's line."""
    parts = [f"echo '::: line {block.line}'\n{block.body}" for block in found if block.is_executed]
    return "set -euo pipefail\n" + "".join(parts)


def write_files(found: Sequence[Block], folder: Path) -> None:
    for block in found:
        if block.file:
            (folder / block.file).write_text(block.body, encoding="utf-8")


@dataclass(frozen=True, slots=True)
class Shell:
    """Where the commands of a page run."""

    environment: Mapping[str, str]
    folder: Path
    requests: int
    """A descriptor that the commands inherit."""

    def run(self, text: str) -> str:
        """Run a script; both of its outputs. A status other than 0 is an AssertionError with them."""
        done = subprocess.run(
            ["bash", "-c", text],
            env=self.environment,
            cwd=self.folder,
            pass_fds=(self.requests,),
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        shown = f"{done.stdout}\n--- standard error\n{done.stderr}"
        assert done.returncode == 0, shown
        return shown
