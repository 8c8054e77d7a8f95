"""The API groups of the kinds, for the rights of the chart: ``templates/_kinds.tpl``."""

from collections.abc import Iterable

from muster.kinds.registry.run_kinds import RUN_KINDS
from muster.kinds.registry.watched_kinds import WATCHED_KINDS
from muster.state.vocabulary.subject import Subject

HEAD = "{{/* Made by `python -m deploy.helm` from the declarations in muster/kinds. Do not edit. */}}\n"


def kinds_template() -> str:
    """The text of the file."""
    run = (kind.subject for kind in RUN_KINDS.values())
    watched = (kind.subject for kind in WATCHED_KINDS.values() if not kind.virtual)
    return HEAD + _groups("muster.groupsOfRunKinds", run) + "\n" + _groups("muster.groupsOfWatchedKinds", watched)


def _groups(name: str, subjects: Iterable[Subject]) -> str:
    """A named template that gives the API group of each plural, as YAML."""
    rows = "".join(f"{each.plural}: {each.api_version.rpartition('/')[0]}\n" for each in subjects)
    return f'{{{{- define "{name}" -}}}}\n{rows}{{{{- end }}}}\n'
