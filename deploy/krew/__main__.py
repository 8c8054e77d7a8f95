"""Write the archive of the plugin, and print its SHA-256: ``python -m deploy.krew [FOLDER]``; dist by default."""

import hashlib
import sys
from pathlib import Path
from typing import Final
from zipfile import ZipFile, ZipInfo

import muster

ROOT: Final = Path(__file__).parents[2]
FILES: Final = ((ROOT / "deploy/krew/kubectl-muster", 0o755), (ROOT / "LICENSE", 0o644))
"""Files of the archive, with their modes."""
LONG_AGO: Final = (1980, 1, 1, 0, 0, 0)


def write(folder: Path) -> Path:
    """Write the archive, whose bytes follow from its files alone. Return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    made = folder / f"kubectl-muster-{muster.__version__}.zip"
    with ZipFile(made, "w") as archive:
        for file, mode in FILES:
            entry = ZipInfo(file.name, LONG_AGO)
            entry.create_system, entry.external_attr = 3, (0o100000 | mode) << 16
            archive.writestr(entry, file.read_bytes())
    return made


if __name__ == "__main__":
    written = write(Path(*sys.argv[1:2] or ["dist"]))
    print(hashlib.sha256(written.read_bytes()).hexdigest(), "", written)
