"""docs/cli.md, made from the commands themselves: ``python -m muster.cli.reference > docs/cli.md``."""

import inspect
import sys
from collections.abc import Iterator

import click

from muster.cli.main import muster
from muster.daemon.settings import Settings

_INTRODUCTION = """\
<!-- Made by `python -m muster.cli.reference` from muster/cli and muster/daemon/settings.py. Do not edit. -->
# Commands

`--help` of a verb has more. Results go to standard output, messages to standard error. `-o json` and
`-o yaml` print data for programs. Colors are for terminals only, and not where `NO_COLOR` is set.

| exit status | meaning |
|---|---|
| 0 | succeeded |
| 1 | the experiment failed, or the command could not do all of its work |
| 2 | the manifest cannot be used, or the command line is wrong |
| 3 | a clock of the experiment ran out, or `muster wait` did |
| 4 | `muster convert --strict`: something is lost |
| 5 | `muster stacks`: some ranks did not answer |
| 6 | `muster incidents --exit-code`: there is an incident |
| 130 | interrupted |

The verbs that need a cluster take `--kubeconfig`, `--context` and `-n`. Without them they use what `kubectl` would
use; where nothing is configured, the cluster of `muster local up`, if it runs. A wait of more than 2 s is named on
standard error.

**Shell completion** of verbs, options, their values and the names of experiments: put the line of your shell into its
start-up file.

```
eval "$(_MUSTER_COMPLETE=bash_source muster)"                 # ~/.bashrc (bash 4.4 or newer)
eval "$(_MUSTER_COMPLETE=zsh_source muster)"                  # ~/.zshrc, after compinit
_MUSTER_COMPLETE=fish_source muster | source                  # ~/.config/fish/completions/muster.fish
```
"""

_MUSTERD = """
## musterd

The daemon. Every setting is a flag, an environment variable, or a key of the YAML file that `MUSTER_CONFIG` names; the
first of these that has it wins. The key is the variable's name without `MUSTER_`, in lower case.

| flag | variable | default | meaning |
|---|---|---|---|
"""

_EXPLAINED: frozenset[str | None] = frozenset(("kubeconfig", "context", "namespace"))
"""Options that the introduction explains for the verbs that have all of them."""


def cli_reference() -> str:
    """The whole page."""
    verbs = "".join(f"\n{section}" for section in _sections(muster, click.Context(muster, info_name="muster")))
    return _INTRODUCTION + verbs + _MUSTERD + "".join(_settings())


def _sections(group: click.Group, above: click.Context) -> Iterator[str]:
    """One section for each command of a group, in order."""
    for name in group.list_commands(above):
        command = group.get_command(above, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=above)
        yield _section(command, context)
        if isinstance(command, click.Group):
            yield from _sections(command, context)


def _section(command: click.Command, context: click.Context) -> str:
    level = "#" * len(context.command_path.split())
    lines = [f"{level} {context.command_path}", ""]
    lines += [inspect.cleandoc(command.help or "").replace("\b", "").partition("\n\n")[0], ""]
    arguments = [p.make_metavar(context) for p in command.params if isinstance(p, click.Argument)]
    if not isinstance(command, click.Group):
        lines += ["```", " ".join((context.command_path, "[OPTIONS]", *arguments)), *_examples(command), "```", ""]
    names = {p.name for p in command.params}
    explained = _EXPLAINED if names >= _EXPLAINED else frozenset()
    options = [p for p in command.params if isinstance(p, click.Option) and p.name not in explained]
    if options:
        lines += ["| option | meaning |", "|---|---|"]
        lines += [f"| {_option_text(option, context)} | {option.help} |" for option in options]
        lines.append("")
    return "\n".join(lines)


def _examples(command: click.Command) -> list[str]:
    """The lines of the epilog that are examples."""
    return [line.strip() for line in (command.epilog or "").splitlines() if line.startswith("  ")]


def _option_text(option: click.Option, context: click.Context) -> str:
    names = ", ".join(f"`{name}`" for name in option.opts)
    if option.is_flag:
        return names
    value = "N" if isinstance(option.type, click.IntRange) else option.make_metavar(context)
    return f"{names} `{value}`".replace("|", "\\|")


def _settings() -> Iterator[str]:
    for name, field in Settings.model_fields.items():
        flag = f"--{name.replace('_', '-')}"
        default = "" if field.default in (None, "") else f"`{field.default}`"
        if isinstance(field.default, bool):
            flag, default = f"{flag}`, `--no-{flag[2:]}", "on" if field.default else "off"
        yield f"| `{flag}` | `MUSTER_{name.upper()}` | {default} | {field.description} |\n"


if __name__ == "__main__":
    sys.stdout.write(cli_reference())
