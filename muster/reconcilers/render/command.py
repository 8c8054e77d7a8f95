"""The command of a member: AIchor's shell line, in a form that lets the program hear a signal.

AIchor's ``spec.command`` is one shell line (its manifests use ``&&``, pipes and ``$VARIABLES``), so a shell runs it:
``/bin/sh``, which every image has that has a shell. The kubelet's SIGTERM goes to the first process of the container
alone. A shell does not pass it on, and as process 1 it does not even end, so the program would never hear of its grace
period. Therefore:

- where the line is one simple command, or follows others that only prepare it (``cd /app && python3 train.py``), the
  shell is made to become the program: ``exec`` is put before it;
- any other line gets a small shell in front of it that passes signals on (``FORWARDER``);
- a line that consists of the shell's own builtins is left as it is.

Whether the first applies is decided on a copy of the line in which everything quoted is masked, and any doubt
(substitutions, here-documents, groups, functions, ``trap``) decides for the second, which runs the line unchanged.

Before a container starts, the kubelet rewrites its command (kubernetes:
third_party/forked/golang/expansion/expand.go): ``$(NAME)`` becomes the value of a variable of the container and stays
as it is where there is no such variable; ``$$`` becomes ``$``; and a ``$`` before a character beyond ASCII breaks
that character. The first is documented and useful (``--coordinator $(JAXOPERATOR_COORDINATOR_ADDRESS)`` works as it
does on AIchor) and is kept. The other two would silently turn ``echo $$ > pid`` into ``echo $ > pid``; doubling the
``$`` prevents that.
"""

import re
from collections.abc import Iterable
from typing import Final

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
"""Runs the line ``$1`` in a shell of its own and passes signals on to the programs that it runs.

The first processes below that are no shells get the signal, but not what those have started: a trainer ends its own
data loaders. A shell or ``tee`` gets it if it catches SIGTERM (bit 14 of SigCgt in /proc/PID/status); else a shell
waits for its program, and ``tee`` for the last line. Children are found by /proc/PID/stat, as no shell lists its own.

A signal that comes before the line has been started is kept until then. The exit status is the line's: a ``wait`` that
a signal interrupts is repeated, and 127 then means that it had returned.
POSIX starts a background command with SIGINT ignored: a program that wants it must say so.
"""

_MASK: Final = "\x01"
_MASKED = re.compile(
    r"""'[^']*'"""  # single quotes
    r"""|"(?:[^"\\$`]|\\.|\$\{\w+\}|\$(?![({]))*\""""  # double quotes, without substitutions that may hold others
    r"""|\\."""  # an escaped character, and a line that goes on
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
    [
        ".",
        ":",
        "[",
        "cd",
        "echo",
        "export",
        "printf",
        "pwd",
        "set",
        "source",
        "test",
        "true",
        "ulimit",
        "umask",
        "unset",
    ]
)
"""Builtins that end at once and leave nothing behind that ``exec`` would lose."""
_SOURCING: Final = frozenset((".", "source"))
_OTHER_WORDS: Final = frozenset(
    [
        "alias",
        "bg",
        "break",
        "builtin",
        "case",
        "command",
        "continue",
        "declare",
        "do",
        "done",
        "elif",
        "else",
        "esac",
        "eval",
        "exec",
        "exit",
        "false",
        "fc",
        "fg",
        "fi",
        "for",
        "function",
        "getopts",
        "hash",
        "if",
        "in",
        "jobs",
        "kill",
        "let",
        "local",
        "popd",
        "pushd",
        "read",
        "readonly",
        "return",
        "select",
        "shift",
        "shopt",
        "then",
        "time",
        "times",
        "trap",
        "type",
        "typeset",
        "unalias",
        "until",
        "wait",
        "while",
    ]
)
"""Other builtins and reserved words: no program of these names is meant."""
_SHELLS: Final = frozenset(["sh", "ash", "dash", "bash", "ksh", "zsh"])

# The kubelet takes everything between "$(" and the first ")" as a name, so nothing in there may be doubled.
_REWRITTEN = re.compile(r"(\$\([^)]*\))|\$(\$|(?=[^\x00-\x7f]))")


def command_of(line: str) -> list[str]:
    """Return the container command that runs ``line``, except that ``$(NAME)`` of a variable is expanded."""
    found = with_exec(line)
    if found is None:
        return [SHELL, "-c", _kept(FORWARDER), SHELL, _kept(line)]
    return [SHELL, "-c", _kept(found)]


def arguments_of(argv: Iterable[str]) -> list[str]:
    """Return the container command that runs a program without a shell; ``$(NAME)`` is expanded."""
    return [_kept(argument) for argument in argv]


def with_exec(line: str) -> str | None:
    """Return the line with ``exec`` before its program, unchanged without one; None where that is unknown."""
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
    """Return whether the program is a shell, or a script of one: as first process it would keep a signal."""
    return name.rpartition("/")[2] in _SHELLS or name.endswith(".sh")


def _kept(text: str) -> str:
    """Return the text as the kubelet must get it."""
    return _REWRITTEN.sub(lambda found: found[1] or "$$" + 2 * found[2], text)
