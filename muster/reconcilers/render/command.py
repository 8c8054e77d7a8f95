"""The command of a member: its shell line, so that the program hears a signal and finds the code of ``muster.assist``.

AIchor's ``spec.command`` is one shell line (its manifests use ``&&``, pipes and ``$VARIABLES``), so a shell runs it:
``/bin/sh``, which exists in every image with a shell. The kubelet's SIGTERM goes to the first process of the container
alone. A shell does not forward it, and as process 1 it does not even end, so the program would never learn of its grace
period. Therefore:

- if the line is one simple command, also after others that only prepare it (``cd /app && python3 train.py``), the shell
  is made to become the program: ``exec`` is put before the command;
- any other line gets a small shell in front of it that forwards signals (``FORWARDER``);
- a line that consists of the shell's own builtins is left as it is.

Whether the first applies is decided on a copy of the line in which everything quoted is masked, and any doubt
(substitutions, here-documents, groups, functions, ``trap``) decides for the second, which runs the line unchanged.

Before a container starts, the kubelet rewrites its command (kubernetes: third_party/forked/golang/expansion/expand.go):
``$(NAME)`` becomes the value of a variable of the container and stays as it is if there is no such variable; ``$$``
becomes ``$``; and a ``$`` before a character beyond ASCII breaks that character. The first is documented and useful
(``--coordinator $(JAXOPERATOR_COORDINATOR_ADDRESS)`` works as it does on AIchor) and is kept. The other two would
silently turn ``echo $$ > pid`` into ``echo $ > pid``; doubling the ``$`` prevents that.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from muster.api.names import (
    ANNOTATION_ASSIST,
    ANNOTATION_ASSIST_RECORDER,
    ANNOTATION_ASSIST_WATCH,
    ANNOTATION_ASSIST_WORK,
    ASSIST_VOLUME,
)
from muster.assist import CODE, FILE, FOLDER, RECORDER_CODE, RECORDER_FILE, WATCH_CODE, WATCH_FILE, WORK_CODE, WORK_FILE

SHELL: Final = "/bin/sh"

FORWARDER: Final = """\
y=
for s in TERM INT HUP QUIT USR1 USR2; do trap "y=$s" "$s"; done
exec 3<&0
/bin/sh -c "$1" <&3 3<&- &
p=$!
f() {
  q=$$ x=1
  while [ "$q" ]; do
    n=
    for d in /proc/[0-9]*; do
      { read -r s < "$d/stat"; } 2> /dev/null || continue
      a=${s##*) }
      a=${a#? }
      case " $q " in *" ${a%% *} "*) ;; *) continue ;; esac
      c=${s#*"("}
      case ${c%")"*} in
        sh | ash | dash | bash | ksh | zsh | *.sh | busybox | tee) t=shell ;;
        *) [ "$d/exe" -ef /bin/sh ] || [ "$d/exe" -ef /bin/bash ] && t=shell || t=program ;;
      esac
      b=
      while read -r k v; do [ "$k" = SigCgt: ] && b=$v; done < "$d/status"
      case $t$b in program* | *[4567cdef]???) kill -s "$1" "${d#/proc/}" ;; *) n="$n ${d#/proc/}" ;; esac
    done 2> /dev/null
    q=$n
  done
}
for s in TERM INT HUP QUIT USR1 USR2; do trap "f $s" "$s"; done
[ "$y" ] && f "$y"
r=
while x=; wait "$p"; w=$?; [ "$w" = 127 ] && [ "$r" ] || r=$w; [ "$x" ]; do :; done
exit "$r"
"""
"""The shell that runs the line ``$1`` in another shell and forwards signals to the line's programs.

The first processes below that are no shells get the signal, but their children do not: a trainer ends its own data
loaders. A shell or ``tee`` gets it if it catches SIGTERM (bit 14 of SigCgt in /proc/PID/status); else a shell waits for
its program, and ``tee`` for the last line. Children are found by /proc/PID/stat, as no shell lists its own.

A signal that comes before the line has been started is kept until then. The exit status is the line's: a ``wait`` that
a signal interrupts is repeated, and 127 then means that it had returned. POSIX starts a background command with SIGINT
ignored: a program that wants it must enable it.
"""

_MASK: Final = "\x01"
_MASKED = re.compile(
    r"""'[^']*'"""  # single quotes
    r"""|"(?:[^"\\$`]|\\.|\$\{\w+\}|\$(?![({]))*\""""  # double quotes, without substitutions that may hold others
    r"""|\\."""  # an escaped character, and a continued line
    r"""|\$\{\w+\}|\$[\w@#?]"""  # a variable
    r"""|\d*>&\d|\d*>{1,2}(?![>&|])|\d*<(?![<&>])""",  # a redirection
    re.DOTALL | re.ASCII,
)
_DOUBTFUL = re.compile(
    r"""['"\\`(){}|<>#!\0\x02-\x08\x0b-\x1f\x7f]|(?<!&)&(?!&)|&&&|(?:^|&&|;|\n)\s*(?:&&|;)|&&\s*$""", re.ASCII
)
_SEPARATOR = re.compile(r"&&|;|\n")
_COMMAND = re.compile(r"\s*(?:[A-Za-z_]\w*=\S*\s+)*(?:(?P<exec>exec)\s+)?(?P<name>[^\s=]+)(?=\s|$)", re.ASCII)
_PROGRAM = re.compile(r"(?!-)[\w./+-]+", re.ASCII)

PREPARING: Final = frozenset(
    (
        *(".", ":", "[", "cd", "echo", "export", "printf", "pwd", "set", "source", "test", "true"),
        *("ulimit", "umask", "unset"),
    )
)
"""Builtins that end at once and leave nothing behind that ``exec`` would lose."""
_SOURCING: Final = frozenset((".", "source"))
_OTHER_WORDS: Final = frozenset(
    (
        *("case", "do", "done", "elif", "else", "esac", "fi", "for", "function", "if", "in", "select", "then", "time"),
        *("until", "while"),
        *("alias", "bg", "break", "builtin", "command", "continue", "declare", "eval", "exec", "exit", "false", "fc"),
        *("fg", "getopts", "hash", "jobs", "kill", "let", "local", "popd", "pushd", "read", "readonly", "return"),
        *("shift", "shopt", "times", "trap", "type", "typeset", "unalias", "wait"),
    )
)
"""Reserved words, and other builtins: none of these names is a program."""
_SHELLS: Final = frozenset(["sh", "ash", "dash", "bash", "ksh", "zsh"])

# The kubelet takes the text between "$(" and the first ")" as a name, so nothing in it may be doubled.
_REWRITTEN = re.compile(r"(\$\([^)]*\))|\$(\$|(?=[^\x00-\x7f]))")


def command_of(line: str) -> list[str]:
    """Return the container command that runs ``line``, except that ``$(NAME)`` of a variable is expanded."""
    found = with_exec(line)
    if found is None:
        return [SHELL, "-c", _kept(FORWARDER), SHELL, _kept(line)]
    return [SHELL, "-c", _kept(found)]


def arguments_of(argv: Iterable[str]) -> list[str]:
    """Return the container command of a program without a shell, except that ``$(NAME)`` of a variable is expanded."""
    return [_kept(argument) for argument in argv]


def with_exec(line: str) -> str | None:
    """Return the line with ``exec`` before its program, or unchanged without a program; None if that is not known."""
    masked = _MASKED.sub(lambda found: _MASK * len(found[0]), line)
    if _MASK in line or _DOUBTFUL.search(masked):
        return None
    starts = [0, *(found.end() for found in _SEPARATOR.finditer(masked))]
    ends = [*(found.start() for found in _SEPARATOR.finditer(masked)), len(masked)]
    parts = [(start, masked[start:end]) for start, end in zip(starts, ends, strict=True) if masked[start:end].strip()]
    if not parts:
        return line
    *preparing, (at, last) = parts
    if not all(_name(part) in PREPARING for _, part in preparing):
        return None
    found = _COMMAND.match(last)
    if found is None or _is_shell(name := found["name"]):
        return None
    if found["exec"] or name in PREPARING - _SOURCING:
        return line
    if not _PROGRAM.fullmatch(name) or name in _OTHER_WORDS | _SOURCING:
        return None
    at += found.start("name")
    return f"{line[:at]}exec {line[at:]}"


def _name(part: str) -> str:
    found = _COMMAND.match(part)
    return found["name"] if found and not found["exec"] else ""


def _is_shell(name: str) -> bool:
    """Return True if the program is a shell, or a shell script: as the first process it would keep a signal."""
    return name.rpartition("/")[2] in _SHELLS or name.endswith(".sh")


def _kept(text: str) -> str:
    """Return the text in the form that the kubelet must get."""
    return _REWRITTEN.sub(lambda found: found[1] or "$$" + 2 * found[2], text)


_FILES: Final = (
    (FILE, ANNOTATION_ASSIST, CODE),
    (RECORDER_FILE, ANNOTATION_ASSIST_RECORDER, RECORDER_CODE),
    (WATCH_FILE, ANNOTATION_ASSIST_WATCH, WATCH_CODE),
    (WORK_FILE, ANNOTATION_ASSIST_WORK, WORK_CODE),
)
"""Each mounted file, the annotation that holds it, and its code."""
_VARIABLE: Final = "MUSTER_VOLUME_MUSTER_ASSIST"
"""The variable with the folder on a local cluster that cannot mount volumes (``muster.local.node.sources.volumes``)."""
PREFIX: Final = f'PYTHONPATH="${{{_VARIABLE}:-{FOLDER}}}${{PYTHONPATH:+:$PYTHONPATH}}"; export PYTHONPATH\n'


def assisted(command: Sequence[str]) -> list[str]:
    """Return the container command with the folder in PYTHONPATH; a command of one process stays one process.

    The folder comes first. An environment variable of the pod would replace the one of the image, which is not known
    here; a shell sees the value of image and manifest, and puts the folder before it.
    """
    if command[0] == SHELL and command[1] == "-c":
        return [*command[:2], PREFIX + command[2], *command[3:]]
    return [SHELL, "-c", f'{PREFIX}exec "$@"', SHELL, *command]


def assist_annotations() -> dict[str, str]:
    """Return the code of ``muster.assist``, as annotations of the pod, which a downwardAPI volume shows (ADR 54).

    No right, no image and no object beside the pod is needed, and every level of Pod Security admits it.
    """
    return {annotation: code for _, annotation, code in _FILES}


def assist_volume() -> dict[str, object]:
    """Return the core/v1 Volume that shows the annotations as files."""
    items = [
        {"path": path, "fieldRef": {"apiVersion": "v1", "fieldPath": f"metadata.annotations['{annotation}']"}}
        for path, annotation, _ in _FILES
    ]
    return {"name": ASSIST_VOLUME, "downwardAPI": {"items": items}}
