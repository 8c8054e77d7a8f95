"""Finds the tracebacks among the lines of a log, with any printer and any text in front of each line.

Launchers and frameworks put the process in front of a line: ``[rank1]: ``, ``[default0]:``, ``[1,0]<stderr>:``,
``(train pid=7) ``, ``1: ``, and Python itself ``  | `` in the traceback of an exception group. So no such form is
known here. The frame of a Python traceback is indented by two more characters than its exception is, and what is in
front of both is the same. Lines of other processes in between do not count.

Two libraries print tracebacks in forms of their own: rich in a box, IPython with the exception's name in its head.
"""

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

HEAD: Final = "Traceback (most recent call last):"
FRONT: Final = 80
"""Characters that may be in front of a line of a traceback."""

_FRAME = re.compile(
    r'(?P<front>[^"\n]{0,80}?)(?P<indent>[ \t]{2,})File "(?P<path>[^"\n]*)", line (?P<line>\d{1,9})(?:, in (?P<in>.*))?'
)
_IN_A_BOX = re.compile(r"(?P<front>[^│\n]{0,80})│ (?P<path>/?[^│\n]*):(?P<line>\d{1,9}) in (?P<in>\S+) +│")
_IN_IPYTHON = re.compile(r"File (?P<path>[^\n]*):(?P<line>\d{1,9})(?:, in (?P<in>[\w.<>]+)\()?")
_HEAD_OF_IPYTHON = re.compile(r"(?P<name>[A-Za-z_][\w.]*) +Traceback \(most recent call last\)$")
_EXCEPTION = re.compile(r"[A-Za-z_][\w.]*(: |:?$)")
_NUMBER = re.compile(r"\d+")


class Traceback(NamedTuple):
    """The end of a traceback."""

    exception: str
    """``ValueError: loss is NaN``."""
    path: str
    """The file of the frame that raised it."""
    line: str
    function: str
    front: str
    """Text in front of its lines."""
    began: int
    """The number of its head, or of the first frame that can be seen."""
    ended: int
    """The number of the line with the exception."""

    @property
    def rank(self) -> int | None:
        """Return the last number in front of its lines: where that names a rank, it is this one."""
        numbers = _NUMBER.findall(self.front)
        return int(numbers[-1]) if numbers else None


def tracebacks(lines: Sequence[str]) -> list[Traceback]:
    """Return every traceback with its last frame and its exception among these lines, in the order of their ends."""
    found: dict[str, tuple[int, re.Match[str]]] = {}  # by front: where it began, and its last frame so far
    boxes: dict[str, tuple[int, re.Match[str]]] = {}
    ended: list[Traceback] = []
    ipython: tuple[int, str, re.Match[str] | None] | None = None
    heads: dict[str, int] = {}
    for at, line in enumerate(lines):
        if line.endswith(HEAD) and len(line) <= FRONT + len(HEAD):
            heads[line[: -len(HEAD)].rstrip()] = at
        elif head := _HEAD_OF_IPYTHON.match(line):
            ipython = (at, head["name"], None)
        elif frame := _FRAME.match(line):
            front = frame["front"]
            began = found[front][0] if front in found else heads.pop(front, at)
            found[front] = (began, frame)
        elif frame := _IN_A_BOX.match(line):
            front = frame["front"]
            boxes[front] = (boxes[front][0] if front in boxes else at, frame)
        elif ipython and (frame := _IN_IPYTHON.match(line)):
            ipython = (*ipython[:2], frame)
        else:
            for front, (began, frame) in list(found.items()):
                if (said := _after(line, front, len(frame["indent"]) - 2)) is not None:
                    del found[front]
                    _add(ended, said, frame, began, at)
            for front, (began, frame) in list(boxes.items()):
                if (said := _after(line, front, 0)) is not None and said[0] not in "│╰╭":
                    del boxes[front]
                    _add(ended, said, frame, began, at)
            if ipython and ipython[2] and (line == ipython[1] or line.startswith(f"{ipython[1]}: ")):
                _add(ended, line, ipython[2], ipython[0], at)
                ipython = None
    return ended


def _after(line: str, front: str, indent: int) -> str | None:
    """Return the text of a line with that front and exactly that indentation; None of any other."""
    start = len(front) + indent
    if len(line) <= start or not line.startswith(front) or line[start].isspace() or line[len(front) : start].strip():
        return None
    return line[start:]


def _add(ended: list[Traceback], said: str, frame: re.Match[str], began: int, at: int) -> None:
    if _EXCEPTION.match(said):
        function = (frame["in"] or "").strip()
        ended.append(Traceback(said, frame["path"], frame["line"], function, _front(frame), began, at))


def _front(frame: re.Match[str]) -> str:
    return frame.groupdict().get("front") or ""
