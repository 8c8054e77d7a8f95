"""The API groups of the kinds, for the rights of the chart: ``templates/_kinds.tpl``."""

from collections.abc import Iterable, Mapping

from muster.kinds.registry import RUN_KINDS, WATCHED_KINDS
from muster.state.vocabulary.subject import Subject

HEAD = "{{/* Made by `python -m deploy.helm` from the declarations in muster/kinds. Do not edit. */}}\n"


def kinds_template() -> str:
    """Return the text of the file."""
    run = (kind.subject for kind in RUN_KINDS.values())
    watched = [kind.subject for kind in WATCHED_KINDS.values() if not kind.virtual]
    made = {name: kind.made.subject.words for name, kind in WATCHED_KINDS.items() if kind.made is not None}
    parts = (
        _template("muster.groupsOfRunKinds", _groups(run)),
        _template("muster.groupsOfWatchedKinds", _groups(watched)),
        _template("muster.otherNamesOfWatchedKinds", {each.words: each.plural for each in watched if each.called}),
        _template("muster.madeForWatchedKinds", made),
    )
    return HEAD + "\n".join(parts)


def _groups(subjects: Iterable[Subject]) -> dict[str, str]:
    """Return the API group of each kind, by what all of its objects are called."""
    return {each.words: each.group for each in subjects}


def _template(name: str, values: Mapping[str, str]) -> str:
    rows = "".join(f"{key}: {value}\n" for key, value in values.items())
    return f'{{{{- define "{name}" -}}}}\n{rows}{{{{- end }}}}\n'
