"""The reason of a program's end in the last lines of its log: its exception, and how the process of a launcher ended.

A launcher is a program that starts the program, and reports its end as seen from outside. It ends with a code of its
own, most often 1, and its last words are its own: its traceback, a block of rules. The exit code or signal of the
process that failed first is among them. So the last traceback need not be the program's (``end_of``).
"""

import re
import signal
from collections.abc import Sequence
from typing import Final, NamedTuple

LONGEST: Final = 1_024
"""Characters of a line that are looked at."""

_RULE = frozenset("=-_*#~+─━═╭╮╰╯│ ")
"""Characters of lines that only part other lines."""
_WARNING = re.compile(r"\S{1,253}:\d{1,9}: \w{0,80}Warning: ")
_NOISE = re.compile(
    r"^\s*(@ +0x|\*\*\* )"  # a frame of C++ code
    r"|^\s*[EFIW]\d{4} \d\d:|^(\[\S{1,40}\]:\s?)?\[[IW]\d{4} \d\d:"  # lines of absl's log, and of torch's
    r"|^\[Gloo\] Rank \d+ is connected to "
    r"|thus NOT reported|terminate unexpectedly|until terminated by a signal|check your firewall settings"
    r"|^\s*ray stop$|^--block$"  # the banner with which ``ray start`` ends
    r"|^wandb: (?!ERROR)"  # the banner with which it begins and ends
    r"|^ERROR conda\.cli\.main_run:"
    rf"|^{_WARNING.pattern}|^\s*warnings\.warn\("  # a warning of Python, and its line of source
    r"|^(?:DEBUG|INFO):|^WARNING: All log messages before absl::"  # lines of Python's logging, and of absl's
)


def is_noise(line: str) -> bool:
    """Return True if a line explains no end, though it may be the last: a rule, a banner, a warning of a library."""
    start = line[:LONGEST]
    return not start.strip() or _RULE.issuperset(start) or _NOISE.search(start) is not None


def last_of(lines: list[str]) -> str:
    """Return the last line that is not empty; empty if that does not explain an end."""
    at = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].strip()), -1)
    if at < 0 or is_noise(lines[at]):
        return ""
    source_of_a_warning = lines[at][0].isspace() and at > 0 and _WARNING.match(lines[at - 1])
    return "" if source_of_a_warning else lines[at].strip()


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
    """Return every traceback with its last frame and its exception among these lines, in the order of their ends.

    Launchers and frameworks put the process in front of a line: ``[rank1]: ``, ``[default0]:``, ``[1,0]<stderr>:``,
    ``(train pid=7) ``, ``1: ``, and Python itself ``  | `` in the traceback of an exception group. So no such form is
    known here. The frame of a Python traceback is indented by two more characters than its exception is, and what is in
    front of both is the same. Lines of other processes in between do not count. Two libraries print tracebacks in forms
    of their own: rich in a box, IPython with the exception's name in its head.
    """
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
                if (content := _after(line, front, len(frame["indent"]) - 2)) is not None:
                    del found[front]
                    _add(ended, content, frame, began, at)
            for front, (began, frame) in list(boxes.items()):
                if (content := _after(line, front, 0)) is not None and content[0] not in "│╰╭":
                    del boxes[front]
                    _add(ended, content, frame, began, at)
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


def _add(ended: list[Traceback], content: str, frame: re.Match[str], began: int, at: int) -> None:
    if _EXCEPTION.match(content):
        function = (frame["in"] or "").strip()
        front = _group(frame, "front") or ""
        ended.append(Traceback(content, frame["path"], frame["line"], function, front, began, at))


_SIGNALS: Final = {"Killed": "SIGKILL", "Out Of Memory": "SIGKILL", "OOM Killed": "SIGKILL", "Terminated": "SIGTERM"}
_SIGNALS_OF_WORDS: Final = _SIGNALS | {"Segmentation fault": "SIGSEGV", "Aborted": "SIGABRT", "Bus error": "SIGBUS"}
SHELL: Final = 128
"""Number that a shell adds to the signal that ended a program; some launchers report the sum."""
LAST_SIGNAL: Final = 64
_DEATHS: Final = "|".join(_SIGNALS_OF_WORDS)
"""Words of a shell and of srun for a process that was killed."""

REPORTS: Final = tuple(
    re.compile(pattern)
    for pattern in (
        r"failed \(exitcode: (?P<code>-?\d{1,3})\) local_rank: \d{1,6} \(pid",  # torchrun, before its block
        r"returned non-zero exit status (?P<code>\d{1,3})\b",  # subprocess of Python: accelerate, deepspeed, scripts
        r"died with <Signals\.(?P<name>SIG\w{1,10})",
        r"exits with return code = (?P<code>-?\d{1,3})",  # deepspeed
        r"process rank (?P<rank>\d{1,6}) with PID \d{1,9} on node \S{1,253} exited on signal (?P<signal>\d{1,2})",
        r"EXIT STRING: .{0,40}\(signal (?P<signal>\d{1,2})\)",  # mpiexec of MPICH
        r"^= +KILLED BY SIGNAL: (?P<signal>\d{1,2})",  # mpiexec of Intel
        r"^= +EXIT CODE: (?P<code>\d{1,3})",
        r"^\s*Exit code: {1,8}(?P<code>\d{1,3})$",  # mpirun and horovodrun; the rank is in the line before
        r"Process (?P<rank>\d{1,6}) exit with status code (?P<code>\d{1,3})",  # horovodrun
        r"entrypoint command failed with exit code (?P<code>-?\d{1,3})",  # ray job
        r"entrypoint command failed due to signal (?P<name>SIG\w{1,10})",
        r"^srun: error: [^:]{1,253}: tasks? (?P<rank>\d{1,6})[^:]{0,80}: Exited with exit code (?P<code>\d{1,3})",
        rf"^srun: error: [^:]{{1,253}}: tasks? (?P<rank>\d{{1,6}})[^:]{{0,80}}: (?P<word>{_DEATHS})",
        rf"^[^:]{{0,253}}: line \d{{1,6}}: +\d{{1,9}} (?P<word>{_DEATHS})\b",  # a shell
        r"^g?make(\[\d+\])?: \*\*\* .{0,253}\] Error (?P<code>\d{1,3})$",
        rf"^g?make(\[\d+\])?: \*\*\* .{{0,253}}\] (?P<word>{_DEATHS})$",
        r"Child process with PID \d{1,9} terminated with code (?P<code>-?\d{1,3})",  # Lightning
        r"process (?P<rank>\d{1,6}) terminated with signal (?P<name>SIG\w{1,10})",  # torch.multiprocessing.spawn
        r"process (?P<rank>\d{1,6}) terminated with exit code (?P<code>\d{1,3})",
        r"Rank (?P<rank>\d{1,6}) crashed with exit code (?P<code>-?\d{1,3})",  # composer
        r"^pdsh@[^:]{1,253}: [^:]{1,253}: ssh exited with exit code (?P<code>\d{1,3})",
        r"^command terminated with exit code (?P<code>\d{1,3})$",  # kubectl exec, of the MPI operator
    )
)
"""Launchers' reports of the first process that failed. The first row that finds one counts, with its first line."""

_ROOT_CAUSE: Final = "Root Cause (first observed failure):"
_OF_ROOT: Final = re.compile(
    r"\s*(?:rank {1,8}: (?P<rank>\d{1,6}) \(local_rank: (?P<local>\d{1,6})\)|exitcode {1,8}: (?P<code>-?\d{1,3})) "
)
_NAMES_RANK: Final = re.compile(r"\s*Process name: (?:\[\[\d{1,9},\d{1,9}\],)?(?P<rank>\d{1,6})\]?$")

_OWN_FILES: Final = re.compile(
    r"torch/distributed/(run|launch)\.py$|torch/distributed/(launcher|elastic)/|accelerate/commands/"
    r"|deepspeed/launcher/|horovod/runner/|ray/(dashboard/modules/job|scripts)/|lightning\w{0,20}/.{0,80}/launchers/"
    r"|composer/cli/"
)
"""Files that launchers' own tracebacks come from."""
_OWN_LINES: Final = re.compile(
    r"^\S{1,253} FAILED$|^Failures:$|^Root Cause \(first observed failure\):$|^\[\d{1,6}\]:$|^ {2}<NO_OTHER_FAILURES>$"
    r"|^ {2}(time|host|rank|exitcode|error_file|traceback) {0,8}: "  # torchrun's block
    r"|^(mpirun|mpiexec|prterun|orterun|horovodrun|srun|slurmstepd|pdsh@\S{1,253}|g?make(\[\d+\])?): ?"
    r"|^= +\S|^\s*(the job to be terminated|a non-zero exit code|Primary job|Process name:)"
    r"|^This typically refers to a problem with your application|^Please see the FAQ page for debugging suggestions"
    r"|^\[\S{10} \S{8,12}\] \[(INFO|WARNING|ERROR)\] \[launch\.py:|\[(INFO|ERROR)\] \[launch\.py:"  # deepspeed
    r"|^ERROR:composer\.cli|^Job '[\w-]{1,80}' failed$|^Status message: Job entrypoint"
    r"|^Job entrypoint command failed|^YOUR APPLICATION TERMINATED WITH"
    r"|^wandb: ?|^Set the environment variable HYDRA_FULL_ERROR="
)
"""Lines that launchers print beside their reports."""
_STARTS_A_PROCESS: Final = re.compile(r"(?:\w+\.)*CalledProcessError(?::|$)")


class Child(NamedTuple):
    """The end of the process that a launcher names."""

    code: int = 0
    """Exit code; of a signal the negative number, as Python has it; 0 if no launcher names one."""
    rank: int = -1
    """The rank that the launcher gives it; -1 where it gives none."""

    @property
    def killed(self) -> bool:
        """Return True if another process or the kernel has ended it: its earlier output does not explain that."""
        return self.code < 0 and self.code != -signal.SIGABRT


NONE: Final = Child()


class LauncherReport(NamedTuple):
    """A launcher's report of the process that failed first."""

    child: Child
    at: int
    """Number of the line that reports it."""
    ranks: frozenset[int]
    """The numbers that lines of the process may have in front; without any nothing is known of that."""


NO_REPORT: Final = LauncherReport(NONE, -1, frozenset())


def sentence(child: Child) -> str:
    """Return ``its process of rank 11 was ended by signal 9 (SIGKILL)``."""
    who = f"its process of rank {child.rank}" if child.rank >= 0 else "a process that it started"
    if child.code >= 0:
        return f"{who} ended with exit code {child.code}"
    try:
        name = f" ({signal.Signals(-child.code).name})"
    except ValueError:
        name = ""
    return f"{who} was ended by signal {-child.code}{name}"


def is_of_a_launcher(found: Traceback) -> bool:
    """Return True if a launcher raised it, since the program failed."""
    return _OWN_FILES.search(found.path) is not None or found.exception.rstrip(": ").endswith(".ChildFailedError")


def says_of_another(found: Traceback) -> bool:
    """Return True if its exception reports a failed process of the program, which may have printed the reason."""
    return _STARTS_A_PROCESS.match(found.exception) is not None


def is_own(line: str) -> bool:
    """Return True if a launcher printed it about itself, or if it has no meaning."""
    return is_noise(line) or _OWN_LINES.search(line) is not None or any(each.search(line) for each in REPORTS)


def reported(lines: Sequence[str]) -> LauncherReport:
    """Return the end of the process that the launcher names first."""
    if (root := _of_block(lines)).child.code:
        return root
    for row in REPORTS:
        for at, line in enumerate(lines):
            if (match := row.search(line[:LONGEST])) and (code := _code(match)) not in (0, -signal.SIGTERM):
                rank = int(_group(match, "rank") or (_rank_before(lines, at) if at else None) or -1)
                return LauncherReport(Child(code, rank), at, frozenset((rank,)) if rank >= 0 else frozenset())
    return NO_REPORT


def _of_block(lines: Sequence[str]) -> LauncherReport:
    """Return the failure that torchrun's block names as the first."""
    at = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].startswith(_ROOT_CAUSE)), len(lines))
    found = {"rank": -1, "local": -1, "code": 0}
    last = -1
    for number, line in enumerate(lines[at + 1 : at + 8], at + 1):
        if match := _OF_ROOT.match(f"{line} "):
            found |= {name: int(value) for name, value in match.groupdict().items() if value is not None}
            last = number
    ranks = frozenset(found[name] for name in ("rank", "local") if found[name] >= 0)
    return LauncherReport(Child(found["code"], found["rank"]), last, ranks)


def _rank_before(lines: Sequence[str], at: int) -> str | None:
    match = _NAMES_RANK.match(lines[at - 1])
    return match["rank"] if match else None


def _code(match: re.Match[str]) -> int:
    """Return the exit code or negative signal of a report."""
    if number := _group(match, "code"):
        code = int(number)
        return SHELL - code if SHELL < code <= SHELL + LAST_SIGNAL else code
    if number := _group(match, "signal"):
        return -int(number)
    name = _group(match, "name") or _SIGNALS_OF_WORDS.get(_group(match, "word") or "", "")
    return -signal.Signals[name] if name in signal.Signals.__members__ else 0


def _group(match: re.Match[str], name: str) -> str | None:
    return match.groupdict().get(name)


def end_of(lines: Sequence[str]) -> tuple[Traceback | None, Child]:
    """Return the program's traceback that explains the end, if any, and the end of the process that failed first.

    A launcher's report counts only if it comes last: a program may continue after a process that failed. torchrun
    prints its report for each attempt (``--max-restarts``), and an earlier attempt does not explain the end.
    """
    ends = [at for at, line in enumerate(lines) if REPORTS[0].search(line[:LONGEST])]
    lines = lines[ends[-2] + 1 :] if len(ends) > 1 else lines
    found = tracebacks(lines)
    last = found[-1] if found else None
    child, at, ranks = reported(lines)
    launched = last is not None and is_of_a_launcher(last)
    if not launched:
        if last is not None and says_of_another(last) and at <= last.ended:
            return _of_a_starter(found, lines, child)
        if at < 0 or (last is not None and at <= last.ended) or not all(map(is_own, lines[at + 1 :])):
            return _chosen(found), NONE
    if child.killed:
        return None, child
    own = [each for each in found if not is_of_a_launcher(each) and not says_of_another(each)]
    if chosen := _chosen([each for each in own if not ranks or each.rank is None or each.rank in ranks]):
        return chosen, child
    failed_itself = launched and child == NONE and last is not None and "ChildFailedError" not in last.exception
    return (last if failed_itself else None), child


def _of_a_starter(found: Sequence[Traceback], lines: Sequence[str], child: Child) -> tuple[Traceback, Child]:
    """Return the traceback before that of a program whose own process failed, if nothing was printed between."""
    last = found[-1]
    before = next((each for each in reversed(found[:-1]) if each.ended < last.began), None)
    if before is None or child.killed:
        return last, NONE
    silent = all(line[0].isspace() or is_own(line) for line in lines[before.ended + 1 : last.began])
    return (before, child) if silent else (last, NONE)


def _chosen(found: Sequence[Traceback]) -> Traceback | None:
    """Return the last traceback; of several processes the one that was first to fail."""
    of_each = {each.front: each for each in found}
    if not found or "" in of_each:
        return found[-1] if found else None
    return min(of_each.values(), key=lambda each: each.ended)
