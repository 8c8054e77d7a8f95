"""Rewrites older spellings of a manifest to the 0.2.3 form, before the manifest is checked.

0.2.2 wrote ``Worker`` with a capital, and some operators had a ``Master`` beside it, which held rank 0. 0.2.3 has one
lower-case ``worker`` whose first member is rank 0. Both are rewritten in the tree, where every value keeps its line,
and each rewrite is a warning that shows the new form. Which types an operator had is in its declaration.
"""

from pydantic import ValidationError

from muster.api.manifest.operators import operators
from muster.api.manifest.problems import Problem, nearest, path, quoted
from muster.api.manifest.resources import Gpu, Resources
from muster.api.manifest.yaml.reader import Entry, Mapping, Node, Scalar, Sequence, at, plain, scalar_at

_GPU_FIELDS = [field.alias or name for name, field in Gpu.model_fields.items()]
_TYPES = ("spec", "types")
_MAX_TOLERATED = 8


def modernise(root: Node, file: str) -> list[Problem]:
    """Rewrite the older spellings in the tree; return a warning for each."""
    types = at(root, *_TYPES)
    if not isinstance(types, Mapping):
        return []
    declared = operators().get(str(scalar_at(root, "spec", "operator")))
    respelled = {name.lower(): name for name in declared.respelled} if declared else {}
    warnings = _respell(types, respelled, file)
    if "master" in respelled:
        merging = _merge_master(types, file)
        warnings = merging or warnings  # one warning with the whole new form, in place of one for each old type
    for key, entry in types.entries.items():
        members = entry.node.items if isinstance(entry.node, Sequence) else [entry.node]
        for index, member in enumerate(members):
            place = (*_TYPES, key, index) if isinstance(entry.node, Sequence) else (*_TYPES, key)
            warnings += _tolerate_gpu(member, place, file)
    return warnings


def _respell(types: Mapping, spellings: dict[str, str], file: str) -> list[Problem]:
    warnings = []
    for key in list(types.entries):
        right = spellings.get(key.lower(), key)
        if right == key or right in types.entries:
            continue
        entry = types.entries[key]
        types.entries = {right if name == key else name: value for name, value in types.entries.items()}
        message = f"{key} is an older spelling, read as {right}"
        hint = f"write the 0.2.3 form: types: {{{right}: {_sketch(entry.node)}}}"
        warnings.append(Problem(file, entry.line, entry.column, path((*_TYPES, key)), message, hint))
    return warnings


def _sketch(node: Node) -> str:
    if isinstance(node, Sequence):
        return "[...]"
    count = at(node, "count")
    shown = f"count: {count.raw[:12]}, " if isinstance(count, Scalar) and count.raw.isprintable() else ""
    return f"{{{shown}resources: {{...}}}}"


def _merge_master(types: Mapping, file: str) -> list[Problem]:
    """Return one ``worker`` of count master + worker if both ask for the same; else the master stays, and is first."""
    master = types.entries.get("master")
    if master is None:
        return []
    place = path((*_TYPES, "Master"))
    worker = types.entries.get("worker")
    if worker is None:
        types.entries = {"worker" if key == "master" else key: entry for key, entry in types.entries.items()}
        message = "Master is of 0.2.2; without a Worker it is the one worker, rank 0"
        hint = f"write types: {{worker: {_sketch(master.node)}}}"
        return [Problem(file, master.line, master.column, place, message, hint)]
    first, rest = _count(master.node), _count(worker.node)
    if first is None or rest is None or not _same_members(master.node, worker.node):
        message = "Master asks for other resources than Worker, so it stays a group of its own with the first ranks"
        hint = "the 0.2.3 form has only worker: give both the same resources and write types: {worker: {count: "
        hint += f"{first + rest if first is not None and rest is not None else '...'}, resources: {{...}}}}}}"
        types.entries = {"master": master, **{k: v for k, v in types.entries.items() if k != "master"}}
        return [Problem(file, master.line, master.column, place, message, hint)]
    merged = Mapping(worker.node.line, worker.node.column)
    merged.entries = dict(worker.node.entries) if isinstance(worker.node, Mapping) else {}
    total = first + rest
    merged.entries["count"] = Entry(master.line, master.column, Scalar(master.line, master.column, total, str(total)))
    types.entries = {
        key: Entry(entry.line, entry.column, merged) if key == "worker" else entry
        for key, entry in types.entries.items()
        if key != "master"
    }
    message = (
        f"Master is of 0.2.2; read as worker with count {total} ({first} Master + {rest} Worker), Master is rank 0"
    )
    hint = f"write the 0.2.3 form: types: {{worker: {{count: {total}, resources: {{...}}}}}}"
    return [Problem(file, master.line, master.column, place, message, hint)]


def _count(node: Node) -> int | None:
    count = at(node, "count")
    if count is None:
        return 1
    value = count.value if isinstance(count, Scalar) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _same_members(first: Node, second: Node) -> bool:
    """Return True if both are plain count and resources, and the resources mean the same."""
    if not isinstance(first, Mapping) or not isinstance(second, Mapping):
        return False
    if not {*first.entries, *second.entries} <= {"count", "resources"}:
        return False
    try:
        one, other = (Resources.read(plain(entry.entries["resources"].node)) for entry in (first, second))
    except (KeyError, ValidationError):
        return False
    return one == other


def _tolerate_gpu(member: Node, place: tuple[str | int, ...], file: str) -> list[Problem]:
    """Drop unknown keys beside gpu.count with a warning: published manifests have them, and AIchor accepts those."""
    gpu = at(member, "resources", "accelerators", "gpu")
    if not isinstance(gpu, Mapping):
        return []
    warnings = []
    unknown = [key for key in gpu.entries if key not in _GPU_FIELDS]
    for key in unknown[:_MAX_TOLERATED]:
        entry = gpu.entries.pop(key)
        close = nearest(key, _GPU_FIELDS)
        hint = f"did you mean {close}?" if close else f"known here: {', '.join(_GPU_FIELDS)}"
        if "count" not in gpu.entries:
            hint += " There is no count, so NO GPU IS REQUESTED"
        where = path((*place, "resources", "accelerators", "gpu", key))
        warnings.append(Problem(file, entry.line, entry.column, where, f"unknown field {quoted(key)} is ignored", hint))
    return warnings
