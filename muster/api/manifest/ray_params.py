"""``rayStartParams``: arguments of ``ray start`` that a manifest adds, or gives in place of Muster's own.

Arguments without which a member could not be asked, or would not stay, are refused: Muster chooses them.
"""

from collections.abc import Mapping
from typing import Annotated, Final

from pydantic import AfterValidator, Field

from muster.api.manifest.problems import quoted
from muster.api.values.fields import TEXT, WORD, Wrong, limited

OWN: Final = {
    "head": "the type Head is the head, and no other",
    "address": "Muster gives every worker the address of its head",
}
NEEDED: Final = {
    "block": "without it `ray start` ends at once, and the member with it",
    "include-dashboard": "Muster asks the dashboard which workers have joined",
}
PORTS: Final = ("port", "dashboard-port", "dashboard-agent-listen-port")


def _checked(params: Mapping[str, str]) -> Mapping[str, str]:
    for name, value in params.items():
        if name in OWN:
            raise Wrong(f"rayStartParams cannot set {name}: {OWN[name]}", "remove it")
        if name in NEEDED and value.lower() != "true":
            raise Wrong(f'{name} must be "true": {NEEDED[name]}', "remove it")
        if name in PORTS and not (value.isascii() and value.isdigit() and 0 < int(value[:6]) < 65_536):
            raise Wrong(f"{name}: {quoted(value)} is not a port", "write a number from 1 to 65535")
    return params


RayParams = Annotated[
    dict[Annotated[str, limited(WORD, 63)], Annotated[str, limited(TEXT, 1_024, 0)]],
    Field(max_length=64),
    AfterValidator(_checked),
]
