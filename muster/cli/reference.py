"""docs/cli.md, made from the commands themselves: ``python -m muster.cli.reference > docs/cli.md``."""

import inspect
import sys
from collections import Counter
from collections.abc import Iterator

import click

from muster.cli.main import muster
from muster.daemon.settings import Settings

_INTRODUCTION = """\
<!-- Made by `python -m muster.cli.reference` from muster/cli and muster/daemon/settings.py. Do not edit. -->
# Commands

`--help` of a verb has more. Results go to standard output, messages to standard error. `NO_COLOR` turns colors off.

| exit status | meaning |
|---|---|
| 0 | succeeded |
| 1 | the experiment failed, or the command could not do all of its work |
| 2 | the manifest cannot be used, or the command line is wrong |
| 3 | a clock of the experiment ran out, or `muster wait` did |
| 4 | `muster convert --strict`: something is lost |
| 5 | `muster stacks`: some ranks did not answer |
| 6 | `muster incidents --exit-code`, `muster diagnose`: there is an incident, or trouble |
| 130 | interrupted |

The verbs that need a cluster take `--kubeconfig`, `--context` and `-n`. Without them they use what `kubectl` would
use, else the cluster of `muster local up`.

**Shell completion**: put the line of your shell into its start-up file.

```
eval "$(_MUSTER_COMPLETE=bash_source muster)"                 # ~/.bashrc (bash 4.4 or newer)
eval "$(_MUSTER_COMPLETE=zsh_source muster)"                  # ~/.zshrc, after compinit
_MUSTER_COMPLETE=fish_source muster | source                  # ~/.config/fish/completions/muster.fish
```

Options of several verbs:
"""

_MUSTERD = """
## musterd

The daemon. Every setting is a flag, an environment variable, or a key of the YAML file that `MUSTER_CONFIG` names; the
first of these that has it wins. The variable of `--http-port` is `MUSTER_HTTP_PORT`, its key `http_port`. The default
follows the flag.

"""

SHARED = 3  # verbs with the same option, from which on it is explained once

_EXPLAINED: frozenset[str | None] = frozenset(("kubeconfig", "context", "namespace"))
"""Options that the introduction explains for the verbs that have all of them."""


def cli_reference() -> str:
    """Return the whole page."""
    found = list(_commands(muster, click.Context(muster, info_name="muster")))
    times = Counter(line for each in found for line in set(_options(*each)))
    shared = frozenset(line for line, many in times.items() if many >= SHARED)
    verbs = "".join(f"\n{_section(*each, shared)}" for each in found)
    return "\n".join((_INTRODUCTION, *sorted(shared), verbs)) + _MUSTERD + "".join(_settings())


def _commands(group: click.Group, above: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    for name in group.list_commands(above):
        command = group.get_command(above, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=above)
        yield command, context
        if isinstance(command, click.Group):
            yield from _commands(command, context)


def _section(command: click.Command, context: click.Context, shared: frozenset[str]) -> str:
    lines = [f"{'#' * len(context.command_path.split())} {context.command_path}", ""]
    lines += [inspect.cleandoc(command.help or "").replace("\b", "").strip().partition("\n\n")[0], ""]
    arguments = [p.make_metavar(context) for p in command.params if isinstance(p, click.Argument)]
    if not isinstance(command, click.Group):
        lines += ["```", *_usage(command, " ".join((context.command_path, *arguments))), "```", ""]
    own = [line for line in _options(command, context) if line not in shared]
    return "\n".join((*lines, *own, *[""] * bool(own)))


def _options(command: click.Command, context: click.Context) -> Iterator[str]:
    """Yield a line for each option but those that the introduction explains."""
    explained = _EXPLAINED if {p.name for p in command.params} >= _EXPLAINED else frozenset()
    for option in command.params:
        if isinstance(option, click.Option) and option.name not in explained:
            yield f"- {_option_text(option, context)}: {option.help}"


def _usage(command: click.Command, line: str) -> list[str]:
    """Return the usage and two examples of the epilog; ``--help`` has them all."""
    examples = (each.strip() for each in (command.epilog or "").splitlines() if each.startswith("  "))
    return list(dict.fromkeys((line, *examples)))[:3]


def _option_text(option: click.Option, context: click.Context) -> str:
    value = "N" if isinstance(option.type, click.IntRange) else option.make_metavar(context)
    return ", ".join(f"`{name}`" for name in option.opts) + ("" if option.is_flag else f" `{value}`")


def _settings() -> Iterator[str]:
    for name, field in Settings.model_fields.items():
        flag = f"--{name.replace('_', '-')}"
        default = "" if field.default in (None, "") else f" `{field.default}`"
        if isinstance(field.default, bool):
            flag, default = f"{flag}`, `--no-{flag[2:]}", " on" if field.default else " off"
        yield f"- `{flag}`{default}: {field.description}\n"


if __name__ == "__main__":
    sys.stdout.write(cli_reference())
