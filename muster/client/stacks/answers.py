"""What the script that asks for stacks has printed, process by process; and why a rank has none."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from muster.client.stacks.faulthandler import read_faulthandler
from muster.client.stacks.frames import ProcessStacks
from muster.client.stacks.processes import Listing, Process
from muster.client.stacks.pyspy import complaint, read_pyspy

LONGEST = 300
"""Characters of what py-spy said that are quoted."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One section: the tool, the process, what was printed, and the exit code."""

    source: str
    pid: int
    text: str
    code: int


def read_answers(text: str, nonce: str) -> Iterator[Answer]:
    """The sections that have begun; one that was cut off has the code 1."""
    head: tuple[str, int] | None = None
    lines: list[str] = []
    for line in text.split("\n"):
        words = line.split(" ")
        if words[0] != nonce or len(words) != 3 or not words[2].isdecimal():
            lines.append(line)
        elif words[1] == "end" and head:
            yield Answer(*head, "\n".join(lines), int(words[2]))
            head = None
        elif words[1] in ("spy", "stacks"):
            head, lines = (words[1], int(words[2])), []
    if head:
        yield Answer(*head, "\n".join(lines), 1)


def read_stacks(chosen: Sequence[Process], answers: Sequence[Answer]) -> tuple[tuple[ProcessStacks, ...], str]:
    """The stacks of the chosen processes, and what py-spy complained of where it read none."""
    processes = {each.pid: each for each in chosen}
    found: dict[int, ProcessStacks] = {}
    said = ""
    for answer in answers:
        process = processes.get(answer.pid)
        if process is None:
            continue
        if answer.source == "spy":
            threads = read_pyspy(answer.text) if answer.code == 0 else None
            said = said or ("" if threads else complaint(answer.text)[:LONGEST])
        else:
            threads = read_faulthandler(answer.text, process.main)
        if threads:
            name = "py-spy" if answer.source == "spy" else "faulthandler"
            found[answer.pid] = ProcessStacks(answer.pid, process.command, name, threads, answer.text.strip("\n"))
    return tuple(found.values()), said


WITHOUT_STACKS: Final = {
    "T": "is stopped (SIGSTOP, or Ctrl-Z in its terminal): it goes on after SIGCONT",
    "t": "is stopped by a debugger",
    "D": "waits in the kernel for a disk or a network file system",
    "Z": "has ended, and its parent has not asked for its exit code",
}
"""What a process that answers no signal does, by its state (proc(5))."""
SPY: Final = "put it there (pip install py-spy)"
ASSIST: Final = f"set spec.assist (muster submit --assist) for pods that are created from then on, or {SPY}"


def why_none(listing: Listing, chosen: Sequence[Process], said: str, assist: bool | None) -> str:
    """Why no process has given its stacks, and what to do. ``assist`` is None where the kind has no such field."""
    if not listing.complete:
        return "its container has no shell with ls, grep and tr"
    if not chosen:
        return "no Python process runs in its container"
    if held := next((each for each in chosen if each.state in WITHOUT_STACKS), None):
        return f"its process {held.pid} {WITHOUT_STACKS[held.state]}"
    spy = f"py-spy: {said}" if said else "no py-spy in the image"
    if any(each.file is not None for each in chosen):
        return f"{spy}, and its process did not answer SIGURG within 3 s"
    if assist is None:
        return f"{spy}: {SPY}; a jax program that joins with muster.jax.initialize() needs none"
    if assist:
        return (
            f"{spy}, and its process runs without spec.assist: it began before that was set, or its command sets "
            "PYTHONPATH, MUSTER_ASSIST=off or an option of Python that ignores them"
        )
    return f"{spy} and spec.assist is off: {ASSIST}"
