"""Where the ranks of a JAX gang stand, as the key-value store of its coordinator has it."""

import json

from muster.watchers.probes.jax.rpc import bytes_field

VALUE = {
    "at": 512.2,
    "since": 470.2,
    "longest": 2.0,
    "returns": 3,
    "in": "next",
    "file": "data.py",
    "line": 41,
    "stack": "8c736521",
}


class Store:
    """A store that counts what is asked of it."""

    def __init__(self, values: dict[str, bytes]) -> None:
        self.values = values
        self.asked: list[str] = []

    async def get(self, key: str, directory: bool) -> bytes:
        self.asked.append(key)
        found = {name: value for name, value in self.values.items() if name == key or name.startswith(f"{key}/")}
        field = 2 if directory else 1
        return b"".join(
            bytes_field(field, bytes_field(1, name.encode()) + bytes_field(2, value)) for name, value in found.items()
        )


def value(**stated: object) -> bytes:
    return json.dumps(VALUE | stated).encode()
