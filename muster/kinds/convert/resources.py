"""Convert the requests of a container into the resources of a type.

An Experiment states CPUs, memory (request and limit are the same) and GPUs of a member itself; whatever else a
container asks for goes into the pod template.
"""

from decimal import Decimal
from typing import Any, Final

from muster.api.manifest.problems import quoted
from muster.api.values.quantities import QuantityError, parse_quantity
from muster.kinds.convert.source import Fields

GPU: Final = "nvidia.com/gpu"
MEMORY: Final = 1.0
"""GB, where the manifest states none."""
_GB: Final = Decimal(10**9)


def resources_of(
    container: Fields, key: str = "resources", *, memory: float = MEMORY
) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
    """Return the resources of a type, and what its template must ask for beside them; ``key`` has them in a container.

    ``memory`` is written, in GB, where the container states none.
    """
    given = container.fields(key)
    asked = {kind: _quantities(given, kind) for kind in ("requests", "limits")}
    given.lose("claims", "not carried over: the claim of a device belongs into the pod template", "write it there")
    given.rest()
    requests, limits = asked["requests"], asked["limits"]
    found = _cpu(given, requests.pop("cpu", None), limits.pop("cpu", None))
    found["memory"] = _memory(given, requests.pop("memory", None), limits.pop("memory", None), memory)
    gpus = [each.pop(GPU, None) for each in (limits, requests)]
    if count := next((each for each in gpus if each), None):
        found["accelerators"] = {"gpu": {"count": int(count)}}
    others = {kind: {name: _plain(value) for name, value in each.items()} for kind, each in asked.items() if each}
    return found, others


def _quantities(given: Fields, kind: str) -> dict[str, Decimal]:
    amounts = given.fields(kind)
    found = {}
    for name in amounts.node.entries:
        written = amounts.value(name, (str, int, float))
        try:
            found[name] = parse_quantity(str(written))
        except QuantityError as error:
            raise given.report.refuse(amounts.at(name), str(error), f"{quoted(written)} must be one") from None
    return found


def _cpu(given: Fields, request: Decimal | None, limit: Decimal | None) -> dict[str, Any]:
    if request is None and limit is None:
        given.note("no CPU is asked for; cpus: 1 is written", "state what a member needs")
        return {"cpus": 1}
    cpus = request if request else limit
    if not cpus:
        given.note("0 CPUs are asked for; cpus: 0.001 is written, the least that there is")
        cpus = Decimal("0.001")
    if limit is None:
        given.note("no CPU limit is stated; an Experiment's is cpus x cpuLimitRatio, 2 if absent", "set cpuLimitRatio")
        return {"cpus": _number(cpus)}
    ratio = max(limit / cpus, Decimal(1))
    return {"cpus": _number(cpus), "cpuLimitRatio": _number(round(ratio, 6))}


def _memory(given: Fields, request: Decimal | None, limit: Decimal | None, default: float) -> Any:
    amount = limit or request
    if not amount:
        given.note(f"no memory is asked for; memory: {default:g} (GB) is written", "state what a member needs")
        return default
    if request and limit and request != limit:
        loc = given.at("requests", "memory")
        message = "not carried over: an Experiment requests the memory that is its limit"
        given.report.losses.append(given.report.problem(loc, message))
    return _number(amount / _GB)


def _number(value: Decimal) -> int | float:
    return int(value) if value == value.to_integral_value() else float(value)


def _plain(value: Decimal) -> int | str:
    return int(value) if value == value.to_integral_value() else str(value)
