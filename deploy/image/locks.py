"""The two lock files of the image: what musterd runs with, and what builds its wheel."""

import re
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]

_PIN = re.compile(r"^([A-Za-z0-9._-]+)==(\S+)", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Lock:
    """A file of exact versions with hashes, as ``pip install --require-hashes`` wants it."""

    path: Path
    sources: tuple[str, ...] = ()
    """Inputs of the resolver beside the requirements: pyproject.toml and its extras."""
    requirements: tuple[str, ...] = ()

    @property
    def entries(self) -> list[str]:
        """Return the lines of each package: its pin, and the hashes of its files."""
        return re.split(r"^(?=\w)", self.path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]

    @property
    def pins(self) -> dict[str, str]:
        """Return the version of each package."""
        return dict(_PIN.findall(self.path.read_text(encoding="utf-8")))


RUNTIME = Lock(
    Path(__file__).parent / "requirements.txt",
    ("pyproject.toml", *(word for extra in ("cli", "daemon", "fast", "tracing") for word in ("--extra", extra))),
)
BUILD = Lock(Path(__file__).parent / "build-requirements.txt", requirements=("hatchling",))
LOCKS = (RUNTIME, BUILD)
